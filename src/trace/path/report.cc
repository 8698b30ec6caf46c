#include "trace/path/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "trace/path/late_hosts.h"

namespace assay::trace::path {
namespace {

using model::Better;
using model::Cell;
using model::Table;

constexpr double kNanosecondsPerMillisecond = 1e6;
constexpr double kNanosecondsPerMicrosecond = 1e3;
// Late hosts of a smaller share of the path are not told.
constexpr double kLeastTold = 0.01;

double milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) / kNanosecondsPerMillisecond;
}

Cell step_cell(const Execution& execution, std::size_t step) {
  if (!execution.has_steps) return "all";
  return execution.steps[step].number;
}

// The steps that the means are of.
struct MeantSteps {
  std::vector<bool> counts;  // the steady ones
  std::vector<bool> whole;   // those of them of which the trace has all
};

MeantSteps meant_steps(const Execution& execution, const std::set<std::int64_t>& steady) {
  MeantSteps meant;
  for (const StepMark& step : execution.steps)
    meant.counts.push_back(steady.contains(step.number));
  if (std::find(meant.counts.begin(), meant.counts.end(), true) == meant.counts.end())
    meant.counts.assign(meant.counts.size(), true);
  meant.whole = execution.whole_steps(meant.counts);
  return meant;
}

// Names the steps that the means leave out; "" for none.
std::string left_out_in_words(const Execution& execution, const MeantSteps& meant) {
  std::vector<std::string> transient;
  for (std::size_t s = 0; s < meant.counts.size(); ++s)
    if (!meant.counts[s]) transient.push_back(std::to_string(execution.steps[s].number));
  std::vector<std::string> texts;
  if (transient.size() == 1)
    texts.push_back(fmt::format("step {}, which is not steady", transient.front()));
  if (transient.size() > 1)
    texts.push_back(fmt::format("steps {}, which are not steady", core::join(transient, ", ")));
  if (meant.counts.back() && !meant.whole.back())
    texts.push_back(
        fmt::format("step {}, which ends with the trace and not where a next one begins",
                    execution.steps.back().number));
  return texts.empty() ? "" : fmt::format("The mean leaves out {}.", core::join(texts, ", and "));
}

void add_composition(Table& table, Cell name, const Composition& parts, std::int64_t length_ns) {
  std::vector<Cell> row{std::move(name), milliseconds(length_ns)};
  for (const std::int64_t ns : parts)
    row.emplace_back(milliseconds(ns));
  table.add_row(std::move(row));
}

// Returns "Of 34.95 ms a step, 24.1 are computation (69 %), …", the largest part first.
std::string in_words(const Composition& mean_parts, std::int64_t length_ns) {
  std::vector<std::pair<std::int64_t, std::string_view>> parts;
  for (std::size_t p = 0; p < mean_parts.size(); ++p)
    if (mean_parts[p] > 0) parts.emplace_back(mean_parts[p], kPartNames[p]);
  std::sort(parts.rbegin(), parts.rend());
  std::string text = fmt::format("{:.4g} ms a step on the critical path:", milliseconds(length_ns));
  for (const auto& [ns, name] : parts)
    text += fmt::format("{} {} {:.3g} ms ({:.1f} %)", name == parts.front().second ? "" : ",", name,
                        milliseconds(ns),
                        100 * static_cast<double>(ns) / static_cast<double>(length_ns));
  return text + ".";
}

