#include "trace/page/step_timeline.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/statistics.h"
#include "report/colors.h"
#include "trace/page/colors.h"
#include "trace/path/critical_path.h"

namespace assay::trace {
namespace {

constexpr std::size_t kMostSpans = 6000;  // of one row
constexpr std::size_t kMostNameCharacters = 160;
constexpr double kFirstGapShare = 1e-4;  // of a step: less than a pixel

const Step* find_step(const RankAnalysis& rank, std::int64_t number) {
  for (const Step& step : rank.steps)
    if (step.number == number) return &step;
  return nullptr;
}

// Numbers the names in the order of their first use.
class Names {
 public:
  std::uint32_t number(std::string_view name) {
    const std::string shown(name.substr(0, kMostNameCharacters));
    const auto [found, is_new] = numbers_.emplace(shown, static_cast<std::uint32_t>(list_.size()));
    if (is_new) list_.push_back(shown);
    return found->second;
  }

  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<std::string> list_;
};

// Joins neighbours with less than `gap` between them that are both short.
std::vector<report::TimelineSpan> joined(const std::vector<report::TimelineSpan>& spans,
                                         double gap,
                                         std::uint32_t name) {
  std::vector<report::TimelineSpan> result;
  for (const report::TimelineSpan& span : spans) {
    if (!result.empty()) {
      report::TimelineSpan& last = result.back();
      const double end = last.start_us + last.duration_us;
      const bool is_near = span.start_us - end < gap;
      if (is_near && span.duration_us < 4 * gap && last.duration_us < 16 * gap) {
        last.duration_us = std::max(end, span.start_us + span.duration_us) - last.start_us;
        last.name = name;
        last.is_critical = last.is_critical || span.is_critical;
        continue;
      }
    }
    result.push_back(span);
  }
  return result;
}

void limit(std::vector<report::TimelineSpan>& spans, double length_us, Names& names) {
  for (double gap = kFirstGapShare * length_us; spans.size() > kMostSpans && gap < length_us;
       gap *= 2)
    spans = joined(spans, gap, names.number("several kernels"));
}

class Builder {
 public:
  Builder(std::span<const RankAnalysis> ranks, std::int64_t step, const OnOneClock& clock)
      : ranks_(ranks), step_(step), clock_(clock) {}

  report::TimelineChart build() {
    chart_.axis = "ms since the first rank began the step";
    chart_.rows = {{"computation and copies", kComputationColor},
                   {"communication", kCommunicationColor}};
    find_window();
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (const Step* step = find_step(ranks_[i], step_)) add(i, step->window);
    }
    chart_.names = names_.take();
    return std::move(chart_);
  }

 private:
  void find_window() {
    bool is_first = true;
    double end_us = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const RankAnalysis& rank = ranks_[i];
      const Step* step = find_step(rank, step_);
      if (step == nullptr) continue;
      const double start = rank.time.microseconds(step->window.start) + clock_.shift_us[i];
      const double end = rank.time.microseconds(step->window.end) + clock_.shift_us[i];
      start_us_ = is_first ? start : std::min(start_us_, start);
      end_us = is_first ? end : std::max(end_us, end);
      is_first = false;
    }
    chart_.length_us = end_us - start_us_;
  }

  void add(std::size_t position, const Interval& window) {
    const RankAnalysis& rank = ranks_[position];
    report::TimelineLane lane{.name = "rank " + std::to_string(rank.rank), .rows = {{}, {}}};
    for (std::size_t i = 0; i < rank.gpu_intervals.size(); ++i) {
      const Interval& interval = rank.gpu_intervals[i];
      if (!rank.counted[i] || interval.start >= window.end || interval.end <= window.start)
        continue;
      const bool communicates = rank.gpu_work[i] == GpuWork::kCommunication;
      lane.rows[communicates ? 1 : 0].push_back(
          {.start_us =
               rank.time.microseconds(interval.start) + clock_.shift_us[position] - start_us_,
           .duration_us = rank.time.microseconds(interval.length()),
           .name = names_.number(rank.trace->text(rank.trace->gpu_events[i].name)),
           .is_critical = clock_.critical[position][i]});
    }
    for (auto& spans : lane.rows) {
      std::sort(spans.begin(), spans.end(),
                [](const auto& a, const auto& b) { return a.start_us < b.start_us; });
      limit(spans, chart_.length_us, names_);
    }
    chart_.lanes.push_back(std::move(lane));
  }

  std::span<const RankAnalysis> ranks_;
  std::int64_t step_;
  const OnOneClock& clock_;
  double start_us_ = 0;
  Names names_;
  report::TimelineChart chart_;
};

}  // namespace

std::optional<std::int64_t> typical_step(std::span<const RankAnalysis> ranks) {
  std::map<std::int64_t, std::vector<double>> lengths;
  for (const RankAnalysis& rank : ranks) {
    for (const Step& step : rank.steps)
      lengths[step.number].push_back(rank.time.milliseconds(step.window.length()));
  }
  if (lengths.empty()) return std::nullopt;
  std::vector<std::pair<double, std::int64_t>> means;
  for (const auto& [number, values] : lengths)
    means.emplace_back(core::mean(values), number);
  std::sort(means.begin(), means.end());
  return means[(means.size() - 1) / 2].second;
}

OnOneClock on_one_clock(std::span<const RankAnalysis> ranks) {
  const path::Execution execution = path::execution_of(ranks);
  OnOneClock clock;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    clock.shift_us.push_back(static_cast<double>(execution.ranks[i].shift_ns) / 1000);
    clock.critical.emplace_back(ranks[i].gpu_intervals.size());
  }
  for (const path::Segment& segment : path::critical_path(execution)) {
    const bool runs = segment.part == path::Part::kComputation ||
                      segment.part == path::Part::kCommunication ||
                      segment.part == path::Part::kCopy;
    if (!runs || segment.work == path::kNone) continue;
    const path::Work& work = execution.works[segment.work];
    clock.critical[work.rank][work.event] = true;
  }
  return clock;
}

report::TimelineChart step_timeline(std::span<const RankAnalysis> ranks,
                                    std::int64_t step,
                                    const OnOneClock& clock) {
  return Builder(ranks, step, clock).build();
}

}  // namespace assay::trace
