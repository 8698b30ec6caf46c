#include "trace/path/execution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trace/collectives/clock_offset.h"
#include "trace/collectives/match.h"
#include "trace/collectives/pairs.h"

namespace assay::trace::path {
namespace {

namespace collectives = trace::collectives;

constexpr double kBytesPerMebibyte = 1048576;

// Communication on a shared clock, and which of it belongs together.
struct Communication {
  collectives::Recording recording;
  collectives::Matching matching = {};
  std::vector<collectives::Pair> pairs = {};
  std::vector<Clock> clocks = {};                   // by position in the recording
  std::vector<collectives::ClockFit> removed = {};  // by position in the recording
};

Communication communication_of(std::span<const collectives::RankRecording> ranks) {
  // Each rank is taken for a host of its own, so that each gets an offset.
  Communication result{.recording = collectives::join_ranks(ranks, 1)};
  const collectives::Matching by_order = match_by_order(result.recording);
  const auto offsets = collectives::estimate_rank_offsets(result.recording, by_order);
  collectives::remove_rank_offsets(result.recording, offsets, result.removed);
  result.matching = collectives::match(result.recording, collectives::Kinds::kThatMayJoin);
  result.pairs = collectives::pair_messages(result.recording, by_order);
  for (const auto& rank :
       collectives::rank_offsets(result.recording, result.matching, result.removed))
    result.clocks.push_back({.offset_us = rank.offset_us,
                             .removed_us = rank.removed_us,
                             .drift_ppm = rank.drift_ppm,
                             .residual_us = rank.offset_us - rank.removed_us,
                             .spread_us = rank.spread_us,
                             .samples = rank.samples});
  return result;
}

// Numbers the kernels of a run. Kernels of different ranks are one if they are the same code,
// launch and message.
class KernelTable {
 public:
  explicit KernelTable(std::vector<Kernel>& kernels) : kernels_(kernels) {}

  // `metadata` is that of a collective, or null.
  std::uint32_t id_of(const RankWorks::LocalKernel& local,
                      const collectives::Metadata* metadata,
                      const collectives::Catalog& catalog) {
    const std::string message = message_of(metadata, catalog);
    const auto [place, is_new] =
        numbers_.try_emplace(std::tuple(local.name, local.blocks, local.threads, message),
                             static_cast<std::uint32_t>(kernels_.size()));
    if (!is_new) return place->second;
    Kernel kernel{.name = local.name,
                  .category = local.category,
                  .operator_name = local.operator_name,
                  .blocks = local.blocks,
                  .threads = local.threads,
                  .bytes = std::nan(""),
                  .message = message};
    if (metadata != nullptr) {
      if (metadata->name != 0) kernel.category = catalog.text(metadata->name);
      kernel.bytes = metadata->full_mib * kBytesPerMebibyte *
                     collectives::bus_factor(*metadata, metadata->group_size);
    }
    kernels_.push_back(std::move(kernel));
    return place->second;
  }

 private:
  static std::string message_of(const collectives::Metadata* metadata,
                                const collectives::Catalog& catalog) {
    if (metadata == nullptr) return "";
    std::string message;
    const auto add = [&message](std::string_view part) {
      if (part.empty()) return;
      message += message.empty() ? "" : ", ";
      message += part;
    };
    add(catalog.text(metadata->name));
    add(catalog.text(metadata->dtype));
    if (metadata->in_elements >= 0) add(std::to_string(metadata->in_elements));
    return message;
  }

  std::vector<Kernel>& kernels_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t, std::string>, std::uint32_t>
      numbers_;
};

class Builder {
 public:
  Builder(std::vector<RankWorks> ranks, std::span<const collectives::RankRecording> communication)
      : ranks_(std::move(ranks)), communication_(communication_of(communication)) {
    find_origin();
  }

  Execution build() {
    result_.origin_ns = origin_ns_;
    std::size_t works = 0;
    for (const RankWorks& rank : ranks_)
      works += rank.works.size();
    result_.works.reserve(works);
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      add_rank(r);
    add_joins();
    add_steps();
    return std::move(result_);
  }

 private:
  [[nodiscard]] ClockShift shift_of(std::size_t r) const {
    return {.ahead = communication_.removed[r],
            .since_ns = communication_.recording.time.origin_ns,
            .origin_ns = origin_ns_};
  }

  void find_origin() {
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const ClockShift shifted = shift_of(r);
      for (const Work& work : ranks_[r].works)
        first_ns = std::min(first_ns, shifted(work.start_ns));
    }
    origin_ns_ = first_ns;
  }

