#include "simulate/fabric/fabric_spec.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "core/file_kind.h"
#include "simulate/fabric/conditions.h"

namespace assay::simulate {
namespace {

core::Status take_nodes(Fields& all, FabricSpec& spec) {
  ASSAY_TRY(all.take_count("ranks_per_node", spec.ranks_per_node));
  if (!all.has("nodes")) return {};
  if (spec.ranks_per_node > 0) return all.error("has both 'nodes' and 'ranks_per_node'");
  const core::Error wrong = all.bad("nodes", "is no list of lists of ranks");
  if (!all.at("nodes").IsSequence()) return wrong;
  for (const auto& node : all.at("nodes")) {
    if (!node.IsSequence()) return wrong;
    std::vector<std::uint32_t>& ranks = spec.nodes.emplace_back();
    for (const auto& rank : node) {
      std::uint32_t number = 0;
      if (!rank.IsScalar() || !YAML::convert<std::uint32_t>::decode(rank, number)) return wrong;
      ranks.push_back(number);
    }
  }
  return {};
}

core::Status take_nics(Fields& all, FabricSpec& spec) {
  if (!all.has("nics")) return {};
  Fields fields = ASSAY_TRY(Fields::of(all.at("nics"), "'nics'"));
  ASSAY_TRY(fields.take_count("per_node", spec.nics_per_node));
  ASSAY_TRY(take_link(fields, spec.nic));
  return fields.finish();
}

core::Status take_packets(Fields& all, FabricSpec& spec) {
  if (!all.has("packets")) return {};
  Fields fields = ASSAY_TRY(Fields::of(all.at("packets"), "'packets'"));
  ASSAY_TRY(fields.take_count("payload", spec.packets.payload_bytes));
  ASSAY_TRY(fields.take_count("header", spec.packets.header_bytes, 0));
  if (spec.packets.payload_bytes == 0) return fields.error("needs 'payload', in bytes");
  return fields.finish();
}

core::Status take_nvlink(Fields& all, FabricSpec& spec) {
  if (!all.has("nvlink")) return {};
  Fields fields = ASSAY_TRY(Fields::of(all.at("nvlink"), "'nvlink'"));
  NvlinkSpec& nvlink = spec.nvlink.emplace();
  ASSAY_TRY(fields.take_count("ranks", nvlink.ranks));
  ASSAY_TRY(take_link(fields, nvlink.link));
  return fields.finish();
}

core::Status take_shape(Fields& all, FabricSpec& spec) {
  if (!all.has("topology")) return {};
  Fields fields = ASSAY_TRY(Fields::of(all.at("topology"), "'topology'"));
  spec.topology = ASSAY_TRY(take_topology(fields));
  return fields.finish();
}

core::Status take_routing(Fields& all, FabricSpec& spec) {
  if (!all.has("routing")) return {};
  Fields fields = ASSAY_TRY(Fields::of(all.at("routing"), "'routing'"));
  std::string policy = "ecmp";
  ASSAY_TRY(fields.take_text("policy", policy));
  if (policy == "ecmp") {
    spec.routing.routing = Routing::kEcmp;
  } else if (policy == "spray") {
    spec.routing.routing = Routing::kSpray;
  } else if (policy == "fixed") {
    spec.routing.routing = Routing::kFixed;
  } else {
    return fields.bad("policy", "is none of ecmp, spray and fixed");
  }
  ASSAY_TRY(fields.take_seed(spec.routing.seed));
  ASSAY_TRY(for_each_item(fields, "routes", "a route", [&](Fields& item) -> core::Status {
    FixedRoute& route = spec.routing.routes.emplace_back();
    ASSAY_TRY(item.take_text("from", route.from));
    ASSAY_TRY(item.take_text("to", route.to));
    ASSAY_TRY(item.take_words("via", route.via));
    if (!route.from.empty() && !route.to.empty() && !route.via.empty()) return {};
    return item.error("needs 'from', 'to' and 'via', the switches on the way");
  }));
  return fields.finish();
}

core::Status take_span(Fields& item, Change& change) {
  std::optional<double> from;
  std::optional<double> until;
  ASSAY_TRY(item.take_time("at", from));
  ASSAY_TRY(item.take_time("until", until));
  change.from_ns = std::llround(from.value_or(0));
  if (!until) return {};
  change.until_ns = std::llround(*until);
  if (change.rank && change.failed) {
    return item.error("has 'until', but a rank that failed does not come back");
  }
  if (change.until_ns > change.from_ns) return {};
  return item.error("ends before it begins: 'until' must be later than 'at'");
}

core::Status take_change(Fields& item, Change& change) {
  constexpr double kMostShare = 100;
  ASSAY_TRY(item.take_pair("between", change.a, change.b));
  std::string name;
  ASSAY_TRY(item.take_text("switch", name));
  std::uint32_t rank = UINT32_MAX;
  ASSAY_TRY(item.take_count("rank", rank, 0));
  const int subjects =
      (change.b.empty() ? 0 : 1) + (name.empty() ? 0 : 1) + (item.has("rank") ? 1 : 0);
  if (subjects != 1) return item.error("is of one of 'between', 'switch' and 'rank'");
  if (!name.empty()) change.a = name;
  if (item.has("rank")) change.rank = rank;
  ASSAY_TRY(item.take_flag("failed", change.failed));
  if (change.rank) {
    ASSAY_TRY(item.take_number("slower", change.slower, 1, 1e6));
  } else {
    ASSAY_TRY(item.take_rate_or_share("bandwidth", change.bytes_per_ns, change.share, kMostShare));
  }
  const bool any = change.failed || change.slower != 1 || change.share != 1 || change.bytes_per_ns;
  if (!any) {
    return item.error(change.rank ? "needs 'failed: true' or 'slower', a factor"
                                  : "needs 'failed: true' or 'bandwidth'");
  }
  if (change.share == 0) change.failed = true;
  return take_span(item, change);
}

core::Status take_background(Fields& item, Background& background) {
  ASSAY_TRY(item.take_pair("between", background.from, background.to));
  background.link = !background.from.empty();
  if (!background.link) {
    ASSAY_TRY(item.take_text("from", background.from));
    ASSAY_TRY(item.take_text("to", background.to));
  }
  if (background.from.empty() || background.to.empty()) {
    return item.error("needs 'between', or 'from' and 'to'");
  }
  ASSAY_TRY(item.take_rate_or_share("bandwidth", background.bytes_per_ns, background.share, 1));
  if (background.share > 0 || background.bytes_per_ns) return {};
  return item.error("needs 'bandwidth'");
}

core::Status take_noise(Fields& all, FabricSpec& spec) {
  if (!all.has("noise")) return {};
  Fields fields = ASSAY_TRY(Fields::of(all.at("noise"), "'noise'"));
  ASSAY_TRY(fields.take_seed(spec.noise.seed));
  ASSAY_TRY(fields.take_share("calculation", spec.noise.calculation_share, 100));
  std::optional<double> latency;
  ASSAY_TRY(fields.take_time("latency", latency));
  spec.noise.latency_ns = latency.value_or(0);
  return fields.finish();
}

}  // namespace

core::Status take_conditions(Fields& fields, FabricSpec& spec) {
  ASSAY_TRY(for_each_item(fields, "changes", "a change", [&](Fields& item) {
    return take_change(item, spec.changes.emplace_back());
  }));
  ASSAY_TRY(for_each_item(fields, "background", "a background", [&](Fields& item) {
    return take_background(item, spec.background.emplace_back());
  }));
  return take_noise(fields, spec);
}

namespace {

core::Result<FabricSpec> spec_in(const YAML::Node& root) {
  FabricSpec spec;
  Fields all = ASSAY_TRY(Fields::of(root, "the file"));
  ASSAY_TRY(take_nodes(all, spec));
  ASSAY_TRY(take_nics(all, spec));
  ASSAY_TRY(take_packets(all, spec));
  ASSAY_TRY(take_nvlink(all, spec));
  ASSAY_TRY(take_shape(all, spec));
  ASSAY_TRY(take_routing(all, spec));
  ASSAY_TRY(take_conditions(all, spec));
  ASSAY_TRY(all.finish());
  return spec;
}

}  // namespace

core::Result<FabricSpec> parse_fabric_spec(std::string_view yaml, const std::string& name) {
  // yaml-cpp throws; here its exceptions become errors.
  try {
    auto spec = spec_in(YAML::Load(std::string(yaml)));
    if (!spec.ok()) return spec.error().context(name);
    spec.value().name = name;
    return spec;
  } catch (const YAML::Exception& error) {
    return core::Error{fmt::format("{}: line {}: {}", name, error.mark.line + 1, error.msg)};
  }
}

core::Result<FabricSpec> read_fabric_spec(const std::string& path) {
  return parse_fabric_spec(ASSAY_TRY(core::read_text(path, core::TextFormat::kYaml)), path);
}

}  // namespace assay::simulate
