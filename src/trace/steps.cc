#include "trace/steps.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace assay::trace {
namespace {

Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.start, b.start), std::max(a.end, b.end)};
}

Interval range_of(const model::Annotation& annotation) {
  return {annotation.start_ns, annotation.start_ns + annotation.duration_ns};
}

}  // namespace

std::optional<std::int64_t> profiler_step_number(std::string_view annotation) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  if (!annotation.starts_with(kPrefix)) return std::nullopt;
  annotation.remove_prefix(kPrefix.size());
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(annotation.data(), annotation.data() + annotation.size(), number);
  if (error != std::errc() || end != annotation.data() + annotation.size()) return std::nullopt;
  return number;
}

ProfilerSteps::ProfilerSteps(const model::Trace& trace) {
  take_profiler_steps(trace);
  if (steps_.empty()) take_serving_steps(trace);
  end_ns_ = std::numeric_limits<std::int64_t>::min();
  for (const Annotated& step : steps_)
    end_ns_ = std::max(end_ns_, step.range_ns.end);
  if (serve() || side_ == Side::kGpu) end_ns_ = std::numeric_limits<std::int64_t>::max();
}

void ProfilerSteps::take_profiler_steps(const model::Trace& trace) {
  std::vector<Annotated> on_cpu;
  std::vector<Annotated> on_gpu;
  for (const model::Annotation& a : trace.annotations) {
    const auto number = profiler_step_number(trace.text(a.name));
    if (number) (a.on_gpu ? on_gpu : on_cpu).push_back({*number, range_of(a)});
  }
  choose_side(std::move(on_cpu), std::move(on_gpu));
  if (side_ == Side::kGpu) keep_first_of_each_number();
}

void ProfilerSteps::take_serving_steps(const model::Trace& trace) {
  std::map<ServingStyle, std::pair<std::vector<Annotated>, std::vector<Annotated>>> styles;
  for (const model::Annotation& a : trace.annotations) {
    const auto serving = serving_annotation(trace.text(a.name));
    if (!serving) continue;
    auto& [on_cpu, on_gpu] = styles[serving->style];
    (a.on_gpu ? on_gpu : on_cpu).push_back({0, range_of(a), serving->label});
  }
  if (styles.empty()) return;
  auto& [on_cpu, on_gpu] = styles.begin()->second;
  choose_side(std::move(on_cpu), std::move(on_gpu));
  number_outermost();
}

void ProfilerSteps::choose_side(std::vector<Annotated> on_cpu, std::vector<Annotated> on_gpu) {
  side_ = on_cpu.empty() && !on_gpu.empty() ? Side::kGpu : Side::kCpu;
  steps_ = side_ == Side::kGpu ? std::move(on_gpu) : std::move(on_cpu);
  std::stable_sort(steps_.begin(), steps_.end(), [](const Annotated& a, const Annotated& b) {
    return a.range_ns.start < b.range_ns.start;
  });
}

// An engine annotates the parts of a run, too: a run of the draft model within a step. The GPU has
// a range for each stream.
void ProfilerSteps::number_outermost() {
  std::vector<Annotated> outermost;
  for (Annotated& step : steps_) {
    if (!outermost.empty() && step.range_ns.start < outermost.back().range_ns.end) continue;
    step.number = static_cast<std::int64_t>(outermost.size());
    outermost.push_back(step);
  }
  steps_ = std::move(outermost);
}

// The GPU has a range for each stream of a step.
void ProfilerSteps::keep_first_of_each_number() {
  std::set<std::int64_t> seen;
  std::erase_if(steps_, [&](const Annotated& step) { return !seen.insert(step.number).second; });
}

std::optional<std::size_t> ProfilerSteps::find(std::int64_t time_ns) const {
  if (time_ns >= end_ns_) return std::nullopt;
  const auto after = std::upper_bound(
      steps_.begin(), steps_.end(), time_ns,
      [](std::int64_t time, const Annotated& step) { return time < step.range_ns.start; });
  if (after == steps_.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - steps_.begin()) - 1;
}

Interval ProfilerSteps::range_ns(std::size_t step) const {
  const std::int64_t start = steps_[step].range_ns.start;
  return {start, step + 1 < steps_.size() ? steps_[step + 1].range_ns.start : end_ns_};
}

std::int64_t ProfilerSteps::overlapping() const {
  if (side_ == Side::kGpu) return 0;
  std::int64_t count = 0;
  for (std::size_t i = 1; i < steps_.size(); ++i) {
    const Annotated& before = steps_[i - 1];
    if (steps_[i].number == before.number || steps_[i].range_ns.start < before.range_ns.end)
      ++count;
  }
  return count;
}

StepWindows::StepWindows(const ProfilerSteps& steps) : annotated_(steps), windows_(steps.size()) {}

void StepWindows::extend(std::size_t step, const Interval& work) {
  if (work.length() == 0) return;
  std::optional<Interval>& window = windows_[step];
  window = window ? hull(*window, work) : work;
}

std::vector<Step> StepWindows::steps() const {
  std::map<std::int64_t, Step> by_number;
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (!windows_[i]) continue;
    const Step step{
        .number = annotated_.number(i), .window = *windows_[i], .label = annotated_.label(i)};
    const auto [found, inserted] = by_number.try_emplace(step.number, step);
    if (!inserted) found->second.window = hull(found->second.window, step.window);
    end = std::max(end, windows_[i]->end);
  }
  std::vector<Step> steps;
  for (auto& [number, step] : by_number) {
    step.work_end = step.window.end;
    steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.window.start < b.window.start; });
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i].window.end = i + 1 < steps.size() ? steps[i + 1].window.start : end;
  return steps;
}

}  // namespace assay::trace