Table steps_table(const Execution& execution,
                  const std::vector<Segment>& path,
                  const std::vector<bool>& meant) {
  Table table{
      .name = "critical_path_steps",
      .title = "What decides the length of a step, over all ranks: parts add up to it",
      .columns = {{.name = "step"}, {.name = "step ms", .unit = "ms", .better = Better::kLower}}};
  const char* meanings[] = {
      "kernels that compute",
      "from the arrival of the last rank on; of a message, of its later end",
      "what is not matched across all of its ranks: transfer, or a wait for a rank",
      "copies and their kernels",
      "the GPU waits for its next launch",
      "half of the ranks wait in a collective for the last one",
      "between kernels, for no known reason"};
  for (std::size_t p = 0; p < kPartNames.size(); ++p)
    table.columns.push_back({.name = std::string(kPartNames[p]) + " ms",
                             .unit = "ms",
                             .better = Better::kLower,
                             .description = meanings[p]});
  const std::vector<Composition> steps = compositions(execution, path);
  Composition sum{};
  std::int64_t length_ns = 0;
  std::int64_t count = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    add_composition(table, step_cell(execution, s), steps[s], execution.steps[s].length_ns());
    if (!meant[s]) continue;
    ++count;
    length_ns += execution.steps[s].length_ns();
    for (std::size_t p = 0; p < sum.size(); ++p)
      sum[p] += steps[s][p];
  }
  if (count == 0 || length_ns == 0) return table;
  for (std::int64_t& part : sum)
    part /= count;
  if (steps.size() > 1) add_composition(table, "mean", sum, length_ns / count);
  table.notes.push_back(in_words(sum, length_ns / count));
  return table;
}

// Returns "Others wait 5.01 ms a step for rank 0, …" for each rank whose host is late.
std::vector<std::string> late_hosts_in_words(const Execution& execution,
                                             const std::vector<Segment>& path,
                                             const std::vector<bool>& meant) {
  const auto steps = static_cast<double>(std::count(meant.begin(), meant.end(), true));
  double length_ns = 0;
  for (std::size_t s = 0; s < meant.size(); ++s)
    if (meant[s]) length_ns += static_cast<double>(execution.steps[s].length_ns());
  std::vector<std::string> sentences;
  for (const LateHost& late : late_hosts(execution, path, meant)) {
    if (static_cast<double>(late.host_ns) < kLeastTold * length_ns) break;
    const auto per_step = [steps](std::int64_t ns) { return milliseconds(ns) / steps; };
    std::string text = fmt::format(
        "Others wait {:.3g} ms a step for rank {}, {:.3g} ms of it because its host launched late",
        per_step(late.waited_ns), execution.ranks[late.rank].number, per_step(late.host_ns));
    if (static_cast<double>(late.told_too_ns) >= kLeastTold * length_ns)
      text += fmt::format(
          "; {:.3g} ms of 'host launch' are this same delay where it arose, not a further one",
          per_step(late.told_too_ns));
    sentences.push_back(text + ".");
  }
  return sentences;
}

struct OnPath {
  std::int64_t ns = 0;
  std::int64_t straggling_ns = 0;
  std::int64_t segments = 0;
};

using KernelRow = std::tuple<std::string_view, std::string_view, std::string_view>;

Table kernels_table(const Execution& execution,
                    const std::vector<Segment>& path,
                    const std::vector<bool>& meant) {
  Table table{.name = "critical_path_kernels",
              .title = "Kernels on the critical path, longest first",
              .columns = {{.name = "category"},
                          {.name = "kernel"},
                          {.name = "message", .description = "of a collective"},
                          {.name = "ms per step",
                           .unit = "ms",
                           .better = Better::kLower,
                           .description = "mean of the steps that the mean step is of"},
                          {.name = "of that straggling ms",
                           .unit = "ms",
                           .better = Better::kLower,
                           .description = "while half of the ranks wait in a collective"},
                          {.name = "share %", .unit = "%"},
                          {.name = "segments"}}};
  std::map<KernelRow, OnPath> rows;
  std::int64_t total_ns = 0;
  for (const Segment& segment : path) {
    if (!meant[static_cast<std::size_t>(segment.step)]) continue;
    total_ns += segment.length_ns();
    if (segment.cause == Part::kHost || segment.cause == Part::kIdle) continue;
    const Kernel& kernel = execution.kernels[execution.works[segment.work].kernel];
    OnPath& row = rows[{kernel.category, kernel.name, kernel.message}];
    row.ns += segment.length_ns();
    if (segment.part == Part::kStraggler) row.straggling_ns += segment.length_ns();
    ++row.segments;
  }
  std::vector<std::pair<KernelRow, OnPath>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  const auto steps = static_cast<double>(std::count(meant.begin(), meant.end(), true));
  for (const auto& [key, row] : sorted)
    table.add_row({std::string(std::get<0>(key)), std::string(std::get<1>(key)),
                   std::string(std::get<2>(key)), milliseconds(row.ns) / steps,
                   milliseconds(row.straggling_ns) / steps,
                   100 * static_cast<double>(row.ns) / static_cast<double>(total_ns),
                   row.segments});
  return table;
}

