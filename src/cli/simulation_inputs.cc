#include "cli/simulation_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/files.h"
#include "core/numbered.h"
#include "core/text.h"
#include "goal/job_file.h"
#include "goal/validate.h"
#include "simulate/network.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using simulate::LogGops;

bool gives_intra(const simulate::LinkValues& links) {
  const auto first = links.lower_bound("intra-");
  return first != links.end() && first->first.starts_with("intra-");
}

core::Error different_nodes(const fs::path& one, const fs::path& other) {
  return core::Error{fmt::format(
      "'{}' and '{}' divide the ranks into different nodes: leave the nodes out of one of them",
      one.string(), other.string())};
}

struct NamedParameters {
  simulate::ParametersFile values;
  fs::path nodes_file = {};  // which names the nodes; empty if none does
};

core::Result<NamedParameters> read_files(const SimulationInputs& inputs, std::size_t num_ranks) {
  NamedParameters read;
  simulate::ParametersFile& values = read.values;
  for (const fs::path& path : {inputs.params, inputs.topology}) {
    if (path.empty()) continue;
    auto part = ASSAY_TRY(simulate::read_parameters(path, num_ranks));
    for (const auto& [name, value] : part.links)
      values.links[name] = value;
    if (part.node_of_rank.empty()) continue;
    if (!values.node_of_rank.empty() &&
        core::numbered(values.node_of_rank) != core::numbered(part.node_of_rank))
      return different_nodes(inputs.params, inputs.topology);
    values.node_of_rank = std::move(part.node_of_rank);
    read.nodes_file = path;
  }
  return read;
}

// Returns the nodes that a network's file names; empty if it names none, or leaves ranks out, of
// which whoever builds the network tells.
std::vector<std::uint32_t> nodes_of(const simulate::FabricSpec& spec, std::size_t num_ranks) {
  std::vector<std::uint32_t> node_of_rank;
  if (spec.ranks_per_node > 0) {
    for (std::uint32_t rank = 0; rank < num_ranks; ++rank)
      node_of_rank.push_back(rank / spec.ranks_per_node);
    return node_of_rank;
  }
  constexpr std::uint32_t kLeftOut = std::numeric_limits<std::uint32_t>::max();
  if (!spec.nodes.empty()) node_of_rank.resize(num_ranks, kLeftOut);
  for (std::uint32_t node = 0; node < spec.nodes.size(); ++node) {
    for (const std::uint32_t rank : spec.nodes[node]) {
      if (rank < num_ranks) node_of_rank[rank] = node;
    }
  }
  const bool has_all =
      std::find(node_of_rank.begin(), node_of_rank.end(), kLeftOut) == node_of_rank.end();
  return has_all ? node_of_rank : std::vector<std::uint32_t>();
}

// Returns whether any two ranks share a node.
bool shares_nodes(const std::vector<std::uint32_t>& node_of_rank) {
  return std::set(node_of_rank.begin(), node_of_rank.end()).size() < node_of_rank.size();
}

// `nodes` are those of the ranks where no file says any; empty if nothing does.
core::Result<simulate::Options> parameters_of(simulate::ParametersFile file,
                                              const SimulationInputs& inputs,
                                              std::vector<std::uint32_t> nodes) {
  for (const auto& [name, value] : inputs.links)
    file.links[name] = value;
  simulate::Options options;
  if (inputs.atlahs && shares_nodes(file.node_of_rank)) {
    return core::Error{
        "--compat atlahs knows no nodes: leave them out of --topology and --params (the "
        "calculations "
        "of a schedule --for htsim stand for what ranks of a node send each other)"};
  }
  options.node_of_rank = std::move(file.node_of_rank.empty() ? nodes : file.node_of_rank);
  if (inputs.atlahs) {
    options.inter = simulate::with(file.links, "", LogGops{});
    if (!gives_intra(file.links)) return options;
    return core::Error{"--compat atlahs knows one kind of link, and the parameters have \"intra\""};
  }
  options.inter = simulate::with(file.links, "", goal::default_links().inter);
  options.intra = simulate::with(file.links, "intra-", goal::default_links().intra);
  if (!gives_intra(file.links) || !options.node_of_rank.empty()) return options;
  return core::Error{
      fmt::format("there are parameters within nodes, but nothing says which ranks share one: give "
                  "--topology; a file '{}' would do too",
                  model::notes_path(inputs.schedule).string())};
}

