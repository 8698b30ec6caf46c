#include "trace/page/step_timeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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

const TimeScale kTime;  // executions are never of the compat mode

const path::RankStep* find_step(const path::Rank& rank, std::int64_t number) {
  for (const path::RankStep& step : rank.own_steps)
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

// Returns for each work whether the critical path runs through it.
std::vector<bool> critical_works(const path::Execution& execution) {
  std::vector<bool> critical(execution.works.size());
  for (const path::Segment& segment : path::critical_path(execution)) {
    const bool runs = segment.part == path::Part::kComputation ||
                      segment.part == path::Part::kCommunication ||
                      segment.part == path::Part::kUnmatched || segment.part == path::Part::kCopy;
    if (runs && segment.work != path::kNone) critical[segment.work] = true;
  }
  return critical;
}

class Builder {
 public:
  Builder(const path::Execution& execution, std::int64_t step)
      : execution_(execution), step_(step), critical_(critical_works(execution)) {}

  report::TimelineChart build() {
    chart_.axis = "ms since the first rank began the step";
    chart_.rows = {{"computation and copies", kComputationColor},
                   {"communication", kCommunicationColor}};
    find_window();
    for (const path::Rank& rank : execution_.ranks) {
      if (const path::RankStep* step = find_step(rank, step_)) add(rank, step->window);
    }
    chart_.names = names_.take();
    return std::move(chart_);
  }

 private:
  void find_window() {
    bool is_first = true;
    std::int64_t end_ns = 0;
    for (const path::Rank& rank : execution_.ranks) {
      const path::RankStep* step = find_step(rank, step_);
      if (step == nullptr) continue;
      const std::int64_t start = rank.shifted(step->window.start);
      const std::int64_t end = rank.shifted(step->window.end);
      start_ns_ = is_first ? start : std::min(start_ns_, start);
      end_ns = is_first ? end : std::max(end_ns, end);
      is_first = false;
    }
    chart_.length_us = kTime.microseconds(end_ns - start_ns_);
  }

  // Returns the works of a rank that share time with `window`, in the order in which the trace has
  // them.
  [[nodiscard]] std::vector<path::WorkId> works_in(const path::Rank& rank,
                                                   const Interval& window) const {
    const Interval shifted{rank.shifted(window.start), rank.shifted(window.end)};
    std::vector<path::WorkId> works;
    for (path::WorkId w = rank.first; w < rank.last; ++w) {
      const path::Work& work = execution_.works[w];
      if (work.start_ns < shifted.end && work.end_ns > shifted.start) works.push_back(w);
    }
    std::sort(works.begin(), works.end(), [&](path::WorkId a, path::WorkId b) {
      return execution_.works[a].event < execution_.works[b].event;
    });
    return works;
  }

  void add(const path::Rank& rank, const Interval& window) {
    report::TimelineLane lane{.name = "rank " + std::to_string(rank.number), .rows = {{}, {}}};
    for (const path::WorkId w : works_in(rank, window)) {
      const path::Work& work = execution_.works[w];
      const bool communicates = work.kind == GpuWork::kCommunication;
      lane.rows[communicates ? 1 : 0].push_back(
          {.start_us = kTime.microseconds(work.start_ns - start_ns_),
           .duration_us = kTime.microseconds(work.length_ns()),
           .name = names_.number(execution_.kernels[work.kernel].name),
           .is_critical = critical_[w]});
    }
    for (auto& spans : lane.rows) {
      std::sort(spans.begin(), spans.end(),
                [](const auto& a, const auto& b) { return a.start_us < b.start_us; });
      limit(spans, chart_.length_us, names_);
    }
    chart_.lanes.push_back(std::move(lane));
  }

  const path::Execution& execution_;
  std::int64_t step_;
  std::vector<bool> critical_;
  std::int64_t start_ns_ = 0;
  Names names_;
  report::TimelineChart chart_;
};

}  // namespace

double step_period_ms(const path::Execution& execution, std::int64_t step) {
  std::vector<double> ranks_ms;
  for (const path::Rank& rank : execution.ranks)
    if (const path::RankStep* own = find_step(rank, step))
      ranks_ms.push_back(kTime.milliseconds(own->period_ns));
  return core::mean(ranks_ms);
}

std::optional<std::int64_t> typical_step(const path::Execution& execution) {
  std::set<std::int64_t> numbers;
  for (const path::Rank& rank : execution.ranks)
    for (const path::RankStep& step : rank.own_steps)
      numbers.insert(step.number);
  if (numbers.empty()) return std::nullopt;
  std::vector<std::pair<double, std::int64_t>> periods;
  for (const std::int64_t number : numbers)
    periods.emplace_back(step_period_ms(execution, number), number);
  std::sort(periods.begin(), periods.end());
  return periods[(periods.size() - 1) / 2].second;
}

report::TimelineChart step_timeline(const path::Execution& execution, std::int64_t step) {
  return Builder(execution, step).build();
}

}  // namespace assay::trace
