#include "trace/path/execution.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trace/call_tree.h"
#include "trace/collectives/clock_offset.h"
#include "trace/collectives/match.h"
#include "trace/perf/kernel_category.h"

namespace assay::trace::path {
namespace {

namespace collectives = trace::collectives;

constexpr double kBytesPerMebibyte = 1048576;

// The ranks of a host share a clock, and leave a collective within some microseconds. A larger
// offset that exceeds its own spread by far is another clock.
constexpr double kSameClockUs = 20;
constexpr double kSpreads = 4;

// Communication on a shared clock, and which of it belongs together.
struct Communication {
  collectives::Recording recording;
  collectives::Matching matching = {};
  std::vector<Clock> clocks = {};  // by position in the recording
};

std::vector<collectives::NodeOffset> rank_clocks(const collectives::Recording& recording) {
  auto offsets = collectives::estimate_node_offsets(recording, match_by_order(recording));
  for (collectives::NodeOffset& offset : offsets)
    offset.applied =
        std::fabs(offset.offset_us) > std::max(kSameClockUs, kSpreads * offset.spread_us);
  return offsets;
}

Communication communication_of(std::span<const RankAnalysis> ranks) {
  // Each rank is taken for a host of its own, so that each gets an offset.
  Communication result{.recording = collectives::extract(ranks, 1)};
  const auto offsets = rank_clocks(result.recording);
  collectives::remove_offsets(result.recording, offsets);
  result.matching = collectives::match(result.recording);
  for (const auto& rank : collectives::rank_offsets(result.recording, result.matching, offsets))
    result.clocks.push_back({.offset_us = rank.offset_us,
                             .removed_us = rank.removed_us,
                             .residual_us = rank.offset_us - rank.removed_us,
                             .spread_us = rank.spread_us,
                             .samples = rank.samples});
  return result;
}

// Numbers the kernels of a run. Texts are compared once for each rank and kernel.
class KernelTable {
 public:
  explicit KernelTable(std::vector<Kernel>& kernels) : kernels_(kernels) {}

  void begin_rank(const RankAnalysis& rank) {
    rank_ = &rank;
    known_.clear();
  }

  // `metadata` is that of a collective, or null.
  std::uint32_t id_of(std::uint32_t event,
                      const collectives::Metadata* metadata,
                      const collectives::Catalog& catalog) {
    const model::GpuEvent& gpu = rank_->trace->gpu_events[event];
    const std::uint32_t message = metadata == nullptr ? 0 : 1 + metadata->signature;
    const Key key{gpu.name, threads_in(gpu.grid), threads_in(gpu.block), message};
    const auto [place, is_new] = known_.try_emplace(key, 0);
    if (is_new) place->second = numbered(event, metadata, catalog);
    return place->second;
  }

 private:
  using Key = std::array<std::uint32_t, 4>;

  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::size_t hash = 0;
      for (const std::uint32_t part : key)
        hash = hash * 0x9E3779B97F4A7C15ULL + part;
      return hash ^ (hash >> 32);
    }
  };

  static std::uint32_t threads_in(const std::array<std::uint32_t, 3>& dims) {
    return dims[0] * dims[1] * dims[2];
  }

  static std::string message_of(const collectives::Metadata* metadata,
                                const collectives::Catalog& catalog) {
    if (metadata == nullptr) return "";
    return fmt::format("{}, {}, {}", catalog.text(metadata->name), catalog.text(metadata->dtype),
                       metadata->in_elements);
  }

  // Kernels of different ranks are one if they are the same code, launch and message.
  std::uint32_t numbered(std::uint32_t event,
                         const collectives::Metadata* metadata,
                         const collectives::Catalog& catalog) {
    const model::GpuEvent& gpu = rank_->trace->gpu_events[event];
    const std::string name(rank_->trace->text(gpu.name));
    const auto [place, is_new] =
        numbers_.try_emplace(std::tuple(name, threads_in(gpu.grid), threads_in(gpu.block),
                                        message_of(metadata, catalog)),
                             static_cast<std::uint32_t>(kernels_.size()));
    if (!is_new) return place->second;
    Kernel kernel{.name = name,
                  .category = std::string(category_of(gpu, name)),
                  .operator_name = operator_of(event),
                  .blocks = threads_in(gpu.grid),
                  .threads = threads_in(gpu.block),
                  .bytes = std::nan(""),
                  .message = message_of(metadata, catalog)};
    if (metadata != nullptr) {
      kernel.category = catalog.text(metadata->name);
      kernel.bytes = metadata->full_mib * kBytesPerMebibyte *
                     collectives::bus_factor(*metadata, metadata->group_size);
    }
    kernels_.push_back(std::move(kernel));
    return place->second;
  }

