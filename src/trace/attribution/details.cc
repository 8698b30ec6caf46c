#include "trace/attribution/details.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/counted.h"
#include "core/statistics.h"

namespace assay::trace::attribution {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;
constexpr double kBytesPerMsInGbps = 1e6;
constexpr std::size_t kDetailsPerCause = 6;

std::string side_words(double before, double after, const char* unit) {
  return fmt::format("{:.3g} to {:.3g} {}", before, after, unit);
}

Side known_side(const PairNode& node) {
  return node.has(kA) ? kA : kB;
}

// Returns which part of the pause before a work lies before its step, in the period of the step
// before: a step begins with its first work.
double part_before_step(const PairGraph& graph,
                        const PairNode& node,
                        const Pieces& pieces,
                        Side side) {
  if (!node.has(side)) return 0;
  const std::int64_t pause_ns =
      pieces.host_ns + pieces.rank_host_ns - pieces.begin_ns + pieces.room_ns + pieces.pause_ns;
  if (pause_ns <= 0) return 0;
  const std::int64_t begin_ns =
      graph.runs[side]->execution->ranks[node.rank].step_start[graph.first_step[side] + node.step];
  const std::int64_t before_ns = begin_ns - (graph.work(node, side).start_ns - pause_ns);
  return std::clamp(static_cast<double>(before_ns) / static_cast<double>(pause_ns), 0.0, 1.0);
}

}  // namespace

// The pauses at the ends of the steps, before the first works of the next ones, by step. Of the
// last step of several the trace has none: as its period is completed by the usual wait
// (step_periods.h), it is taken to have the median of those before. For a straggler the others
// wait in the step behind, which the last one lacks: its wait counts for this one rank alone.
class DetailCounter::StepEnds {
 public:
  explicit StepEnds(const PairGraph& graph) : graph_(graph) {}

  void add(std::size_t step, const Subject& subject, Side side, double ms) {
    std::array<std::vector<double>, 2>& own = ms_[subject];
    own[side].resize(graph_.steps, 0);
    own[side][step] += ms;
  }

  void add_counted_to(Sums& sums) && {
    for (auto& [subject, sides] : ms_) {
      for (const Side side : {kA, kB}) {
        std::vector<double>& by_step = sides[side];
        if (by_step.empty()) continue;
        by_step.pop_back();
        by_step.push_back(usual_ms(subject.cause, by_step));
        for (std::size_t step = 0; step < by_step.size(); ++step)
          if (graph_.counts(step)) sums[subject].ms[side] += by_step[step];
      }
    }
  }

 private:
  [[nodiscard]] double usual_ms(Cause cause, const std::vector<double>& before_last) const {
    if (graph_.step_last.empty()) return 0;
    const double ranks = cause == Cause::kStraggler ? static_cast<double>(graph_.ranks) : 1;
    return core::median(before_last) / ranks;
  }

  const PairGraph& graph_;
  std::unordered_map<Subject, std::array<std::vector<double>, 2>, SubjectHash> ms_;
};

void DetailCounter::add_pauses(const PairGraph& graph,
                               const PairNode& node,
                               const std::array<Pieces, 2>& pieces,
                               double share,
                               StepEnds& ends,
                               Sums& sums) {
  const Side known = known_side(node);
  const std::uint32_t kernel = graph.work(node, known).kernel;
  const auto kind = known == kA ? Subject::Kind::kKernelOfA : Subject::Kind::kKernelOfB;
  const auto note = [&](const Subject& subject, std::int64_t Pieces::*piece) {
    for (const Side side : {kA, kB}) {
      if (pieces[side].*piece == 0) continue;
      const double ms =
          share * static_cast<double>(pieces[side].*piece) / kNanosecondsPerMillisecond;
      const double before = part_before_step(graph, node, pieces[side], side);
      if (before > 0 && node.step > 0) ends.add(node.step - 1U, subject, side, before * ms);
      if (graph.counts(node.step)) sums[subject].ms[side] += (1 - before) * ms;
    }
  };
  note({Cause::kHost, kind, false, kernel}, &Pieces::host_ns);
  note({Cause::kOther, kind, false, kernel}, &Pieces::pause_ns);
  note({Cause::kContention, kind, true, kernel}, &Pieces::room_ns);
  note({Cause::kStraggler, Subject::Kind::kRank, true, node.rank}, &Pieces::rank_host_ns);
}

