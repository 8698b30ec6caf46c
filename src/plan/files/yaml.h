// Writes YAML. Values are JSON, so that no text can turn into something else: what another reader
// might take for a number, a truth value or nothing is quoted.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace assay::plan {

// Blocks of two spaces, maps in their order, texts of several lines as they are, and lists of
// numbers on one line. Precondition: a map or a list.
std::string yaml_text(const nlohmann::ordered_json& value);

}  // namespace assay::plan