  static std::string_view category_of(const model::GpuEvent& gpu, std::string_view name) {
    if (gpu.kind == model::GpuEventKind::kMemcpy) return "memcpy";
    if (gpu.kind == model::GpuEventKind::kMemset) return "memset";
    return kernel_category(name);
  }

  [[nodiscard]] std::string operator_of(std::uint32_t event) const {
    const CallTree& tree = rank_->tree;
    const NodeId call = tree.launched_by.empty() ? kNoNode : tree.launched_by[event];
    if (call == kNoNode) return "";
    const NodeId launcher = launcher_of(*rank_->trace, tree, call);
    if (!tree.is_cpu_op(launcher)) return "";
    return std::string(rank_->trace->text(node_name(*rank_->trace, tree.nodes[launcher])));
  }

  std::vector<Kernel>& kernels_;
  const RankAnalysis* rank_ = nullptr;
  std::unordered_map<Key, std::uint32_t, Hash> known_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t, std::string>, std::uint32_t>
      numbers_;
};

class Builder {
 public:
  explicit Builder(std::span<const RankAnalysis> analyses)
      : communication_(communication_of(analyses)) {
    find_origin();
  }

  Execution build() {
    result_.origin_ns = origin_ns_;
    for (std::size_t r = 0; r < communication_.recording.ranks.size(); ++r)
      add_rank(r);
    add_joins();
    add_steps();
    return std::move(result_);
  }

 private:
  [[nodiscard]] static std::int64_t clock_shift_ns(const Clock& clock) {
    return -std::llround(clock.removed_us * 1000);
  }

  void find_origin() {
    origin_ns_ = std::numeric_limits<std::int64_t>::max();
    for (std::size_t r = 0; r < communication_.recording.ranks.size(); ++r) {
      const RankAnalysis& rank = *communication_.recording.ranks[r].analysis;
      for (std::size_t i = 0; i < rank.gpu_intervals.size(); ++i)
        if (rank.counted[i])
          origin_ns_ = std::min(
              origin_ns_, rank.gpu_intervals[i].start + clock_shift_ns(communication_.clocks[r]));
    }
  }

  void add_rank(std::size_t r) {
    const collectives::RankEvents& source = communication_.recording.ranks[r];
    const RankAnalysis& rank = *source.analysis;
    Rank& own = result_.ranks.emplace_back();
    own.number = rank.rank;
    own.clock = communication_.clocks[r];
    own.shift_ns = clock_shift_ns(own.clock) - origin_ns_;
    own.first = static_cast<WorkId>(result_.works.size());
    kernels_.begin_rank(rank);
    add_works(source, own.shift_ns);
    own.last = static_cast<WorkId>(result_.works.size());
    sort_works(own);
    link_lanes(own);
    add_recorded_waits(rank);
    note_overlap(own);
  }

  void add_works(const collectives::RankEvents& source, std::int64_t shift_ns) {
    const RankAnalysis& rank = *source.analysis;
    const auto rank_position = static_cast<std::uint16_t>(result_.ranks.size() - 1);
    std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> lanes;
    std::uint32_t collective_event = 0;
    works_of_events_.emplace_back(source.events.size(), kNone);
    for (std::uint32_t i = 0; i < rank.gpu_intervals.size(); ++i) {
      const bool communicates = rank.gpu_work[i] == GpuWork::kCommunication;
      if (!rank.counted[i]) continue;
      const model::GpuEvent& gpu = rank.trace->gpu_events[i];
      const auto [lane, is_new] = lanes.try_emplace(
          std::pair(gpu.device, gpu.stream), static_cast<std::uint32_t>(result_.lanes.size()));
      if (is_new) result_.lanes.push_back({rank_position, gpu.device, gpu.stream});
      const collectives::Metadata* metadata = nullptr;
      Work work{.start_ns = rank.gpu_intervals[i].start + shift_ns,
                .end_ns = rank.gpu_intervals[i].end + shift_ns,
                .launched_ns = launch_time(rank, i, shift_ns),
                .lane = lane->second,
                .event = i,
                .rank = rank_position,
                .kind = rank.gpu_work[i]};
      if (communicates) {
        metadata = &communication_.recording.catalog[source.events[collective_event].metadata];
        work.join = collective_event++;  // until the works are sorted
      }
      work.kernel = kernels_.id_of(i, metadata, communication_.recording.catalog);
      result_.works.push_back(work);
    }
  }

