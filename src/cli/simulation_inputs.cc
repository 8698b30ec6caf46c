#include "cli/simulation_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/files.h"
#include "goal/job_file.h"
#include "goal/validate.h"
#include "simulate/network.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using simulate::LogGops;

constexpr std::array<std::pair<const char*, double LogGops::*>, 6> kLetters = {
    {{"L", &LogGops::latency_ns},
     {"o", &LogGops::overhead_ns},
     {"g", &LogGops::gap_ns},
     {"G", &LogGops::gap_ns_per_byte},
     {"O", &LogGops::overhead_ns_per_byte},
     {"S", &LogGops::rendezvous_bytes}}};

bool gives_intra(const simulate::LinkValues& links) {
  const auto first = links.lower_bound("intra-");
  return first != links.end() && first->first.starts_with("intra-");
}

LogGops with(const simulate::LinkValues& links, const std::string& prefix, LogGops link) {
  for (const auto& [letter, field] : kLetters) {
    const auto given = links.find(prefix + letter);
    if (given != links.end()) link.*field = given->second;
  }
  return link;
}

// Numbers the nodes in the order of their first rank.
std::vector<std::uint32_t> renumbered(std::span<const std::uint32_t> node_of_rank) {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> result;
  result.reserve(node_of_rank.size());
  for (const std::uint32_t node : node_of_rank) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    result.push_back(numbers.emplace(node, next).first->second);
  }
  return result;
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
    if (part.inter) values.inter = part.inter;
    if (part.intra) values.intra = part.intra;
    if (part.node_of_rank.empty()) continue;
    if (!values.node_of_rank.empty() &&
        renumbered(values.node_of_rank) != renumbered(part.node_of_rank))
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

// `nodes` are those of the ranks where no file says any; empty if nothing does.
core::Result<simulate::Options> parameters_of(simulate::ParametersFile file,
                                              const SimulationInputs& inputs,
                                              std::vector<std::uint32_t> nodes) {
  simulate::Options options;
  options.node_of_rank = std::move(file.node_of_rank.empty() ? nodes : file.node_of_rank);
  const bool given = file.inter || file.intra || !inputs.links.empty();
  if (!given && !options.node_of_rank.empty() && !inputs.atlahs) {
    options.inter = goal::default_links().inter;
    options.intra = goal::default_links().intra;
    return options;
  }
  options.inter = with(inputs.links, "", file.inter.value_or(LogGops{}));
  if (inputs.atlahs && file.intra) {
    return core::Error{"--compat atlahs knows one kind of link, and the parameters have \"intra\""};
  }
  if (!file.intra && !gives_intra(inputs.links)) return options;
  options.intra = with(inputs.links, "intra-", file.intra.value_or(options.inter));
  if (options.node_of_rank.empty()) {
    return core::Error{fmt::format(
        "there are parameters within nodes, but nothing says which ranks share one: give "
        "--topology; a file '{}' would do too",
        model::notes_path(inputs.schedule).string())};
  }
  return options;
}

// Returns whether all replicas of so many ranks are divided into nodes as the first one is.
bool replicas_alike(std::span<const std::uint32_t> node_of_rank, std::size_t ranks) {
  if (node_of_rank.empty()) return true;
  const std::vector<std::uint32_t> first = renumbered(node_of_rank.first(ranks));
  for (std::size_t rank = ranks; rank < node_of_rank.size(); rank += ranks) {
    if (renumbered(node_of_rank.subspan(rank, ranks)) != first) return false;
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
                                                     const goal::LaunchSource& part) {
  const std::size_t ranks = job.job.gpus.size();
  simulate::ParametersFile file = ASSAY_TRY(read_files(inputs, ranks * job.scale.replicas)).values;
  if (!replicas_alike(file.node_of_rank, ranks)) {
    return core::Error{
        "costs are learned from the first replica, and the nodes divide others in another way: "
        "--collectives exact"};
  }
  if (!file.node_of_rank.empty()) file.node_of_rank.resize(part.num_ranks());
  return parameters_of(std::move(file), inputs, part.node_of_rank());
}

core::Result<simulate::Options> make_options(const SimulationInputs& inputs,
                                             std::size_t num_ranks,
                                             const OptionalNotes& notes) {
  const NamedParameters named = ASSAY_TRY(read_files(inputs, num_ranks));
  simulate::Options options = ASSAY_TRY(
      parameters_of(named.values, inputs, notes ? nodes_of(*notes) : std::vector<std::uint32_t>()));
  if (inputs.network.empty()) return options;
  options.fabric = ASSAY_TRY(simulate::read_fabric_spec(inputs.network.string()));
  const std::vector<std::uint32_t> nodes = nodes_of(*options.fabric, num_ranks);
  if (!named.nodes_file.empty() && !nodes.empty() &&
      renumbered(nodes) != renumbered(options.node_of_rank))
    return different_nodes(named.nodes_file, inputs.network);
  return options;
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
  std::map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> node_of_rank;
  for (const model::ScheduleRank& rank : notes.ranks) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    node_of_rank.push_back(numbers.emplace(rank.node, next).first->second);
  }
  return node_of_rank;
}

core::Result<bool> is_job(const fs::path& path) {
  if (!core::is_regular_file(path)) return false;
  const core::MappedFile file = ASSAY_TRY(core::MappedFile::open(path));
  return goal::is_job_file(file.bytes());
}

}  // namespace assay::cli
