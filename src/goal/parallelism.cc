#include "goal/parallelism.h"

#include <array>
#include <map>
#include <set>
#include <utility>

namespace assay::goal {
namespace {

using model::NcclFunction;

struct Uses {
  bool gathers = false;
  bool scatters = false;
};

// Marks the sends and receives of launches in which a GPU talks with all of a communicator.
void find_all_to_alls(const Resolved& resolved,
                      const GpuCalls& gpu,
                      std::vector<Parallelism>& found) {
  for (const Launch& launch : gpu.launches) {
    const std::size_t end = launch.first_call + launch.num_calls;
    // By communicator, as source and destination: several messages of a pair count once.
    std::map<std::uint32_t, std::set<std::pair<std::int32_t, std::int32_t>>> pairs;
    for (std::size_t i = launch.first_call; i < end; ++i) {
      const Exchange& exchange = resolved.exchanges[gpu.calls[i].exchange];
      if (exchange.source == exchange.destination) continue;  // a collective, or a copy
      pairs[exchange.communicator].emplace(exchange.source, exchange.destination);
    }
    for (std::size_t i = launch.first_call; i < end; ++i) {
      const Exchange& exchange = resolved.exchanges[gpu.calls[i].exchange];
      if (exchange.function != NcclFunction::kSendRecv) continue;
      const std::size_t ranks = resolved.job->communicators[exchange.communicator].gpus.size();
      // A send and a receive for each other rank.
      if (ranks > 2 && pairs[exchange.communicator].size() == 2 * (ranks - 1)) {
        found[gpu.calls[i].exchange] = Parallelism::kExpert;
      }
    }
  }
}

}  // namespace

std::string_view name_of(Parallelism parallelism) {
  static constexpr std::array<std::string_view, 4> kNames = {"Other", "PP", "DP", "EP"};
  return kNames.at(static_cast<std::size_t>(parallelism));
}

std::vector<Parallelism> find_parallelism(const Resolved& resolved) {
  std::vector<Uses> uses(resolved.job->communicators.size());
  for (const Exchange& exchange : resolved.exchanges) {
    uses[exchange.communicator].gathers |= exchange.function == NcclFunction::kAllGather;
    uses[exchange.communicator].scatters |= exchange.function == NcclFunction::kReduceScatter;
  }
  std::vector<Parallelism> found;
  for (const Exchange& exchange : resolved.exchanges) {
    const Uses& use = uses[exchange.communicator];
    const bool shards = use.gathers && use.scatters;
    const bool sends = exchange.function == NcclFunction::kSendRecv;
    found.push_back(sends    ? Parallelism::kPipeline
                    : shards ? Parallelism::kData
                             : Parallelism::kOther);
  }
  for (const GpuCalls& gpu : resolved.gpus)
    find_all_to_alls(resolved, gpu, found);
  return found;
}

}  // namespace assay::goal