  void add_rank(std::size_t r) {
    RankWorks& source = ranks_[r];
    Rank& own = result_.ranks.emplace_back();
    own.number = source.rank;
    own.clock = communication_.clocks[r];
    own.shifted = shift_of(r);
    own.own_steps = std::move(source.steps);
    own.first = static_cast<WorkId>(result_.works.size());
    add_works(source, own.shifted);
    own.last = static_cast<WorkId>(result_.works.size());
    sort_works(own);
    link_lanes(own);
    add_recorded_waits(source);
    note_overlap(own);
  }

  void add_works(RankWorks& source, const ClockShift& shifted) {
    const auto rank_position = static_cast<std::uint16_t>(result_.ranks.size() - 1);
    const auto first_lane = static_cast<std::uint32_t>(result_.lanes.size());
    for (const Lane& lane : source.lanes)
      result_.lanes.push_back({rank_position, lane.device, lane.stream});
    const std::vector<std::uint32_t> kernels = kernels_of(source);
    works_of_events_.emplace_back(communication_.recording.ranks[rank_position].events.size(),
                                  kNone);
    for (Work work : source.works) {
      work.start_ns = shifted(work.start_ns);
      work.end_ns = shifted(work.end_ns);
      if (work.launched_ns != kUnknownTime) work.launched_ns = shifted(work.launched_ns);
      work.kernel = kernels[work.kernel];
      work.lane += first_lane;
      work.rank = rank_position;
      result_.works.push_back(work);
    }
    source.works = {};
  }