  static std::int64_t launch_time(const RankAnalysis& rank, std::uint32_t i, std::int64_t shift) {
    const NodeId call = rank.tree.launched_by.empty() ? kNoNode : rank.tree.launched_by[i];
    if (call == kNoNode || is_graph_replay(*rank.trace, rank.tree, call)) return kUnknownTime;
    return node_start_ns(*rank.trace, rank.tree.nodes[call]) + shift;
  }

  void sort_works(const Rank& rank) {
    const auto begin = result_.works.begin() + rank.first;
    std::stable_sort(begin, result_.works.end(), [](const Work& a, const Work& b) {
      return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
    });
    for (WorkId w = rank.first; w < rank.last; ++w) {
      std::uint32_t& event = result_.works[w].join;
      if (event != kNone) works_of_events_.back()[event] = w;
      event = kNone;
    }
  }

  void link_lanes(const Rank& rank) {
    std::unordered_map<std::uint32_t, WorkId> last;
    for (WorkId w = rank.first; w < rank.last; ++w) {
      const auto [place, is_new] = last.try_emplace(result_.works[w].lane, w);
      if (!is_new) result_.works[w].before = std::exchange(place->second, w);
    }
  }

  // A wait holds up what the host launches on the stream next, until what it had launched on the
  // other stream before the event was recorded.
  void add_recorded_waits(const RankAnalysis& rank) {
    if (rank.trace->stream_waits.empty()) return;
    std::unordered_map<std::int64_t, std::int64_t> called;
    for (const model::RuntimeCall& call : rank.trace->runtime_calls)
      called[call.correlation] = call.start_ns + result_.ranks.back().shift_ns;
    const auto launched = launched_by_stream();
    std::vector<RecordedWait> waits;
    for (const model::StreamWait& wait : rank.trace->stream_waits) {
      const auto waiting = called.find(wait.correlation);
      const auto recording = called.find(wait.record_correlation);
      const auto own = launched.find(wait.stream);
      const auto other = launched.find(wait.other_stream);
      if (waiting == called.end() || recording == called.end() || own == launched.end() ||
          other == launched.end() || wait.stream == wait.other_stream)
        continue;
      const auto next = std::upper_bound(own->second.begin(), own->second.end(),
                                         Launched{waiting->second, kNone});
      const auto last = std::upper_bound(other->second.begin(), other->second.end(),
                                         Launched{recording->second, kNone});
      if (next == own->second.end() || last == other->second.begin()) continue;
      const RecordedWait found{next->second, std::prev(last)->second};
      const bool holds = result_.works[found.work].start_ns >= result_.works[found.other].end_ns;
      if (holds) waits.push_back(found);
    }
    std::sort(waits.begin(), waits.end(), [](const RecordedWait& a, const RecordedWait& b) {
      return std::tie(a.work, a.other) < std::tie(b.work, b.other);
    });
    result_.recorded_waits.insert(result_.recorded_waits.end(), waits.begin(), waits.end());
  }

  using Launched = std::pair<std::int64_t, WorkId>;  // when, and what

  // Returns the works of the last rank whose launch is known, by stream and launch.
  [[nodiscard]] std::map<std::int32_t, std::vector<Launched>> launched_by_stream() const {
    std::map<std::int32_t, std::vector<Launched>> launched;
    for (WorkId w = result_.ranks.back().first; w < result_.ranks.back().last; ++w) {
      const Work& work = result_.works[w];
      if (work.launched_ns != kUnknownTime)
        launched[result_.lanes[work.lane].stream].emplace_back(work.launched_ns, w);
    }
    for (auto& entry : launched)
      std::sort(entry.second.begin(), entry.second.end());
    return launched;
  }

  void note_overlap(const Rank& rank) {
    std::vector<Interval> communication;
    for (WorkId w = rank.first; w < rank.last; ++w) {
      const Work& work = result_.works[w];
      if (work.kind == GpuWork::kCommunication)
        communication.push_back({work.start_ns, work.end_ns});
    }
    communication = merged(std::move(communication));
    std::size_t first = 0;
    for (WorkId w = rank.first; w < rank.last; ++w) {
      Work& work = result_.works[w];
      if (work.kind == GpuWork::kCommunication || work.length_ns() <= 0) continue;
      while (first < communication.size() && communication[first].end <= work.start_ns)
        ++first;
      std::int64_t shared = 0;
      for (std::size_t i = first; i < communication.size() && communication[i].start < work.end_ns;
           ++i)
        shared += std::min(communication[i].end, work.end_ns) -
                  std::max(communication[i].start, work.start_ns);
      work.overlap =
          static_cast<float>(static_cast<double>(shared) / static_cast<double>(work.length_ns()));
    }
  }

