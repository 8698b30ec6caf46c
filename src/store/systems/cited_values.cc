#include "store/systems/cited_values.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/files.h"
#include "core/text.h"

namespace assay::store {
namespace {

// As the public files have them.
const std::vector<std::string> kFields = {"gpu.mem_bw",
                                          "gpu.mem_bw_empirical_scaling_factor",
                                          "gpu.mem_empirical_constant_latency",
                                          "gpu.mem_capacity",
                                          "gpu.float16_tc_flops",
                                          "gpu.bfloat16_tc_flops",
                                          "gpu.int8_tc_flops",
                                          "gpu.fp8_tc_flops",
                                          "gpu.fp4_tc_flops",
                                          "gpu.power",
                                          "gpu.sm_version",
                                          "node.num_gpus_per_node",
                                          "node.num_gpus_per_rack",
                                          "node.inter_node_bw",
                                          "node.intra_node_bw",
                                          "node.inter_rack_bw",
                                          "node.inter_rack_latency",
                                          "node.pcie_bw",
                                          "node.p2p_latency",
                                          "misc.nccl_mem",
                                          "misc.other_mem",
                                          "misc.nccl_version",
                                          "misc.oneccl_version"};
const std::string kNcclMemory = "misc.nccl_mem.";

core::Error at_line(const YAML::Node& node, const std::string& what) {
  return core::Error{fmt::format("line {}: {}", node.Mark().line + 1, what)};
}

bool is_version(const std::string& field) {
  return field.ends_with("_version") && field.starts_with("misc.");
}

bool is_rank_count(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

core::Status check_field(const YAML::Node& node, const std::string& field) {
  const bool is_memory =
      field.starts_with(kNcclMemory) && is_rank_count(field.substr(kNcclMemory.size()));
  if (!is_memory && std::find(kFields.begin(), kFields.end(), field) == kFields.end()) {
    const std::string near = core::nearest(field, kFields);
    return at_line(node, fmt::format("no system has a field {}{}", field,
                                     near.empty() ? "" : "; did you mean " + near + "?"));
  }
  if (is_version(field)) return {};
  double value = 0;
  if (YAML::convert<double>::decode(node, value) && std::isfinite(value) && value >= 0) return {};
  return at_line(node, field + " is no number of at least 0");
}

core::Status flatten(const YAML::Node& node, const std::string& name, CitedValues& values) {
  if (node.IsScalar()) {
    ASSAY_TRY(check_field(node, name));
    values[name] = node.Scalar();
    return {};
  }
  if (!node.IsMap()) return at_line(node, name + " is neither a value nor a mapping");
  for (const auto& item : node) {
    if (!item.first.IsScalar()) return at_line(item.first, "a name must be a word");
    ASSAY_TRY(flatten(item.second, name + '.' + item.first.Scalar(), values));
  }
  return {};
}

core::Result<CitedValues> values_of(const YAML::Node& root) {
  if (!root.IsMap()) return core::Error{"no mapping with 'gpu', 'node' or 'misc'"};
  CitedValues values;
  for (const auto& section : root) {
    const std::string name = section.first.IsScalar() ? section.first.Scalar() : "";
    if (name == "data_dir" || name == "measured") continue;
    if (name != "gpu" && name != "node" && name != "misc") {
      return at_line(section.first, fmt::format("'{}' is none of gpu, node and misc", name));
    }
    ASSAY_TRY(flatten(section.second, name, values));
  }
  return values;
}

}  // namespace

core::Result<CitedValues> read_cited_values(const std::filesystem::path& yaml) {
  const std::string text = ASSAY_TRY(core::read_file(yaml));
  // The library reports damage by exceptions.
  try {
    auto values = values_of(YAML::Load(text));
    if (!values.ok()) return values.error().context(yaml.string());
    return values;
  } catch (const YAML::Exception& error) {
    return core::Error{
        fmt::format("{}: line {}: {}", yaml.string(), error.mark.line + 1, error.msg)};
  }
}

}  // namespace assay::store