// Returns whether all replicas of so many ranks are divided into nodes as the first one is.
bool replicas_alike(std::span<const std::uint32_t> node_of_rank, std::size_t ranks) {
  if (node_of_rank.empty()) return true;
  const std::vector<std::uint32_t> first = core::numbered(node_of_rank.first(ranks));
  for (std::size_t rank = ranks; rank < node_of_rank.size(); rank += ranks) {
    if (core::numbered(node_of_rank.subspan(rank, ranks)) != first) return false;
  }
  return true;
}

}  // namespace

core::Result<simulate::Options> make_parameters(const SimulationInputs& inputs,
                                                std::size_t num_ranks,
                                                const OptionalNotes& notes) {
  return parameters_of(ASSAY_TRY(read_files(inputs, num_ranks)).values, inputs,
                       notes ? nodes_of(*notes) : std::vector<std::uint32_t>());
}

core::Result<simulate::Options> make_cost_parameters(const SimulationInputs& inputs,
                                                     const goal::JobFile& job,
                                                     std::vector<std::uint32_t> nodes) {
  const std::size_t ranks = job.job.gpus.size();
  simulate::ParametersFile file = ASSAY_TRY(read_files(inputs, ranks * job.scale.replicas)).values;
  if (!replicas_alike(file.node_of_rank, ranks)) {
    return core::Error{
        "costs are learned from the first replica, and the nodes divide others in another way: "
        "--collectives exact"};
  }
  if (!file.node_of_rank.empty()) file.node_of_rank.resize(nodes.size());
  return parameters_of(std::move(file), inputs, std::move(nodes));
}

namespace {

// Returns whether what the file says of nodes is nothing without knowing which ranks share one.
bool needs_nodes(const simulate::FabricSpec& spec) {
  return spec.nics_per_node > 1 || (spec.nvlink && spec.nvlink->ranks == 0);
}

}  // namespace

core::Result<simulate::Options> make_options(const SimulationInputs& inputs,
                                             std::size_t num_ranks,
                                             const OptionalNotes& notes) {
  if (inputs.network.empty()) return make_parameters(inputs, num_ranks, notes);
  const NamedParameters named = ASSAY_TRY(read_files(inputs, num_ranks));
  simulate::FabricSpec fabric = ASSAY_TRY(simulate::read_fabric_spec(inputs.network.string()));
  std::vector<std::uint32_t> nodes = nodes_of(fabric, num_ranks);
  if (!named.nodes_file.empty() && !nodes.empty() &&
      core::numbered(nodes) != core::numbered(named.values.node_of_rank))
    return different_nodes(named.nodes_file, inputs.network);
  if (nodes.empty() && notes) nodes = nodes_of(*notes);
  simulate::Options options = ASSAY_TRY(parameters_of(named.values, inputs, std::move(nodes)));
  const bool names_none = options.node_of_rank.empty() && fabric.nodes.empty();
  if (names_none && num_ranks > 1 && needs_nodes(fabric)) {
    return core::Error{fmt::format(
        "'{}' gives nodes several NICs or NVLink, but nothing says which ranks share a node: give "
        "'ranks_per_node' or 'nodes' there, or --topology (of one rank each: ranks_per_node 1)",
        inputs.network.string())};
  }
  options.fabric = std::move(fabric);
  return options;
}

std::string replaced_options(const SimulationInputs& inputs, const simulate::Outcome& outcome) {
  if (outcome.transfers() == nullptr) return "";
  std::vector<std::string> names;
  for (const std::string& name : outcome.transfers()->fabric().replaced()) {
    if (inputs.links.contains(name)) names.push_back("--" + name);
  }
  if (names.empty()) return "";
  return fmt::format("'{}' has latencies or bandwidths of its own, which replace {}",
                     inputs.network.string(), core::join(names, ", "));
}

core::Result<OptionalNotes> notes_beside(const fs::path& schedule) {
  OptionalNotes notes = ASSAY_TRY(model::read_notes_beside(schedule));
  if (notes && notes->time_unit_ns != 1) {
    return core::Error{fmt::format(
        "'{}' was made for {}, with times in units of {} ns: generate it again --for assay",
        schedule.string(), notes->made_for, notes->time_unit_ns)};
  }
  return notes;
}

std::vector<std::uint32_t> nodes_of(const model::ScheduleNotes& notes) {
  const auto is_unknown = [](const model::ScheduleRank& rank) { return rank.node.empty(); };
  if (std::all_of(notes.ranks.begin(), notes.ranks.end(), is_unknown)) return {};
  return core::numbered(notes.ranks, &model::ScheduleRank::node);
}

core::Result<bool> is_job(const fs::path& path) {
  if (!core::is_regular_file(path)) return false;
  const core::MappedFile file = ASSAY_TRY(core::MappedFile::open(path));
  return goal::is_job_file(file.bytes());
}

}  // namespace assay::cli
