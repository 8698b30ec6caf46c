#include "model/serving/shipped_models.h"

#include <fmt/core.h>

#include <vector>

#include "core/text.h"

namespace assay::serving {

const ShippedModel* find_shipped_model(std::string_view name) {
  for (const ShippedModel& model : shipped_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

core::Status check_shipped_model(std::string_view name) {
  if (name.find('/') != std::string_view::npos || name.ends_with(".json")) return {};
  std::vector<std::string> names;
  for (const ShippedModel& model : shipped_models())
    names.emplace_back(model.name);
  const std::string near = core::nearest(std::string(name), names);
  return core::Error{
      fmt::format("'{}' is neither a config.json nor a model that ships with assay{}; "
                  "these are {}",
                  name, near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
                  core::join(names, ", "))};
}

}  // namespace assay::serving