Table segments_table(const Execution& execution, const std::vector<Segment>& path) {
  Table table{.name = "critical_path_segments",
              .title = "The critical path in order of time, on the first rank's clock",
              .columns = {{.name = "step"},
                          {.name = "start us", .unit = "us"},
                          {.name = "length us", .unit = "us", .better = Better::kLower},
                          {.name = "rank"},
                          {.name = "stream"},
                          {.name = "part"},
                          {.name = "meanwhile", .description = "what the straggler did"},
                          {.name = "kernel"}}};
  for (const Segment& segment : path) {
    const Work& work = execution.works[segment.work];
    const bool straggles = segment.part == Part::kStraggler;
    table.add_row({step_cell(execution, static_cast<std::size_t>(segment.step)),
                   static_cast<double>(segment.start_ns) / kNanosecondsPerMicrosecond,
                   static_cast<double>(segment.length_ns()) / kNanosecondsPerMicrosecond,
                   std::int64_t{execution.ranks[segment.rank].number},
                   std::int64_t{execution.lanes[work.lane].stream},
                   std::string(kPartNames[static_cast<std::size_t>(segment.part)]),
                   straggles
                       ? Cell(std::string(kPartNames[static_cast<std::size_t>(segment.cause)]))
                       : Cell(),
                   execution.kernels[work.kernel].name});
  }
  return table;
}

Table clocks_table(const Execution& execution) {
  Table table{
      .name = "clock_alignment",
      .title =
          "How far each rank's clock is ahead of the first rank's, from the ends of "
          "collectives",
      .columns = {{.name = "rank"},
                  {.name = "offset us", .unit = "us", .description = "as estimated"},
                  {.name = "removed us",
                   .unit = "us",
                   .description = "the ranks of a host share a clock, so what is within "
                                  "its own noise stays; where the clock drifts, that in the "
                                  "middle of the collectives"},
                  {.name = "drift ppm",
                   .description = "microseconds that the clock gains in a second, removed "
                                  "as well; 0 where none is certain"},
                  {.name = "residual us",
                   .unit = "us",
                   .description = "median of this rank's ends less those of all, after "
                                  "that"},
                  {.name = "spread us", .unit = "us", .description = "of the residuals"},
                  {.name = "collectives"}}};
  for (const Rank& rank : execution.ranks)
    table.add_row({std::int64_t{rank.number}, rank.clock.offset_us, rank.clock.removed_us,
                   rank.clock.drift_ppm, rank.clock.residual_us, rank.clock.spread_us,
                   rank.clock.samples});
  return table;
}

}  // namespace

model::Book path_report(const Execution& execution,
                        const std::vector<Segment>& path,
                        const std::set<std::int64_t>& steady) {
  const MeantSteps meant = meant_steps(execution, steady);
  model::Book book{.title = "Critical path of all ranks",
                   .tables = {steps_table(execution, path, meant.whole),
                              kernels_table(execution, path, meant.whole),
                              segments_table(execution, path), clocks_table(execution)}};
  for (std::string& sentence : late_hosts_in_words(execution, path, meant.whole))
    book.tables.front().notes.push_back(std::move(sentence));
  if (std::string left_out = left_out_in_words(execution, meant); !left_out.empty())
    book.tables.front().notes.push_back(std::move(left_out));
  return book;
}

}  // namespace assay::trace::path