  // Returns the numbers of a rank's kernels in the result.
  std::vector<std::uint32_t> kernels_of(const RankWorks& source) {
    const collectives::Catalog& catalog = communication_.recording.catalog;
    const collectives::RankEvents& events =
        communication_.recording.ranks[result_.ranks.size() - 1];
    std::vector<std::uint32_t> numbers;
    for (const RankWorks::LocalKernel& kernel : source.kernels) {
      const collectives::Metadata* metadata =
          kernel.collective == kNone ? nullptr
                                     : &catalog[events.events[kernel.collective].metadata];
      numbers.push_back(kernels_.id_of(kernel, metadata, catalog));
    }
    return numbers;
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
  void add_recorded_waits(const RankWorks& source) {
    if (source.waits.empty()) return;
    const ClockShift& shifted = result_.ranks.back().shifted;
    const auto launched = launched_by_stream();
    std::vector<RecordedWait> waits;
    for (const RankWorks::Called& wait : source.waits) {
      const auto own = launched.find(wait.stream);
      const auto other = launched.find(wait.other_stream);
      if (own == launched.end() || other == launched.end()) continue;
      const auto next = std::upper_bound(own->second.begin(), own->second.end(),
                                         Launched{shifted(wait.waiting_ns), kNone});
      const auto last = std::upper_bound(other->second.begin(), other->second.end(),
                                         Launched{shifted(wait.recording_ns), kNone});
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

  [[nodiscard]] WorkId work_of(const collectives::Member& member) const {
    return works_of_events_[member.rank][member.event];
  }

  void add_joins() {
    const std::set<std::uint32_t> loose = loose_signatures();
    for (const collectives::Collective& collective : communication_.matching.collectives) {
      const std::uint32_t signature =
          communication_.recording.catalog[collective.metadata].signature;
      if (collective.size > 1 && !loose.contains(signature)) add_collective(collective);
    }
    for (const collectives::Pair& pair : communication_.pairs)
      add_message(pair);
  }

  // Returns the signatures of broadcasts and reduces which a rank ever left before another came.
  [[nodiscard]] std::set<std::uint32_t> loose_signatures() const {
    std::set<std::uint32_t> loose;
    for (const collectives::Collective& collective : communication_.matching.collectives) {
      const collectives::Metadata& metadata = communication_.recording.catalog[collective.metadata];
      if (metadata.collective && !collectives::is_matched(metadata) &&
          !is_inside_at_once(collective))
        loose.insert(metadata.signature);
    }
    return loose;
  }

  [[nodiscard]] bool is_inside_at_once(const collectives::Collective& collective) const {
    std::int64_t last_start = std::numeric_limits<std::int64_t>::min();
    std::int64_t first_end = std::numeric_limits<std::int64_t>::max();
    for (const collectives::Member& member : communication_.matching.members_of(collective)) {
      last_start = std::max(last_start, result_.works[work_of(member)].start_ns);
      first_end = std::min(first_end, result_.works[work_of(member)].end_ns);
    }
    return last_start <= first_end;
  }

  // A collective joins its ranks only if all were inside at one instant.
  void add_collective(const collectives::Collective& collective) {
    if (!is_inside_at_once(collective)) return;
    std::vector<WorkId> works;
    for (const collectives::Member& member : communication_.matching.members_of(collective))
      works.push_back(work_of(member));
    Join& join = add_join(std::move(works));
    join.middle_start_ns =
        result_.works[result_.members[join.first + (join.size - 1) / 2]].start_ns;
    join.lacks_ranks = may_lack_ranks(collective);
  }

  // The size of a group is not recorded in replayed graphs.
  [[nodiscard]] bool may_lack_ranks(const collectives::Collective& collective) const {
    const collectives::Recording& recording = communication_.recording;
    const std::int32_t group_size = recording.catalog[collective.metadata].group_size;
    if (group_size > 0) return group_size > static_cast<std::int32_t>(collective.size);
    return recording.world_size > static_cast<std::int32_t>(recording.ranks.size());
  }

  // A receive cannot end before its send has begun. The two ends of a message do not straggle: one
  // waits for what the other computes.
  void add_message(const collectives::Pair& pair) {
    const WorkId send = work_of(pair.send);
    const WorkId receive = work_of(pair.receive);
    if (result_.works[receive].end_ns < result_.works[send].start_ns) return;
    Join& join = add_join({send, receive});
    join.middle_start_ns = join.last_start_ns;
    if (pair.is_buffered) join.sender = send;
  }

  Join& add_join(std::vector<WorkId> works) {
    std::sort(works.begin(), works.end(), [this](WorkId a, WorkId b) {
      return std::tie(result_.works[a].start_ns, a) < std::tie(result_.works[b].start_ns, b);
    });
    for (const WorkId work : works)
      result_.works[work].join = static_cast<std::uint32_t>(result_.joins.size());
    result_.joins.push_back({.first = static_cast<std::uint32_t>(result_.members.size()),
                             .size = static_cast<std::uint32_t>(works.size()),
                             .last_start_ns = result_.works[works.back()].start_ns,
                             .last = works.back()});
    result_.members.insert(result_.members.end(), works.begin(), works.end());
    return result_.joins.back();
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
    for (const Rank& rank : result_.ranks)
      for (const RankStep& step : rank.own_steps)
        ++ranks_with[step.number];
    std::vector<std::int64_t> numbers;
    for (const RankStep& step : result_.ranks.front().own_steps)
      if (ranks_with[step.number] == result_.ranks.size()) numbers.push_back(step.number);
    return numbers;
  }

  void add_step(std::int64_t number) {
    result_.steps.push_back({.number = number});
    std::int64_t periods_ns = 0;
    for (std::size_t r = 0; r < result_.ranks.size(); ++r) {
      const auto& steps = result_.ranks[r].own_steps;
      const auto own = std::find_if(steps.begin(), steps.end(),
                                    [&](const RankStep& step) { return step.number == number; });
      Rank& rank = result_.ranks[r];
      rank.step_start.push_back(rank.shifted(own->window.start));
      rank.step_end.push_back(rank.shifted(own->window.end));
      rank.step_last.push_back(work_that_ends(rank, rank.shifted(own->work_end)));
      periods_ns += own->period_ns;
    }
    result_.steps.back().period_ns = periods_ns / static_cast<std::int64_t>(result_.ranks.size());
  }

  [[nodiscard]] WorkId work_that_ends(const Rank& rank, std::int64_t end_ns) const {
    for (WorkId w = rank.last; w > rank.first; --w)
      if (result_.works[w - 1].end_ns == end_ns) return w - 1;
    return kNone;
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
      rank.step_last.push_back(kNone);
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
    StepMark& step = result_.steps[s];
    step.start_ns = start / count;
    step.end_ns = end / count;
    if (!result_.has_steps) step.period_ns = step.length_ns();
  }

  std::vector<RankWorks> ranks_;
  Communication communication_;
  std::int64_t origin_ns_ = 0;
  Execution result_;
  KernelTable kernels_{result_.kernels};
  std::vector<std::vector<WorkId>> works_of_events_;  // by rank and event of the recording
};

}  // namespace

std::vector<bool> Execution::whole_steps(std::vector<bool> counts) const {
  if (!is_last_step_odd()) return counts;
  const auto last = counts.end() - 1;
  if (std::find(counts.begin(), last, true) != last) counts.back() = false;
  return counts;
}

Execution execution_of(std::vector<RankWorks> ranks,
                       std::span<const collectives::RankRecording> communication) {
  if (ranks.empty()) return {};
  return Builder(std::move(ranks), communication).build();
}

Execution execution_of(std::span<const RankAnalysis> ranks) {
  std::vector<const RankAnalysis*> by_rank;
  for (const RankAnalysis& rank : ranks)
    by_rank.push_back(&rank);
  std::stable_sort(by_rank.begin(), by_rank.end(),
                   [](const RankAnalysis* a, const RankAnalysis* b) { return a->rank < b->rank; });
  std::vector<RankWorks> works;
  std::vector<collectives::RankRecording> communication;
  for (const RankAnalysis* rank : by_rank) {
    communication.push_back(collectives::record_rank(*rank));
    works.push_back(record_works(*rank, communication.back()));
  }
  return execution_of(std::move(works), communication);
}

}  // namespace assay::trace::path
