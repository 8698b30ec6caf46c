#include "trace/attribution/durations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "core/statistics.h"

namespace assay::trace::attribution {
namespace {

using path::Execution;
using path::Kernel;
using path::Work;

constexpr float kOverlapped = 0.05F;
// A kernel with room on the GPU starts within this after what it waited for.
constexpr std::int64_t kLongestStartNs = 20'000;
// A pause in which other streams work for this share of it is for want of room.
constexpr double kBusyShare = 0.8;
constexpr double kSmallMessageBytes = 1 << 20;
// Two sizes tell latency from bandwidth if they differ by this.
constexpr double kSizesApart = 2;

// The same code and shape in any run.
using Shape = std::tuple<std::string, std::uint32_t, std::uint32_t>;

Shape shape_of(const Kernel& kernel) {
  return {kernel.name, kernel.blocks, kernel.threads};
}

std::int64_t transfer_ns(const Execution& execution, path::WorkId id) {
  return std::max<std::int64_t>(0, execution.works[id].end_ns - execution.waited_until_ns(id));
}

// The times of a collective of one kind and size.
struct Message {
  std::string kind;
  double bytes = 0;
  std::vector<double> times_ns = {};
  double median_ns = 0;
  double shortest_ns = 0;
};

// A line through time against size, weighted by 1/time², so that small messages decide its start.
// Returns the time at size zero, or NaN when the sizes are too alike.
double fitted_latency_ns(const std::vector<const Message*>& messages) {
  double weight = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const Message* message : messages) {
    if (!(message->bytes > 0)) continue;
    const double time = message->median_ns;
    if (!(time > 0)) continue;
    const double w = 1 / (time * time);
    weight += w;
    x += w * message->bytes;
    y += w * time;
    xx += w * message->bytes * message->bytes;
    xy += w * message->bytes * time;
    smallest = std::min(smallest, message->bytes);
    largest = std::max(largest, message->bytes);
  }
  if (largest < kSizesApart * smallest) return std::nan("");
  const double slope = (weight * xy - x * y) / (weight * xx - x * x);
  return std::max(0.0, (y - slope * x) / weight);
}

// Tells what collectives take on one side: the latency of each kind, and what grows with the size.
class Transfers {
 public:
  explicit Transfers(std::span<const PreparedRun> runs) {
    for (const PreparedRun& run : runs)
      add(*run.execution);
    for (auto& entry : messages_) {
      entry.second.median_ns = core::median(entry.second.times_ns);
      entry.second.shortest_ns = core::minimum(entry.second.times_ns);
    }
    fit();
  }

  [[nodiscard]] double latency_ns(const Kernel& kernel) const {
    const auto found = messages_.find(kernel.message);
    return found == messages_.end() ? 0 : latency_ns(found->second);
  }

  // Returns the median time of a message beyond the latency; NaN where this side has none.
  [[nodiscard]] double growing_ns(const Kernel& kernel) const {
    const auto found = messages_.find(kernel.message);
    return found == messages_.end() ? std::nan("") : growing_ns(found->second);
  }

  // Returns that time for each byte, over all messages of a kind; NaN where this side has none.
  [[nodiscard]] double growing_ns_per_byte(const Kernel& kernel) const {
    const auto found = kinds_.find(kernel.category);
    if (found == kinds_.end() || !(found->second.bytes > 0)) return std::nan("");
    return found->second.growing_ns / found->second.bytes;
  }

  // Returns whether the latency of some message is not known, and not all of its time.
  [[nodiscard]] bool has_one_size() const {
    return std::isnan(latency_of_all_ns_) &&
           std::any_of(messages_.begin(), messages_.end(), [](const auto& entry) {
             return !(entry.second.bytes < kSmallMessageBytes);
           });
  }

 private:
  struct Kind {
    double latency_ns = std::nan("");
    double growing_ns = 0;  // of all
    double bytes = 0;       // of all
  };

  void add(const Execution& execution) {
    for (path::WorkId id = 0; id < execution.works.size(); ++id) {
      const Work& work = execution.works[id];
      if (work.kind != GpuWork::kCommunication || work.join == path::kNone) continue;
      if (execution.joins[work.join].lacks_ranks) continue;
      const Kernel& kernel = execution.kernels[work.kernel];
      Message& message = messages_[kernel.message];
      message.kind = kernel.category;
      message.bytes = kernel.bytes;
      message.times_ns.push_back(static_cast<double>(transfer_ns(execution, id)));
    }
  }

