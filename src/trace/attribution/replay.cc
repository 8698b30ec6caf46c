#include "trace/attribution/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/statistics.h"

namespace assay::trace::attribution {
namespace {

Side side_of(const Mix& mix, Cause cause) {
  return mix[static_cast<std::size_t>(cause)] ? kB : kA;
}

}  // namespace

Replay::Replay(const PairGraph& graph, const AllPieces& pieces)
    : graph_(graph),
      pieces_(pieces),
      start_ns_(graph.nodes.size()),
      end_ns_(graph.nodes.size()),
      lane_ns_(graph.nodes.size()),
      last_ns_(graph.ranks) {
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const PairNode& node = graph.nodes[n];
    communicates_.push_back(graph.work(node, node.has(kA) ? kA : kB).kind ==
                            GpuWork::kCommunication);
    is_unmatched_.push_back(communicates_[n] && graph.may_hold_a_wait(node));
  }
}

Cause Replay::cause_of_presence(std::uint32_t n) const {
  if (is_unmatched_[n]) return Cause::kUnmatched;
  return communicates_[n] ? Cause::kVolume : Cause::kKernels;
}

bool Replay::is_present(std::uint32_t n, const Mix& mix) const {
  return pieces_[n][side_of(mix, cause_of_presence(n))].present;
}

std::int64_t Replay::duration(std::uint32_t n, const Mix& mix) const {
  const std::array<Pieces, 2>& own = pieces_[n];
  if (communicates_[n])
    return own[side_of(mix, Cause::kBandwidth)].own_ns +
           own[side_of(mix, Cause::kLatency)].latency_ns +
           own[side_of(mix, Cause::kUnmatched)].unmatched_ns;
  const std::int64_t ns = own[side_of(mix, Cause::kKernels)].own_ns +
                          own[side_of(mix, Cause::kClock)].clock_ns +
                          own[side_of(mix, Cause::kPower)].power_ns +
                          own[side_of(mix, Cause::kContention)].contention_ns +
                          own[side_of(mix, Cause::kStraggler)].rank_ns;
  return std::max<std::int64_t>(0, ns);
}

bool Replay::differs(Cause cause) const {
  const auto differ = [&](auto... piece) {
    return std::any_of(pieces_.begin(), pieces_.end(), [&](const std::array<Pieces, 2>& own) {
      return ((own[kA].*piece != own[kB].*piece) || ...);
    });
  };
  switch (cause) {
    case Cause::kContention:
      return differ(&Pieces::contention_ns, &Pieces::room_ns);
    case Cause::kClock:
      return differ(&Pieces::clock_ns);
    case Cause::kPower:
      return differ(&Pieces::power_ns);
    case Cause::kKernels:
      return differ(&Pieces::own_ns, &Pieces::present);
    case Cause::kVolume:
      return differ(&Pieces::present);
    case Cause::kBandwidth:
      return differ(&Pieces::own_ns);
    case Cause::kUnmatched:
      return true;  // also whether ranks wait for each other
    case Cause::kLatency:
      return differ(&Pieces::latency_ns);
    case Cause::kStraggler:
      return differ(&Pieces::rank_ns, &Pieces::rank_host_ns);
    case Cause::kHost:
      return differ(&Pieces::host_ns);
    case Cause::kOther:
      return differ(&Pieces::pause_ns);
  }
  return true;
}

void Replay::run_node(std::uint32_t n, const Mix& mix) {
  const PairNode& node = graph_.nodes[n];
  std::int64_t ready_ns = node.before == kNoNodeId ? path::kUnknownTime : lane_ns_[node.before];
  lane_ns_[n] = ready_ns;
  start_ns_[n] = end_ns_[n] = path::kUnknownTime;
  if (!is_present(n, mix)) return;
  for (std::uint32_t w = graph_.first_wait[n]; w < graph_.first_wait[n + 1]; ++w)
    ready_ns = std::max(ready_ns, end_ns_[graph_.waits[w]]);
  if (ready_ns == path::kUnknownTime) ready_ns = 0;
  const std::array<Pieces, 2>& own = pieces_[n];
  start_ns_[n] = ready_ns + own[side_of(mix, Cause::kHost)].host_ns +
                 own[side_of(mix, Cause::kStraggler)].rank_host_ns +
                 own[side_of(mix, Cause::kContention)].room_ns +
                 own[side_of(mix, Cause::kOther)].pause_ns;
  if (node.join != kNoNodeId) return;
  end_ns_[n] = lane_ns_[n] = start_ns_[n] + duration(n, mix);
}

void Replay::run_join(const PairJoin& join, const Mix& mix) {
  std::int64_t last_start_ns = path::kUnknownTime;
  if (join.joins[side_of(mix, Cause::kUnmatched)])
    for (const std::uint32_t n : join.nodes)
      last_start_ns = std::max(last_start_ns, start_ns_[n]);
  for (const std::uint32_t n : join.nodes)
    if (start_ns_[n] != path::kUnknownTime && !graph_.nodes[n].is_sender)
      end_ns_[n] = lane_ns_[n] = std::max(start_ns_[n], last_start_ns) + duration(n, mix);
}

std::int64_t Replay::begin_of(std::size_t rank, std::size_t step, const Mix& mix) const {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  for (const std::uint32_t n : graph_.step_begin[rank * graph_.steps + step])
    if (n != kNoNodeId && is_present(n, mix)) begin_ns = std::min(begin_ns, start_ns_[n]);
  return begin_ns;
}

std::int64_t Replay::work_end_of(std::size_t rank, std::size_t step) const {
  std::int64_t end_ns = path::kUnknownTime;
  for (const std::uint32_t n : graph_.step_last[rank * graph_.steps + step])
    end_ns = std::max(end_ns, end_ns_[n]);
  return end_ns;
}

// The last step is completed by the usual wait between the steps before, as in step_periods().
std::int64_t Replay::last_end_of(std::size_t rank, const Mix& mix) const {
  if (graph_.step_last.empty()) return last_ns_[rank];
  std::vector<double> waits;
  for (std::size_t s = 0; s + 1 < graph_.steps; ++s) {
    const std::int64_t end_ns = work_end_of(rank, s);
    if (end_ns != path::kUnknownTime)
      waits.push_back(static_cast<double>(begin_of(rank, s + 1, mix) - end_ns));
  }
  const std::int64_t end_ns = work_end_of(rank, graph_.steps - 1);
  if (waits.empty() || end_ns == path::kUnknownTime) return last_ns_[rank];
  return end_ns + std::llround(core::median(waits));
}

std::vector<double> Replay::step_lengths(const Mix& mix) {
  for (const OrderedItem& item : graph_.order) {
    if (item.is_join) {
      run_join(graph_.joins[item.index], mix);
    } else {
      run_node(item.index, mix);
    }
  }
  std::fill(last_ns_.begin(), last_ns_.end(), path::kUnknownTime);
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
    last_ns_[graph_.nodes[n].rank] = std::max(last_ns_[graph_.nodes[n].rank], end_ns_[n]);
  std::vector<double> lengths(graph_.steps, 0);
  for (std::size_t r = 0; r < graph_.ranks; ++r) {
    for (std::size_t s = 0; s < graph_.steps; ++s) {
      const std::int64_t end_ns =
          s + 1 < graph_.steps ? begin_of(r, s + 1, mix) : last_end_of(r, mix);
      lengths[s] += static_cast<double>(end_ns - begin_of(r, s, mix));
    }
  }
  for (double& length : lengths)
    length /= static_cast<double>(graph_.ranks);
  return lengths;
}

}  // namespace assay::trace::attribution