void DetailCounter::add_node(const PairGraph& graph,
                             const PairNode& node,
                             const std::array<Pieces, 2>& pieces,
                             double share,
                             Sums& sums) {
  const Side known = known_side(node);
  const std::uint32_t kernel = graph.work(node, known).kernel;
  const auto add = [&](const Subject& subject, const std::array<std::int64_t, 2>& ns) {
    if (ns[kA] == 0 && ns[kB] == 0) return;
    Sum& own = sums[subject];
    for (const Side side : {kA, kB}) {
      own.ms[side] += share * static_cast<double>(ns[side]) / kNanosecondsPerMillisecond;
      if (!node.has(side)) continue;
      const path::Kernel& launched =
          graph.runs[side]->execution->kernels[graph.work(node, side).kernel];
      own.count[side] += share;
      own.channels[side] = std::max(own.channels[side], launched.blocks);
      if (std::isnan(launched.bytes)) continue;
      own.bytes[side] += share * launched.bytes;
      own.total_ms[side] += share *
                            static_cast<double>(pieces[side].own_ns + pieces[side].latency_ns) /
                            kNanosecondsPerMillisecond;
    }
  };
  const auto note = [&](const Subject& subject, std::int64_t Pieces::*piece) {
    add(subject, {node.has(kA) ? pieces[kA].*piece : 0, node.has(kB) ? pieces[kB].*piece : 0});
  };
  const auto kind = known == kA ? Subject::Kind::kKernelOfA : Subject::Kind::kKernelOfB;
  const auto of_kernel = [&](Cause cause) { return Subject{cause, kind, false, kernel}; };
  if (graph.work(node, known).kind == GpuWork::kCommunication) {
    // The volume of either side takes the time of a's bandwidth; that of b takes b's as well.
    const std::int64_t as_in_a_ns = pieces[kA].own_ns + pieces[kA].latency_ns;
    add(of_kernel(Cause::kVolume), {node.has(kA) ? as_in_a_ns : 0, node.has(kB) ? as_in_a_ns : 0});
    if (node.has(kB)) {
      add(of_kernel(Cause::kBandwidth), {pieces[kA].own_ns, pieces[kB].own_ns});
      add(of_kernel(Cause::kLatency), {pieces[kA].latency_ns, pieces[kB].latency_ns});
    }
    note(of_kernel(Cause::kUnmatched), &Pieces::unmatched_ns);
    return;
  }
  note({Cause::kStraggler, Subject::Kind::kRank, false, node.rank}, &Pieces::rank_ns);
  note(of_kernel(Cause::kKernels), &Pieces::own_ns);
  note(of_kernel(Cause::kClock), &Pieces::clock_ns);
  note(of_kernel(Cause::kPower), &Pieces::power_ns);
  note(of_kernel(Cause::kContention), &Pieces::contention_ns);
}

std::string DetailCounter::name_of(const PairGraph& graph, const Subject& subject) {
  const path::Execution& a = *graph.runs[kA]->execution;
  if (subject.kind == Subject::Kind::kRank)
    return fmt::format("rank {}, its {}", a.ranks[subject.number].number,
                       subject.is_variant ? "host" : "kernels");
  const path::Execution& execution =
      subject.kind == Subject::Kind::kKernelOfA ? a : *graph.runs[kB]->execution;
  const path::Kernel& kernel = execution.kernels[subject.number];
  return (kernel.message.empty() ? kernel.name : kernel.message) +
         std::string(subject.is_variant ? kForRoom : "");
}

void DetailCounter::join(Sum& all, const Sum& more) {
  for (const Side side : {kA, kB}) {
    all.ms[side] += more.ms[side];
    all.count[side] += more.count[side];
    all.bytes[side] += more.bytes[side];
    all.total_ms[side] += more.total_ms[side];
    all.channels[side] = std::max(all.channels[side], more.channels[side]);
  }
}

void DetailCounter::add(const PairGraph& graph, const AllPieces& pieces, double weight) {
  const std::size_t steps = graph.counted_steps();
  if (steps == 0) return;
  const double share = weight / static_cast<double>(steps * graph.ranks);
  Sums sums;
  StepEnds ends(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const PairNode& node = graph.nodes[n];
    if (graph.counts(node.step)) add_node(graph, node, pieces[n], share, sums);
    add_pauses(graph, node, pieces[n], share, ends, sums);
  }
  std::move(ends).add_counted_to(sums);
  for (const auto& [subject, sum] : sums) {
    Sum& all = sums_[{static_cast<std::size_t>(subject.cause), name_of(graph, subject)}];
    join(all, sum);
    if (subject.kind == Subject::Kind::kRank) continue;
    const Side side = subject.kind == Subject::Kind::kKernelOfA ? kA : kB;
    const path::Kernel& kernel = graph.runs[side]->execution->kernels[subject.number];
    all.operator_name = kernel.operator_name;
    all.is_message = !kernel.message.empty();
  }
}

std::string DetailCounter::words(Cause cause, const Sum& sum) {
  const auto per_rank = [](double count) { return fmt::format("{:.3g}", count); };
  std::string text;
  if (cause == Cause::kBandwidth || cause == Cause::kLatency) {
    if (sum.channels[kA] > 0 && sum.channels[kB] > 0)
      text = fmt::format("{} to {}", sum.channels[kA], core::counted(sum.channels[kB], "channel"));
    if (sum.bytes[kA] > 0 && sum.bytes[kB] > 0 && sum.total_ms[kA] > 0 && sum.total_ms[kB] > 0)
      text += (text.empty() ? "" : ", ") +
              side_words(sum.bytes[kA] / sum.total_ms[kA] / kBytesPerMsInGbps,
                         sum.bytes[kB] / sum.total_ms[kB] / kBytesPerMsInGbps, "GB/s bus");
  } else if (cause == Cause::kKernels || cause == Cause::kVolume || cause == Cause::kUnmatched) {
    if (sum.count[kA] == 0) text = "added";
    if (sum.count[kB] == 0) text = "removed";
    if (text.empty() && std::fabs(sum.count[kA] - sum.count[kB]) > 0.01)
      text = per_rank(sum.count[kA]) + " to " + per_rank(sum.count[kB]) + " a step";
  }
  if (!sum.operator_name.empty() && cause != Cause::kStraggler)
    text += (text.empty() ? "of " : ", of ") + sum.operator_name;
  return text;
}

std::vector<Detail> DetailCounter::largest(const std::array<double, kCauses>& least_ms) && {
  std::vector<Detail> result;
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    std::vector<Detail> own;
    for (const auto& [key, sum] : sums_) {
      if (key.first != cause) continue;
      Detail detail{.cause = static_cast<Cause>(cause),
                    .name = key.second,
                    .a_ms = sum.ms[kA],
                    .b_ms = sum.ms[kB],
                    .words = words(static_cast<Cause>(cause), sum),
                    .is_message = sum.is_message};
      if (std::fabs(detail.change_ms()) >= least_ms[cause]) own.push_back(std::move(detail));
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
