// The commands and their options as JSON.
#pragma once

#include <string>

namespace assay::library {

// The document that assay_commands() promises.
std::string commands_json();

}  // namespace assay::library
