#include "trace/split/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/text.h"
#include "trace/call_tree.h"
#include "trace/steps.h"
#include "trace/unlinked_work.h"

namespace assay::trace {
namespace {

constexpr std::size_t kMostPieces = 10'000;

bool chosen(const std::vector<StepRange>& ranges, std::int64_t step) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const StepRange& range) {
           return range.first <= step && step <= range.last;
         });
}

// Returns whether a name fits a pattern in which * stands for any text.
bool fits_pattern(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // The text up to the next star may be taken where it comes first; the last must end the name.
  while (true) {
    const std::size_t next = pattern.find('*');
    if (next == std::string_view::npos) return name.ends_with(pattern);
    const std::size_t found = name.find(pattern.substr(0, next));
    if (found == std::string_view::npos) return false;
    name.remove_prefix(found + next);
    pattern.remove_prefix(next + 1);
  }
}

// Returns text that can be part of a file's name.
std::string as_file_name(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string name;
  for (const char c : text.substr(0, kLongest)) {
    const bool plain = core::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.';
    if (plain)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return name.empty() ? "annotation" : name;
}

std::string label_name(const ServingLabel& label) {
  std::string name(phase_name(label.phase));
  if (label.requests >= 0) name += fmt::format("_bs{}", label.requests);
  return name;
}

std::string label_text(const ServingLabel& label) {
  std::string text(phase_name(label.phase));
  if (label.requests >= 0) text += fmt::format(", batch size {}", label.requests);
  return text;
}

std::string range_name(const std::vector<StepRange>& ranges) {
  if (ranges.empty()) return "all_steps";
  std::string name = "steps";
  for (const StepRange& range : ranges)
    name += range.first == range.last ? fmt::format("_{}", range.first)
                                      : fmt::format("_{}-{}", range.first, range.last);
  return name.substr(0, 80);
}

struct NameAndText {
  std::string name;
  std::string text;
};

NameAndText named_step(const ProfilerSteps& steps, std::size_t i, const SplitChoice& choice) {
  if (choice.by == SplitBy::kRange) return {range_name(choice.steps), "steps"};
  const auto& label = steps.label(i);
  if (choice.by == SplitBy::kPhase)
    return {std::string(phase_name(label->phase)), std::string(phase_name(label->phase))};
  const std::string number = fmt::format("step_{}", steps.number(i));
  if (!label) return {number, fmt::format("ProfilerStep#{}", steps.number(i))};
  return {number + "_" + label_name(*label),
          fmt::format("step {}: {}", steps.number(i), label_text(*label))};
}

}  // namespace

core::Result<SplitPlan> SplitPlan::make(const model::Trace& trace, const SplitChoice& choice) {
  SplitPlan plan;
  ASSAY_TRY(choice.annotation.empty() ? plan.add_steps(trace, choice)
                                      : plan.add_annotations(trace, choice));
  if (plan.pieces_.empty())
    return core::Error{fmt::format("'{}' has none of the chosen steps", trace.path)};
  if (plan.pieces_.size() > kMostPieces)
    return core::Error{fmt::format("'{}' would be split into {} traces; choose some with --steps",
                                   trace.path, plan.pieces_.size())};
  plan.assign_gpu_work(trace);
  return plan;
}

core::Status SplitPlan::add_steps(const model::Trace& trace, const SplitChoice& choice) {
  const ProfilerSteps steps(trace);
  if (steps.empty())
    return core::Error{fmt::format(
        "'{}' has no steps (ProfilerStep, or annotations of a serving engine) to split by; name "
        "annotations with --annotation",
        trace.path)};
  if (steps.side() == ProfilerSteps::Side::kGpu)
    return core::Error{fmt::format(
        "'{}' names its steps on the GPU only, so what launched their work is not known",
        trace.path)};
  if (choice.by == SplitBy::kPhase && !steps.serve())
    return core::Error{fmt::format("'{}' has steps of training, which have no phases", trace.path)};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!chosen(choice.steps, steps.number(i))) continue;
    const NameAndText step = named_step(steps, i, choice);
    add_stretch(steps.range_ns(i), step.name, step.text);
  }
  return {};
}

