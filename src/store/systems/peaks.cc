#include "store/systems/peaks.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "core/files.h"

namespace assay::store {
namespace {

constexpr std::string_view kFlopsEnding = "_tc_flops";
constexpr double kHopper = 90;  // SM version
constexpr double kHopperL2Bytes = 50e6;

core::Result<double> number_of(const YAML::Node& node, const std::string& key) {
  double value = 0;
  if (node.IsScalar() && YAML::convert<double>::decode(node, value) && std::isfinite(value) &&
      value > 0) {
    return value;
  }
  return core::Error{fmt::format("line {}: {} is no number above 0", node.Mark().line + 1, key)};
}

core::Result<Peaks> peaks_of(const YAML::Node& root) {
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

}  // namespace

double Peaks::flops_of(std::string_view type) const {
  if (type == "half" || type == "float16") type = "bfloat16";
  if (type.starts_with("fp8")) type = "fp8";
  auto found = flops_per_s.find(type);
  // The name of bfloat16's peak until 2025.
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
  const std::string text = ASSAY_TRY(core::read_file(yaml));
  return parse_peaks(text, yaml.string());
}

core::Result<Peaks> parse_peaks(std::string_view yaml, const std::string& name) {
  // yaml-cpp throws; this is the one place that meets its exceptions.
  try {
    auto peaks = peaks_of(YAML::Load(std::string(yaml)));
    if (!peaks.ok()) return peaks.error().context(name);
    return peaks;
  } catch (const YAML::Exception& error) {
    return core::Error{fmt::format("{}: line {}: {}", name, error.mark.line + 1, error.msg)};
  }
}

}  // namespace assay::store