  void fit() {
    std::map<std::string, std::vector<const Message*>> by_kind;
    std::vector<const Message*> all;
    for (const auto& entry : messages_) {
      by_kind[entry.second.kind].push_back(&entry.second);
      all.push_back(&entry.second);
    }
    latency_of_all_ns_ = fitted_latency_ns(all);
    for (const auto& [kind, messages] : by_kind) {
      Kind& own = kinds_[kind];
      own.latency_ns = fitted_latency_ns(messages);
      for (const Message* message : messages) {
        if (!(message->bytes > 0)) continue;
        const auto count = static_cast<double>(message->times_ns.size());
        own.growing_ns += count * growing_ns(*message);
        own.bytes += count * message->bytes;
      }
    }
  }

  [[nodiscard]] double latency_ns(const Message& message) const {
    double latency_ns = kinds_.at(message.kind).latency_ns;
    if (std::isnan(latency_ns)) latency_ns = latency_of_all_ns_;
    if (!std::isnan(latency_ns)) return std::min(latency_ns, message.shortest_ns);
    return message.bytes < kSmallMessageBytes ? message.shortest_ns : 0;
  }

  [[nodiscard]] double growing_ns(const Message& message) const {
    return std::max(0.0, message.median_ns - latency_ns(message));
  }

  std::map<std::string, Message> messages_;
  std::map<std::string, Kind> kinds_;
  double latency_of_all_ns_ = std::nan("");
};

using TimesAlone = std::map<Shape, std::vector<double>>;

TimesAlone times_alone(std::span<const PreparedRun> runs) {
  TimesAlone times;
  for (const PreparedRun& run : runs) {
    std::vector<std::vector<double>*> by_kernel;
    for (const Kernel& kernel : run.execution->kernels)
      by_kernel.push_back(&times[shape_of(kernel)]);
    for (const Work& work : run.execution->works)
      if (work.kind != GpuWork::kCommunication && !is_overlapped(work))
        by_kernel[work.kernel]->push_back(static_cast<double>(work.length_ns()));
  }
  std::erase_if(times, [](const auto& entry) { return entry.second.empty(); });
  return times;
}

double ratio_alone(const TimesAlone& a, const TimesAlone& b) {
  double sum_a = 0;
  double sum_b = 0;
  for (const auto& [shape, times] : a) {
    const auto other = b.find(shape);
    if (other == b.end()) continue;
    const auto count = static_cast<double>(times.size());
    sum_a += count * core::median(times);
    sum_b += count * core::median(other->second);
  }
  return sum_a > 0 && sum_b > 0 ? sum_b / sum_a : 1;
}

// Returns by what the other side takes longer for the bytes of a kernel: for the same message or
// else for its kind; 1 where nothing tells it.
double slowdown(const Kernel& kernel, const Transfers& here, const Transfers& there) {
  const double message = there.growing_ns(kernel) / here.growing_ns(kernel);
  if (std::isfinite(message) && message > 0) return message;
  const double kind = there.growing_ns_per_byte(kernel) / here.growing_ns_per_byte(kernel);
  return std::isfinite(kind) && kind > 0 ? kind : 1;
}

std::vector<SideTimes> side_times(std::span<const PreparedRun> runs,
                                  const TimesAlone& alone,
                                  const Transfers& transfers,
                                  const Transfers& transfers_there) {
  std::map<Shape, double> medians;
  for (const auto& [shape, times] : alone)
    medians[shape] = core::median(times);
  std::vector<SideTimes> result;
  for (const PreparedRun& run : runs) {
    SideTimes& times = result.emplace_back();
    for (const Kernel& kernel : run.execution->kernels) {
      const auto median = medians.find(shape_of(kernel));
      times.alone_ns.push_back(median == medians.end() ? std::nan("") : median->second);
      const bool communicates = !kernel.message.empty();
      times.latency_ns.push_back(communicates ? transfers.latency_ns(kernel) : 0);
      times.slowdown.push_back(communicates ? slowdown(kernel, transfers, transfers_there) : 1);
    }
  }
  return result;
}

// Works of different ranks at one place, on one side.
struct Together {
  std::int64_t middle_length_ns = 0;
  std::int64_t middle_host_ns = 0;
  double overlap = 0;
  std::uint32_t ranks = 0;
};

// Of an even number, the lower one: of two ranks, the faster one is what is usual.
std::int64_t middle_of(std::vector<std::int64_t>& values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

class Divider {
 public:
  Divider(const PairGraph& graph, const SharedTimes& times, std::size_t run_a, std::size_t run_b)
      : graph_(graph),
        shared_(times),
        times_{&times.runs[kA][run_a], &times.runs[kB][run_b]},
        pieces_(graph.nodes.size()),
        groups_{std::vector<Together>(graph.groups), std::vector<Together>(graph.groups)} {}

  AllPieces divide() {
    for (const Side side : {kA, kB}) {
      find_busy(side);
      measure_pauses(side);
    }
    gather();
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
      divide_node(n);
    return std::move(pieces_);
  }

 private:
  [[nodiscard]] const Execution& execution(Side side) const {
    return *graph_.runs[side]->execution;
  }

  // The pause before a work is what its dependences do not explain. It is the host's if the host
  // launched the work only after all of them had ended.
  void measure_pauses(Side side) {
    std::vector<std::int64_t> lane_end(graph_.nodes.size(), path::kUnknownTime);
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      const PairNode& node = graph_.nodes[n];
      const std::int64_t before_ns =
          node.before == kNoNodeId ? path::kUnknownTime : lane_end[node.before];
      lane_end[n] = before_ns;
      if (!node.has(side)) continue;
      const Work& work = graph_.work(node, side);
      lane_end[n] = work.end_ns;
      std::int64_t ready_ns = before_ns;
      for (std::uint32_t w = graph_.first_wait[n]; w < graph_.first_wait[n + 1]; ++w) {
        const PairNode& other = graph_.nodes[graph_.waits[w]];
        if (other.has(side)) ready_ns = std::max(ready_ns, graph_.work(other, side).end_ns);
      }
      pieces_[n][side].present = true;
      divide_pause(pieces_[n][side], side, node, ready_ns);
    }
  }

  void divide_pause(Pieces& pieces, Side side, const PairNode& node, std::int64_t ready_ns) const {
    const Work& work = graph_.work(node, side);
    if (ready_ns == path::kUnknownTime) {
      const std::size_t step = graph_.first_step[side];
      const std::int64_t own_start_ns = execution(side).ranks[node.rank].step_start[step];
      pieces.host_ns = work.start_ns - own_start_ns;
      pieces.begin_ns = own_start_ns - execution(side).steps[step].start_ns;
      return;
    }
    const std::int64_t pause_ns = work.start_ns - ready_ns;
    if (work.launched_ns > ready_ns && work.launched_ns <= work.start_ns) {
      pieces.host_ns = pause_ns;
    } else if (pause_ns > kLongestStartNs && busy_share(side, node, ready_ns) > kBusyShare) {
      pieces.room_ns = pause_ns;
    } else {
      pieces.pause_ns = pause_ns;
    }
  }

  // Returns the part of the pause in which the GPU had other work.
  [[nodiscard]] double busy_share(Side side, const PairNode& node, std::int64_t ready_ns) const {
    const Interval pause{ready_ns, graph_.work(node, side).start_ns};
    const std::vector<Interval>& busy = busy_[side][node.rank];
    auto at = std::upper_bound(
        busy.begin(), busy.end(), pause.start,
        [](std::int64_t time, const Interval& interval) { return time < interval.end; });
    std::int64_t shared = 0;
    for (; at != busy.end() && at->start < pause.end; ++at)
      shared += std::min(at->end, pause.end) - std::max(at->start, pause.start);
    return static_cast<double>(shared) / static_cast<double>(pause.length());
  }

  void find_busy(Side side) {
    for (const path::Rank& rank : execution(side).ranks) {
      std::vector<Interval> intervals;
      for (path::WorkId w = rank.first; w < rank.last; ++w)
        intervals.push_back({execution(side).works[w].start_ns, execution(side).works[w].end_ns});
      busy_[side].push_back(merged(std::move(intervals)));
    }
  }

  // Finds what is usual at each place.
  void gather() {
    std::vector<std::uint32_t> by_group(graph_.nodes.size());
    std::iota(by_group.begin(), by_group.end(), 0U);
    std::stable_sort(by_group.begin(), by_group.end(), [&](std::uint32_t a, std::uint32_t b) {
      return graph_.nodes[a].group < graph_.nodes[b].group;
    });
    for (auto begin = by_group.begin(); begin != by_group.end();) {
      const std::uint32_t group = graph_.nodes[*begin].group;
      const auto end = std::find_if(
          begin, by_group.end(), [&](std::uint32_t n) { return graph_.nodes[n].group != group; });
      for (const Side side : {kA, kB})
        groups_[side][group] = together({begin, end}, side);
      begin = end;
    }
  }

  Together together(std::span<const std::uint32_t> nodes, Side side) {
    Together result;
    lengths_.clear();
    host_pauses_.clear();
    for (const std::uint32_t n : nodes) {
      if (!graph_.nodes[n].has(side)) continue;
      const Work& work = graph_.work(graph_.nodes[n], side);
      lengths_.push_back(work.length_ns());
      host_pauses_.push_back(pieces_[n][side].host_ns);
      result.overlap += work.overlap;
      ++result.ranks;
    }
    if (result.ranks == 0) return result;
    result.middle_length_ns = middle_of(lengths_);
    result.middle_host_ns = middle_of(host_pauses_);
    return result;
  }

  void divide_node(std::uint32_t n) {
    const PairNode& node = graph_.nodes[n];
    for (const Side side : {kA, kB}) {
      if (!node.has(side)) continue;
      Pieces& pieces = pieces_[n][side];
      const Together& together = groups_[side][node.group];
      pieces.rank_host_ns = pieces.begin_ns + pieces.host_ns - together.middle_host_ns;
      pieces.host_ns = together.middle_host_ns;
      const Work& work = graph_.work(node, side);
      if (work.kind == GpuWork::kCommunication) {
        divide_communication(node, side, pieces);
      } else {
        pieces.own_ns = together.middle_length_ns;
        pieces.rank_ns = work.length_ns() - pieces.own_ns;
      }
    }
    const Side known = node.has(kA) ? kA : kB;
    if (graph_.work(node, known).kind != GpuWork::kCommunication)
      divide_computation(n);
    else if (!node.has(kA) || !node.has(kB))
      estimate_absent(node, pieces_[n]);
  }

  void divide_communication(const PairNode& node, Side side, Pieces& pieces) const {
    const Work& work = graph_.work(node, side);
    const bool joins = node.join != kNoNodeId && graph_.joins[node.join].joins[side];
    if (!joins && !node.is_sender) {
      pieces.unmatched_ns = work.length_ns();
      return;
    }
    const std::int64_t time_ns =
        node.is_sender ? work.length_ns() : transfer_ns(execution(side), node.work[side]);
    if (graph_.may_hold_a_wait(node)) {
      pieces.unmatched_ns = time_ns;
      return;
    }
    pieces.latency_ns =
        std::min(time_ns, static_cast<std::int64_t>(times_[side]->latency_ns[work.kernel]));
    pieces.own_ns = time_ns - pieces.latency_ns;
  }

  // The other side's bandwidth tells what it would take for communication that it lacks.
  void estimate_absent(const PairNode& node, std::array<Pieces, 2>& pieces) const {
    const Side known = node.has(kA) ? kA : kB;
    const Side absent = known == kA ? kB : kA;
    const double slowdown = times_[known]->slowdown[graph_.work(node, known).kernel];
    pieces[absent].own_ns = std::llround(static_cast<double>(pieces[known].own_ns) * slowdown);
    pieces[absent].latency_ns = pieces[known].latency_ns;
    pieces[absent].unmatched_ns = pieces[known].unmatched_ns;
  }

  [[nodiscard]] bool overlapped(const PairNode& node, Side side) const {
    const Together& together = groups_[side][node.group];
    return together.overlap > kOverlapped * static_cast<double>(together.ranks);
  }

  // Takes contention and the clock's effect out of the kernel's own time.
  void divide_computation(std::uint32_t n) {
    const PairNode& node = graph_.nodes[n];
    if (node.has(kA) && node.has(kB)) {
      const auto alone = alone_of_both(n);
      for (const Side side : {kA, kB})
        take_contention(pieces_[n][side], alone[side]);
      take_clock(pieces_[n][kA], pieces_[n][kB]);
      return;
    }
    const Side side = node.has(kA) ? kA : kB;
    const double alone_ns = times_[side]->alone_ns[graph_.work(node, side).kernel];
    if (overlapped(node, side) && !std::isnan(alone_ns))
      take_contention(pieces_[n][side], alone_ns);
  }

  static void take_contention(Pieces& pieces, double alone_ns) {
    pieces.contention_ns = pieces.own_ns - std::llround(alone_ns);
    pieces.own_ns -= pieces.contention_ns;
  }

  // How long the kernel at this place takes alone. The best evidence is the place itself, where it
  // is alone on the other side; then the same kernel elsewhere.
  [[nodiscard]] std::array<double, 2> alone_of_both(std::uint32_t n) const {
    const PairNode& node = graph_.nodes[n];
    const auto length = [&](Side side) { return static_cast<double>(pieces_[n][side].own_ns); };
    const double known_a = times_[kA]->alone_ns[graph_.work(node, kA).kernel];
    const double known_b = times_[kB]->alone_ns[graph_.work(node, kB).kernel];
    const bool beside_a = overlapped(node, kA);
    const bool beside_b = overlapped(node, kB);
    const double ratio = known_a > 0 && known_b > 0 ? known_b / known_a : shared_.alone_ratio;
    if (!beside_a && !beside_b) return {length(kA), length(kB)};
    if (!beside_b) return {length(kB) / ratio, length(kB)};
    if (!beside_a) return {length(kA), length(kA) * ratio};
    if (!std::isnan(known_a)) return {known_a, known_a * ratio};
    if (!std::isnan(known_b)) return {known_b / ratio, known_b};
    // It never runs alone. The kernel is the same, so what changed is what runs beside it.
    return {length(kA), length(kA) * ratio};
  }

  // A clock explains a change in its direction, and no more than its own.
  void take_clock(const Pieces& a, Pieces& b) const {
    if (!shared_.clock) return;
    const std::int64_t change_ns = b.own_ns - a.own_ns;
    const auto by_clock_ns =
        std::llround(static_cast<double>(a.own_ns) * (shared_.clock->ratio - 1));
    if ((change_ns > 0) != (by_clock_ns > 0)) return;
    const std::int64_t explained_ns =
        std::abs(by_clock_ns) < std::abs(change_ns) ? by_clock_ns : change_ns;
    (shared_.clock->by_power ? b.power_ns : b.clock_ns) = explained_ns;
    b.own_ns -= explained_ns;
  }

  const PairGraph& graph_;
  const SharedTimes& shared_;
  std::array<const SideTimes*, 2> times_;
  AllPieces pieces_;
  std::array<std::vector<Together>, 2> groups_;
  std::vector<std::int64_t> lengths_;  // of one group
  std::vector<std::int64_t> host_pauses_;
  std::array<std::vector<std::vector<Interval>>, 2> busy_;  // by side and rank
};

}  // namespace

bool is_overlapped(const path::Work& work) {
  return work.overlap > kOverlapped;
}

SharedTimes shared_times(std::span<const PreparedRun> a, std::span<const PreparedRun> b) {
  const TimesAlone alone_a = times_alone(a);
  const TimesAlone alone_b = times_alone(b);
  const Transfers transfers_a(a);
  const Transfers transfers_b(b);
  return {.runs = {side_times(a, alone_a, transfers_a, transfers_b),
                   side_times(b, alone_b, transfers_b, transfers_a)},
          .has_one_size = transfers_a.has_one_size() || transfers_b.has_one_size(),
          .alone_ratio = ratio_alone(alone_a, alone_b)};
}

AllPieces all_pieces(const PairGraph& graph,
                     const SharedTimes& times,
                     std::size_t run_a,
                     std::size_t run_b) {
  return Divider(graph, times, run_a, run_b).divide();
}

}  // namespace assay::trace::attribution
