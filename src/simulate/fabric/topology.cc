#include "simulate/fabric/topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "simulate/yaml_fields.h"

namespace assay::simulate {
namespace {

// Returns "custom, fat-tree and non-blocking".
std::string names_of(const std::vector<const TopologySpec*>& specs) {
  std::string names = specs.front()->name;
  for (std::size_t i = 1; i < specs.size(); ++i)
    names += (i + 1 == specs.size() ? " and " : ", ") + std::string(specs[i]->name);
  return names;
}

}  // namespace

core::Status take_link(Fields& fields, LinkSpec& link) {
  ASSAY_TRY(fields.take_rate("bandwidth", link.bytes_per_ns));
  return fields.take_time("latency", link.latency_ns);
}

core::Status need(const Fields& fields, std::uint32_t value, const char* name) {
  if (value > 0) return {};
  return fields.error(fmt::format("needs '{}'", name));
}

core::Result<std::shared_ptr<const Topology>> take_topology(Fields& fields) {
  std::string type;
  ASSAY_TRY(fields.take_text("type", type));
  const std::vector<const TopologySpec*> specs = core::Registry<TopologySpec>::all();
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const TopologySpec* spec) { return type == spec->name; });
  if (found != specs.end()) return (*found)->take(fields);
  return fields.error(fmt::format("has the type '{}', which is none of {}", type, names_of(specs)));
}

}  // namespace assay::simulate
