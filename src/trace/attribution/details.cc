#include "trace/attribution/details.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace assay::trace::attribution {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;
constexpr double kBytesPerMsInGbps = 1e6;
constexpr std::size_t kDetailsPerCause = 6;
constexpr const char* kForRoom = ", waiting for room on the GPU";
// Less than this a step is no evidence.
constexpr double kLeastMs = 0.0005;

std::string side_words(double before, double after, const char* unit) {
  return fmt::format("{:.3g} to {:.3g} {}", before, after, unit);
}

}  // namespace

void DetailCounter::add_node(const PairGraph& graph,
                             const PairNode& node,
                             const std::array<Pieces, 2>& pieces,
                             double share) {
  const Side known = node.has(kA) ? kA : kB;
  const path::Execution& execution = *graph.runs[known]->execution;
  const path::Kernel& kernel = execution.kernels[graph.work(node, known).kernel];
  const bool communicates = graph.work(node, known).kind == GpuWork::kCommunication;
  const std::string& name = communicates && !kernel.message.empty() ? kernel.message : kernel.name;
  const auto note = [&](Cause cause, const std::string& of, std::int64_t Pieces::*piece) {
    if (pieces[kA].*piece == 0 && pieces[kB].*piece == 0) return;
    Sum& own = sum(cause, of);
    own.operator_name = kernel.operator_name;
    for (const Side side : {kA, kB}) {
      if (!node.has(side)) continue;
      const path::Work& work = graph.work(node, side);
      const path::Kernel& launched = graph.runs[side]->execution->kernels[work.kernel];
      own.ms[side] += share * static_cast<double>(pieces[side].*piece) / kNanosecondsPerMillisecond;
      own.count[side] += share;
      own.channels[side] = std::max(own.channels[side], launched.blocks);
      if (std::isnan(launched.bytes)) continue;
      own.bytes[side] += share * launched.bytes;
      own.total_ms[side] += share *
                            static_cast<double>(pieces[side].own_ns + pieces[side].latency_ns) /
                            kNanosecondsPerMillisecond;
    }
  };
  note(Cause::kHost, name, &Pieces::host_ns);
  note(Cause::kOther, name, &Pieces::pause_ns);
  note(Cause::kContention, name + kForRoom, &Pieces::room_ns);
  const std::string rank = fmt::format("rank {}", execution.ranks[node.rank].number);
  note(Cause::kStraggler, rank + ", its host", &Pieces::rank_host_ns);
  if (communicates) {
    note(Cause::kBandwidth, name, &Pieces::own_ns);
    note(Cause::kLatency, name, &Pieces::latency_ns);
    return;
  }
  note(Cause::kStraggler, rank + ", its kernels", &Pieces::rank_ns);
  note(Cause::kKernels, name, &Pieces::own_ns);
  note(Cause::kClock, name, &Pieces::clock_ns);
  note(Cause::kContention, name, &Pieces::contention_ns);
}

void DetailCounter::add(const PairGraph& graph, const AllPieces& pieces, double weight) {
  const double share = weight / static_cast<double>(graph.steps * graph.ranks);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    add_node(graph, graph.nodes[n], pieces[n], share);
}

std::string DetailCounter::words(Cause cause, const Sum& sum) {
  const auto per_rank = [](double count) { return fmt::format("{:.3g}", count); };
  std::string text;
  if (cause == Cause::kBandwidth || cause == Cause::kLatency) {
    if (sum.channels[kA] > 0 && sum.channels[kB] > 0)
      text = fmt::format("{} to {} channels", sum.channels[kA], sum.channels[kB]);
    if (sum.bytes[kA] > 0 && sum.bytes[kB] > 0 && sum.total_ms[kA] > 0 && sum.total_ms[kB] > 0)
      text += (text.empty() ? "" : ", ") +
              side_words(sum.bytes[kA] / sum.total_ms[kA] / kBytesPerMsInGbps,
                         sum.bytes[kB] / sum.total_ms[kB] / kBytesPerMsInGbps, "GB/s bus");
  } else if (cause == Cause::kKernels) {
    if (sum.count[kA] == 0) text = "added";
    if (sum.count[kB] == 0) text = "removed";
    if (text.empty() && std::fabs(sum.count[kA] - sum.count[kB]) > 0.01)
      text = per_rank(sum.count[kA]) + " to " + per_rank(sum.count[kB]) + " a step";
  }
  if (!sum.operator_name.empty() && cause != Cause::kStraggler)
    text += (text.empty() ? "of " : ", of ") + sum.operator_name;
  return text;
}

std::vector<Detail> DetailCounter::largest() && {
  std::vector<Detail> result;
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    std::vector<Detail> own;
    for (const auto& [key, sum] : sums_) {
      if (key.first != cause) continue;
      Detail detail{.cause = static_cast<Cause>(cause),
                    .name = key.second,
                    .a_ms = sum.ms[kA],
                    .b_ms = sum.ms[kB],
                    .words = words(static_cast<Cause>(cause), sum)};
      if (std::fabs(detail.change_ms()) >= kLeastMs) own.push_back(std::move(detail));
    }
    std::stable_sort(own.begin(), own.end(), [](const Detail& a, const Detail& b) {
      return std::fabs(a.change_ms()) > std::fabs(b.change_ms());
    });
    if (own.size() > kDetailsPerCause) own.resize(kDetailsPerCause);
    std::move(own.begin(), own.end(), std::back_inserter(result));
  }
  return result;
}

}  // namespace assay::trace::attribution