  // A collective joins its ranks only if all were inside at one instant.
  void add_joins() {
    std::vector<std::pair<std::int64_t, WorkId>> starts;
    for (const collectives::Collective& collective : communication_.matching.collectives) {
      if (collective.size < 2) continue;
      starts.clear();
      std::int64_t first_end = std::numeric_limits<std::int64_t>::max();
      for (const collectives::Member& member : communication_.matching.members_of(collective)) {
        const WorkId work = works_of_events_[member.rank][member.event];
        starts.emplace_back(result_.works[work].start_ns, work);
        first_end = std::min(first_end, result_.works[work].end_ns);
      }
      std::sort(starts.begin(), starts.end());
      if (starts.back().first > first_end) continue;
      const auto join = static_cast<std::uint32_t>(result_.joins.size());
      result_.joins.push_back({.first = static_cast<std::uint32_t>(result_.members.size()),
                               .size = collective.size,
                               .last_start_ns = starts.back().first,
                               .middle_start_ns = starts[(starts.size() - 1) / 2].first,
                               .last = starts.back().second});
      for (const auto& start : starts) {
        result_.members.push_back(start.second);
        result_.works[start.second].join = join;
      }
    }
  }

  void add_steps() {
    if (result_.works.empty()) return;
    for (const std::int64_t number : common_steps())
      add_step(number);
    result_.has_steps = !result_.steps.empty();
    if (!result_.has_steps) add_whole_window();
    for (std::size_t s = 0; s < result_.steps.size(); ++s)
      average(s);
  }

  [[nodiscard]] std::vector<std::int64_t> common_steps() const {
    std::map<std::int64_t, std::size_t> ranks_with;
    for (const collectives::RankEvents& rank : communication_.recording.ranks)
      for (const Step& step : rank.analysis->steps)
        ++ranks_with[step.number];
    std::vector<std::int64_t> numbers;
    for (const Step& step : communication_.recording.ranks.front().analysis->steps)
      if (ranks_with[step.number] == communication_.recording.ranks.size())
        numbers.push_back(step.number);
    return numbers;
  }

  void add_step(std::int64_t number) {
    result_.steps.push_back({.number = number});
    for (std::size_t r = 0; r < result_.ranks.size(); ++r) {
      const auto& steps = communication_.recording.ranks[r].analysis->steps;
      const auto own = std::find_if(steps.begin(), steps.end(),
                                    [&](const Step& step) { return step.number == number; });
      result_.ranks[r].step_start.push_back(own->window.start + result_.ranks[r].shift_ns);
      result_.ranks[r].step_end.push_back(own->window.end + result_.ranks[r].shift_ns);
    }
  }

  void add_whole_window() {
    result_.steps.push_back({});
    for (Rank& rank : result_.ranks) {
      std::int64_t start = 0;
      std::int64_t end = 0;
      for (WorkId w = rank.first; w < rank.last; ++w) {
        start = w == rank.first ? result_.works[w].start_ns : start;
        end = std::max(end, result_.works[w].end_ns);
      }
      rank.step_start.push_back(start);
      rank.step_end.push_back(end);
    }
  }

  void average(std::size_t s) {
    std::int64_t start = 0;
    std::int64_t end = 0;
    for (const Rank& rank : result_.ranks) {
      start += rank.step_start[s];
      end += rank.step_end[s];
    }
    const auto count = static_cast<std::int64_t>(result_.ranks.size());
    result_.steps[s].start_ns = start / count;
    result_.steps[s].end_ns = end / count;
  }

  Communication communication_;
  std::int64_t origin_ns_ = 0;
  Execution result_;
  KernelTable kernels_{result_.kernels};
  std::vector<std::vector<WorkId>> works_of_events_;  // by rank and event of the recording
};

}  // namespace

Execution execution_of(std::span<const RankAnalysis> ranks) {
  if (ranks.empty()) return {};
  return Builder(ranks).build();
}

}  // namespace assay::trace::path
