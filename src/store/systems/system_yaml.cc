#include "store/systems/system_yaml.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/file_kind.h"
#include "core/text.h"

namespace assay::store {
namespace {

// The fields of the public files.
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
constexpr int kMostLevels = 2;  // of names within a section: "nccl_mem.2"
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

// `levels_left` bounds the depth, which an alias within its own anchor would make infinite.
core::Status add_values(const YAML::Node& node,
                        const std::string& name,
                        int levels_left,
                        CitedValues& values) {
  if (node.IsScalar()) {
    ASSAY_TRY(check_field(node, name));
    values[name] = node.Scalar();
    return {};
  }
  if (!node.IsMap()) return at_line(node, name + " is neither a value nor a mapping");
  if (levels_left == 0) return at_line(node, "no system has parts within " + name);
  for (const auto& item : node) {
    if (!item.first.IsScalar()) return at_line(item.first, "a name must be a word");
    ASSAY_TRY(add_values(item.second, name + '.' + item.first.Scalar(), levels_left - 1, values));
  }
  return {};
}

core::Result<CitedValues> cited_values_in(const YAML::Node& root) {
  if (!root.IsMap()) return core::Error{"no mapping with 'gpu', 'node' or 'misc'"};
  CitedValues values;
  for (const auto& section : root) {
    const std::string name = section.first.IsScalar() ? section.first.Scalar() : "";
    if (name == "data_dir" || name == "measured") continue;
    if (name != "gpu" && name != "node" && name != "misc") {
      return at_line(section.first, fmt::format("'{}' is none of gpu, node and misc", name));
    }
    ASSAY_TRY(add_values(section.second, name, kMostLevels, values));
  }
  return values;
}

constexpr std::string_view kFlopsEnding = "_tc_flops";
constexpr double kHopper = 90;  // its SM version
constexpr double kHopperL2Bytes = 50e6;

core::Result<double> number_of(const YAML::Node& node, const std::string& key) {
  double value = 0;
  if (node.IsScalar() && YAML::convert<double>::decode(node, value) && std::isfinite(value) &&
      value > 0) {
    return value;
  }
  return core::Error{fmt::format("line {}: {} is no number above 0", node.Mark().line + 1, key)};
}

core::Result<Peaks> peaks_in(const YAML::Node& root) {
  if (!root.IsMap() || !root["gpu"] || !root["gpu"].IsMap()) {
    return core::Error{"no part 'gpu', so this describes no system"};
  }
  Peaks peaks;
  const YAML::Node gpu = root["gpu"];
  if (!gpu["mem_bw"]) return core::Error{"no gpu.mem_bw (bytes per second)"};
  peaks.memory_bytes_per_s = ASSAY_TRY(number_of(gpu["mem_bw"], "gpu.mem_bw"));
  if (gpu["l2_bytes"]) {
    peaks.l2_bytes = ASSAY_TRY(number_of(gpu["l2_bytes"], "gpu.l2_bytes"));
  } else if (gpu["sm_version"]) {
    const double version = ASSAY_TRY(number_of(gpu["sm_version"], "gpu.sm_version"));
    peaks.l2_bytes = version == kHopper ? kHopperL2Bytes : 0;
  }
  for (const auto& entry : gpu) {
    const auto key = entry.first.as<std::string>();
    if (!key.ends_with(kFlopsEnding)) continue;
    const double flops = ASSAY_TRY(number_of(entry.second, "gpu." + key));
    peaks.flops_per_s[key.substr(0, key.size() - kFlopsEnding.size())] = flops;
  }
  if (const YAML::Node node = root["node"]; node && node.IsMap() && node["intra_node_bw"]) {
    peaks.link_bytes_per_s = ASSAY_TRY(number_of(node["intra_node_bw"], "node.intra_node_bw"));
  }
  return peaks;
}

// Reads a text by `values_of`. yaml-cpp throws; here its exceptions become errors.
template <class Values>
core::Result<Values> parsed(std::string_view yaml,
                            const std::string& name,
                            core::Result<Values> (*values_of)(const YAML::Node& root)) {
  try {
    auto values = values_of(YAML::Load(std::string(yaml)));
    if (!values.ok()) return values.error().context(name);
    return values;
  } catch (const YAML::Exception& error) {
    return core::Error{fmt::format("{}: line {}: {}", name, error.mark.line + 1, error.msg)};
  }
}

}  // namespace

std::string_view Peaks::name_of(std::string_view type) {
  if (type == "half" || type == "float16") return "bfloat16";
  return type.starts_with("fp8") ? "fp8" : type;
}

double Peaks::flops_of(std::string_view type) const {
  type = name_of(type);
  auto found = flops_per_s.find(type);
  // The peak of bfloat16 had this name until 2025.
  if (found == flops_per_s.end() && type == "bfloat16") found = flops_per_s.find("float16");
  return found == flops_per_s.end() ? 0 : found->second;
}

double Peaks::roofline_ms(double bytes,
                          double flops,
                          std::string_view type,
                          double link_bytes) const {
  const auto time = [](double amount, double rate) { return rate > 0 ? amount / rate * 1e3 : 0; };
  return std::max({time(bytes, memory_bytes_per_s), time(flops, flops_of(type)),
                   time(link_bytes, link_bytes_per_s)});
}

core::Result<Peaks> read_peaks(const std::filesystem::path& yaml) {
  return parse_peaks(ASSAY_TRY(core::read_text(yaml, core::TextFormat::kYaml)), yaml.string());
}

core::Result<Peaks> parse_peaks(std::string_view yaml, const std::string& name) {
  return parsed(yaml, name, peaks_in);
}

core::Result<CitedValues> read_cited_values(const std::filesystem::path& yaml) {
  return parse_cited_values(ASSAY_TRY(core::read_text(yaml, core::TextFormat::kYaml)),
                            yaml.string());
}

core::Result<CitedValues> parse_cited_values(std::string_view yaml, const std::string& name) {
  return parsed(yaml, name, cited_values_in);
}

}  // namespace assay::store
