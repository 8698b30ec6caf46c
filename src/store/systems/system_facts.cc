#include "store/systems/system_facts.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/file_kind.h"
#include "core/text.h"

namespace assay::store {
namespace {

constexpr double kMostGpus = 1e6;

enum class Need { kMust, kMay };

// Takes numbers of a system's file by "section.name".
class FactReader {
 public:
  FactReader(const YAML::Node& root, SystemFacts& facts) : root_(root), facts_(facts) {}

  // A field that is left out keeps the value; where that is no 0, it is said to be assumed.
  core::Status number(const char* section, const char* name, double& value, Need need) {
    const YAML::Node node = find(section, name);
    if (!node && need == Need::kMust) return core::Error{fmt::format("no {}.{}", section, name)};
    if (!node) {
      if (value != 0)
        facts_.assumed.push_back(fmt::format("{}.{} = {}", section, name, core::shortest(value)));
      return {};
    }
    double read = 0;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, read) || !std::isfinite(read) ||
        read < 0 || (read == 0 && need == Need::kMust)) {
      return core::Error{fmt::format("line {}: {}.{} is no number of at least 0",
                                     node.Mark().line + 1, section, name)};
    }
    value = read;
    return {};
  }

  core::Status count(const char* section, const char* name, std::int64_t& value) {
    auto read = static_cast<double>(value);
    ASSAY_TRY(number(section, name, read, Need::kMay));
    if (read != std::floor(read) || read > kMostGpus) {
      return core::Error{fmt::format("{}.{} is no number of GPUs", section, name)};
    }
    value = static_cast<std::int64_t>(read);
    return {};
  }

  void text(const char* section, const char* name, std::string& value) {
    const YAML::Node node = find(section, name);
    if (node && node.IsScalar()) value = node.Scalar();
  }

  core::Status nccl_memory() {
    const YAML::Node node = find("misc", "nccl_mem");
    if (!node) return {};
    if (!node.IsMap()) return at(node, "misc.nccl_mem has no numbers of GPUs");
    for (const auto& entry : node) {
      std::int64_t gpus = 0;
      double bytes = 0;
      if (!entry.first.IsScalar() || !YAML::convert<std::int64_t>::decode(entry.first, gpus) ||
          !entry.second.IsScalar() || !YAML::convert<double>::decode(entry.second, bytes) ||
          gpus < 1 || !std::isfinite(bytes) || bytes < 0) {
        return at(entry.first, "misc.nccl_mem takes a number of GPUs and the bytes on each");
      }
      facts_.nccl_bytes[gpus] = bytes;
    }
    return {};
  }

 private:
  static core::Error at(const YAML::Node& node, const std::string& what) {
    return core::Error{fmt::format("line {}: {}", node.Mark().line + 1, what)};
  }

  [[nodiscard]] YAML::Node find(const char* section, const char* name) const {
    const YAML::Node part = root_[section];
    return part && part.IsMap() ? part[name] : YAML::Node(YAML::NodeType::Undefined);
  }

  const YAML::Node& root_;
  SystemFacts& facts_;
};

core::Status read_fields(const YAML::Node& root, SystemFacts& facts) {
  FactReader reader(root, facts);
  ASSAY_TRY(reader.number("gpu", "mem_capacity", facts.memory_bytes, Need::kMust));
  ASSAY_TRY(reader.number("gpu", "power", facts.power_watts, Need::kMay));
  double sm_version = 0;
  ASSAY_TRY(reader.number("gpu", "sm_version", sm_version, Need::kMay));
  facts.sm_version = static_cast<int>(std::min(sm_version, kMostGpus));
  ASSAY_TRY(
      reader.number("gpu", "mem_bw_empirical_scaling_factor", facts.memory_share, Need::kMay));
  ASSAY_TRY(
      reader.number("gpu", "mem_empirical_constant_latency", facts.memory_latency_s, Need::kMay));
  ASSAY_TRY(reader.count("node", "num_gpus_per_node", facts.gpus_per_node));
  ASSAY_TRY(reader.count("node", "num_gpus_per_rack", facts.gpus_per_rack));
  ASSAY_TRY(reader.number("node", "inter_node_bw", facts.between_nodes_bytes_per_s, Need::kMay));
  ASSAY_TRY(reader.number("node", "inter_rack_bw", facts.between_racks_bytes_per_s, Need::kMay));
  ASSAY_TRY(reader.number("node", "pcie_bw", facts.host_bytes_per_s, Need::kMay));
  ASSAY_TRY(reader.number("node", "p2p_latency", facts.peer_latency_s, Need::kMay));
  ASSAY_TRY(reader.number("measured", "intra_node_bw", facts.reached_link_bytes_per_s, Need::kMay));
  ASSAY_TRY(reader.number("misc", "other_mem", facts.other_bytes, Need::kMay));
  ASSAY_TRY(reader.nccl_memory());
  if (const YAML::Node folder = root["data_dir"]; folder && folder.IsScalar())
    facts.data_dir = folder.Scalar();
  reader.text("misc", "nccl_version", facts.nccl_version);
  reader.text("misc", "oneccl_version", facts.oneccl_version);
  if (facts.gpus_per_node < 1) return core::Error{"node.num_gpus_per_node is 0"};
  return {};
}

}  // namespace

double SystemFacts::usable_bytes() const {
  return measured_free_bytes > 0 ? std::min(memory_bytes, measured_free_bytes) : memory_bytes;
}

double SystemFacts::nccl_bytes_of(std::int64_t gpus) const {
  if (nccl_bytes.empty()) return 0;
  const auto next = nccl_bytes.lower_bound(gpus);
  return next != nccl_bytes.end() ? next->second : nccl_bytes.rbegin()->second;
}

double SystemFacts::link_bytes_per_s(std::int64_t gpus) const {
  if (gpus <= gpus_per_node) return peaks.link_bytes_per_s;
  if (gpus_per_rack > 0 && gpus > gpus_per_rack) return between_racks_bytes_per_s;
  return between_nodes_bytes_per_s;
}

SystemFacts::SendingRate SystemFacts::sending_rate(std::int64_t gpus) const {
  if (gpus <= gpus_per_node && reached_link_bytes_per_s > 0)
    return {.bytes_per_s = reached_link_bytes_per_s, .is_measured = true};
  return {.bytes_per_s = link_bytes_per_s(gpus)};
}

core::Result<SystemFacts> read_system_facts(const std::filesystem::path& yaml) {
  return parse_system_facts(ASSAY_TRY(core::read_text(yaml, core::TextFormat::kYaml)),
                            yaml.stem().string(), yaml.string());
}

core::Result<SystemFacts> parse_system_facts(std::string_view yaml,
                                             const std::string& name,
                                             const std::string& called) {
  SystemFacts facts;
  facts.name = name;
  facts.peaks = ASSAY_TRY(parse_peaks(yaml, called));
  try {
    const core::Status read = read_fields(YAML::Load(std::string(yaml)), facts);
    if (!read.ok()) return read.error().context(called);
  } catch (const YAML::Exception& error) {
    return core::Error{fmt::format("{}: line {}: {}", called, error.mark.line + 1, error.msg)};
  }
  return facts;
}

}  // namespace assay::store