core::Status SplitPlan::add_annotations(const model::Trace& trace, const SplitChoice& choice) {
  if (choice.by == SplitBy::kPhase)
    return core::Error{"only the steps of a serving engine have phases, not named annotations"};
  std::vector<const model::Annotation*> found;
  for (const model::Annotation& a : trace.annotations)
    if (!a.on_gpu && fits_pattern(choice.annotation, trace.text(a.name))) found.push_back(&a);
  if (found.empty())
    return core::Error{
        fmt::format("'{}' has no annotation '{}' on the CPU", trace.path, choice.annotation)};
  std::stable_sort(found.begin(), found.end(),
                   [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  std::int64_t end_ns = found.front()->start_ns;
  std::int64_t position = -1;
  for (const model::Annotation* annotation : found) {
    // One inside another is a part of it.
    if (annotation->start_ns < end_ns) continue;
    end_ns = annotation->start_ns + annotation->duration_ns;
    if (!chosen(choice.steps, ++position)) continue;
    const std::string_view text = trace.text(annotation->name);
    const std::string name = choice.by == SplitBy::kRange
                                 ? as_file_name(choice.annotation)
                                 : fmt::format("{}_{}", as_file_name(text), position);
    add_stretch({annotation->start_ns, end_ns}, name, core::printable_line(text));
  }
  return {};
}

void SplitPlan::add_stretch(const Interval& cpu_ns,
                            const std::string& name,
                            const std::string& what) {
  const auto [found, inserted] = by_name_.try_emplace(name, pieces_.size());
  if (inserted) pieces_.push_back({.name = name, .what = what});
  ++pieces_[found->second].steps;
  stretches_.push_back({cpu_ns, found->second});
}

void SplitPlan::assign_gpu_work(const model::Trace& trace) {
  const CallTree tree = build_call_tree(trace);
  std::vector<std::optional<std::int64_t>> launched_ns(trace.gpu_events.size());
  for (std::size_t i = 0; i < launched_ns.size(); ++i)
    if (const NodeId call = tree.launched_by[i]; call != kNoNode)
      launched_ns[i] = node_start_ns(trace, tree.nodes[call]);
  for (const UnlinkedWork& work : find_unlinked_work(trace, tree))
    launched_ns[work.event] = work.launched_after_ns;
  for (std::uint32_t i = 0; i < trace.gpu_events.size(); ++i) {
    if (!launched_ns[i]) continue;
    const Stretch* stretch = at(*launched_ns[i]);
    if (stretch == nullptr) continue;
    const model::GpuEvent& event = trace.gpu_events[i];
    by_uid_[event.uid] = stretch->piece;
    if (event.correlation >= 0) by_correlation_[event.correlation] = stretch->piece;
    Piece& piece = pieces_[stretch->piece];
    ++piece.gpu_events;
    piece.gpu_ns += event.duration_ns;
    auto& window = stretches_[static_cast<std::size_t>(stretch - stretches_.data())].gpu_ns;
    const Interval work{event.start_ns, event.start_ns + event.duration_ns};
    if (!window) window = work;
    window = Interval{std::min(window->start, work.start), std::max(window->end, work.end)};
  }
}

const SplitPlan::Stretch* SplitPlan::at(std::int64_t time_ns) const {
  const auto after =
      std::upper_bound(stretches_.begin(), stretches_.end(), time_ns,
                       [](std::int64_t time, const Stretch& s) { return time < s.cpu_ns.start; });
  if (after == stretches_.begin()) return nullptr;
  const Stretch& stretch = *std::prev(after);
  return time_ns < stretch.cpu_ns.end ? &stretch : nullptr;
}

// Work of two steps may overlap. The later step is meant, as in gpu_timeline_steps.
SplitPlan::Target SplitPlan::on_gpu(std::int64_t time_ns) const {
  for (auto stretch = stretches_.rbegin(); stretch != stretches_.rend(); ++stretch)
    if (stretch->gpu_ns && stretch->gpu_ns->start <= time_ns && time_ns < stretch->gpu_ns->end)
      return {Target::Kind::kOne, stretch->piece};
  return {};
}

SplitPlan::Target SplitPlan::target_of(const RawEvent& event, std::uint32_t uid) const {
  if (event.phase == "\"M\"") return {Target::Kind::kAll};
  const std::string_view category = event.category;
  if (category == "\"ac2g\"") {
    const auto found = by_correlation_.find(integer(event.id).value);
    return found == by_correlation_.end() ? Target{} : Target{Target::Kind::kOne, found->second};
  }
  if (category == "\"kernel\"" || category == "\"gpu_memcpy\"" || category == "\"gpu_memset\"") {
    const auto found = by_uid_.find(uid);
    return found == by_uid_.end() ? Target{} : Target{Target::Kind::kOne, found->second};
  }
  const Number start = nanoseconds(event.ts);
  if (!start.usable()) return {};
  if (category == "\"gpu_user_annotation\"") return on_gpu(start.value);
  const Stretch* stretch = at(start.value);
  return stretch == nullptr ? Target{} : Target{Target::Kind::kOne, stretch->piece};
}

}  // namespace assay::trace
