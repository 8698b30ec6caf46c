#include "simulate/network.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/counted.h"
#include "core/file_kind.h"
#include "core/output_file.h"
#include "core/text.h"

namespace assay::simulate {
namespace {

struct Field {
  const char* name;
  double LogGops::*value;
};

constexpr std::array<Field, 6> kFields{{{"L", &LogGops::latency_ns},
                                        {"o", &LogGops::overhead_ns},
                                        {"g", &LogGops::gap_ns},
                                        {"G", &LogGops::gap_ns_per_byte},
                                        {"O", &LogGops::overhead_ns_per_byte},
                                        {"S", &LogGops::rendezvous_bytes}}};

// A larger value is a mistake in the units.
constexpr double kMostNs = 1e15;

core::Status check(const LogGops& parameters) {
  for (const Field& field : kFields) {
    const double value = parameters.*field.value;
    if (std::isfinite(value) && value >= 0 && value <= kMostNs) continue;
    return core::Error{fmt::format("{} is {}: it must be 0 to {:g}", field.name, value, kMostNs)};
  }
  return {};
}

}  // namespace

core::Result<Network> Network::make(const LogGops& inter,
                                    const std::optional<LogGops>& intra,
                                    const std::vector<std::uint32_t>& node_of_rank,
                                    std::size_t num_ranks) {
  ASSAY_TRY(check(inter));
  if (!intra || node_of_rank.empty()) return Network(Link(inter), Link(inter), {});
  if (auto good = check(*intra); !good.ok()) return good.error().context("within a node");
  if (node_of_rank.size() != num_ranks) {
    return core::Error{fmt::format("the nodes are those of {}, the schedule has {}",
                                   core::counted(node_of_rank.size(), "rank"), num_ranks)};
  }
  return Network(Link(inter), Link(*intra), node_of_rank);
}

namespace {

using Json = nlohmann::ordered_json;

struct LinkKind {
  const char* name;    // in a file
  const char* prefix;  // of options
};

constexpr std::array<LinkKind, 2> kLinkKinds{{{"inter", ""}, {"intra", "intra-"}}};

core::Status parse_link(const Json& json, const LinkKind& kind, LinkValues& links) {
  const std::string name = kind.name;
  if (!json.is_object()) return core::Error{fmt::format("\"{}\" is no object", name)};
  for (const auto& [key, value] : json.items()) {
    const auto field = std::find_if(kFields.begin(), kFields.end(),
                                    [&key = key](const Field& f) { return key == f.name; });
    if (field == kFields.end()) {
      return core::Error{
          fmt::format("\"{}\" has an unknown field \"{}\"; there are L, o, g, G, O, S", name, key)};
    }
    if (!value.is_number() || !(value.get<double>() >= 0)) {
      return core::Error{fmt::format("{} of \"{}\" is {}: it must be a number of at least 0", key,
                                     name, value.dump())};
    }
    links[kind.prefix + key] = value.get<double>();
  }
  return {};
}

core::Error bad_rank(const Json& rank, std::size_t num_ranks) {
  return core::Error{fmt::format("\"nodes\" names {}, which is no rank: the schedule has 0 to {}",
                                 rank.dump(), num_ranks == 0 ? 0 : num_ranks - 1)};
}

core::Result<std::vector<std::uint32_t>> parse_nodes(const Json& nodes, std::size_t num_ranks) {
  constexpr std::uint32_t kNowhere = UINT32_MAX;
  std::vector<std::uint32_t> node_of_rank(num_ranks, kNowhere);
  if (!nodes.is_array()) return core::Error{"\"nodes\" is no list"};
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    if (!nodes[node].is_array()) return core::Error{"\"nodes\" is no list of lists of ranks"};
    for (const Json& rank : nodes[node]) {
      if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= num_ranks) {
        return bad_rank(rank, num_ranks);
      }
      std::uint32_t& place = node_of_rank[rank.get<std::size_t>()];
      if (place != kNowhere) {
        return core::Error{fmt::format("\"nodes\" names rank {} twice", rank.dump())};
      }
      place = node;
    }
  }
  const auto missing = std::find(node_of_rank.begin(), node_of_rank.end(), kNowhere);
  if (missing != node_of_rank.end()) {
    return core::Error{fmt::format("\"nodes\" leaves out rank {}", missing - node_of_rank.begin())};
  }
  return node_of_rank;
}

core::Result<std::vector<std::uint32_t>> parse_ranks_per_node(const Json& json,
                                                              std::size_t num_ranks) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() == 0) {
    return core::Error{"\"ranks_per_node\" is no whole number of at least 1"};
  }
  std::vector<std::uint32_t> node_of_rank(num_ranks);
  for (std::size_t rank = 0; rank < num_ranks; ++rank)
    node_of_rank[rank] = static_cast<std::uint32_t>(rank / json.get<std::uint64_t>());
  return node_of_rank;
}

core::Status check_fields(const Json& json) {
  const std::vector<std::string> known{"costs", "inter", "intra", "nodes", "ranks_per_node"};
  if (!json.is_object()) return core::Error{"is no JSON object"};
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return core::Error{
        fmt::format("has an unknown field \"{}\"; there are {}", key, core::join(known, ", "))};
  }
  if (json.contains("nodes") && json.contains("ranks_per_node")) {
    return core::Error{"has both \"nodes\" and \"ranks_per_node\""};
  }
  return {};
}

core::Result<ParametersFile> parse(const Json& json, std::size_t num_ranks) {
  ASSAY_TRY(check_fields(json));
  ParametersFile file;
  for (const LinkKind& kind : kLinkKinds) {
    if (json.contains(kind.name)) ASSAY_TRY(parse_link(json[kind.name], kind, file.links));
  }
  if (json.contains("nodes")) file.node_of_rank = ASSAY_TRY(parse_nodes(json["nodes"], num_ranks));
  if (json.contains("ranks_per_node")) {
    file.node_of_rank = ASSAY_TRY(parse_ranks_per_node(json["ranks_per_node"], num_ranks));
  }
  return file;
}

}  // namespace

LogGops with(const LinkValues& given, const std::string& prefix, LogGops link) {
  for (const Field& field : kFields) {
    const auto value = given.find(prefix + field.name);
    if (value != given.end()) link.*field.value = value->second;
  }
  return link;
}

void give(const LogGops& link, const std::string& prefix, LinkValues& given) {
  for (const Field& field : kFields)
    given[prefix + field.name] = link.*field.value;
}

core::Result<ParametersFile> read_parameters(const std::filesystem::path& path,
                                             std::size_t num_ranks) {
  return parse_parameters(ASSAY_TRY(core::read_text(path, core::TextFormat::kYaml)), path.string(),
                          num_ranks);
}

core::Result<ParametersFile> parse_parameters(std::string_view text,
                                              const std::string& name,
                                              std::size_t num_ranks) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return core::Error{fmt::format("'{}' is no JSON", name)};
  auto file = parse(json, num_ranks);
  if (!file.ok()) return file.error().context(fmt::format("'{}'", name));
  return file;
}

core::Status write_parameters(const std::filesystem::path& path,
                              const LinkValues& links,
                              const std::string& costs) {
  Json json = Json::object();
  for (const LinkKind& kind : kLinkKinds) {
    for (const Field& field : kFields) {
      const auto value = links.find(std::string(kind.prefix) + field.name);
      if (value != links.end()) json[kind.name][field.name] = value->second;
    }
  }
  if (!costs.empty()) json["costs"] = Json::parse(costs);
  return core::write_file(path, json.dump(2) + "\n");
}

}  // namespace assay::simulate
