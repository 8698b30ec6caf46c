// The models whose figures ship inside assay: models/NAME.json of the source tree, each with the
// fields of its config.json that decide its speed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::serving {

struct ShippedModel {
  std::string_view name;    // "qwen3-32b"
  std::string_view config;  // the text of a config.json
};

// They are sorted by name.
std::span<const ShippedModel> shipped_models();

// Null if none has this name.
const ShippedModel* find_shipped_model(std::string_view name);

// The error for what is neither a file nor the name of a shipped model, which lists these. A path
// with a folder or an extension is no error here, because reading it says what is wrong.
core::Status check_shipped_model(std::string_view name);

}  // namespace assay::serving
