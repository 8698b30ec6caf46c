#include "trace/diff/diff_book.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/step_states.h"
#include "trace/compare/step_words.h"
#include "trace/diff/kernel_uses.h"
#include "trace/diff/path_tree.h"
#include "trace/modules.h"

namespace assay::trace {
namespace {

using model::Better;
using model::Cell;

constexpr std::size_t kKernelCharacters = 60;  // of a name in a sentence or on a terminal
// "Memcpy HtoD (Pageable -> Device) replaced by Memcpy HtoD (Pinned -> Device)" is whole.
constexpr std::size_t kReplacedCharacters = 80;
constexpr std::size_t kCausesNamed = 3;
constexpr const char* kWaitForRanks = " (wait for other ranks)";
constexpr double kNanosecondsPerMs = 1e6;

// What the means of one side are of.
struct SideSteps {
  std::set<std::int64_t> steady;  // as in a comparison of runs
  double period_ms = 0;           // their mean
  std::string transients;         // the others, in a sentence; "" for none
};

SideSteps steps_of(const Configuration& run) {
  SideSteps steps{.steady = {}, .period_ms = 0, .transients = transients_in_words(run)};
  std::vector<double> periods_ms;
  for (const StepState& state : step_states(run)) {
    if (!state.is_steady) continue;
    steps.steady.insert(state.step);
    periods_ms.push_back(state.period_ms);
  }
  steps.period_ms = core::mean(periods_ms);
  return steps;
}

// Times of one side, means over ranks and steady steps.
struct WindowTimes {
  double window_ms = 0;   // of each step
  double kernels_ms = 0;  // of all kernels, summed
  bool steps = false;
};

// Returns how long it is from a step's first to its last GPU work, without the wait for the next
// one. A trace without steps counts as one.
double mean_work_ms(const RankAnalysis& rank, const std::set<std::int64_t>& steps) {
  if (rank.steps.empty()) return rank.total_time_us / 1000;
  std::vector<double> lengths_ms;
  for (const Step& step : rank.steps)
    if (steps.contains(step.number))
      lengths_ms.push_back(static_cast<double>(step.work_end - step.window.start) /
                           kNanosecondsPerMs);
  return core::mean(lengths_ms);
}

// A single step has no period: nobody recorded its wait for the next one.
bool has_periods(const DiffSide& side) {
  return std::all_of(side.ranks.begin(), side.ranks.end(),
                     [](const RankAnalysis& rank) { return rank.steps.size() > 1; });
}

double mean_work_ms(const DiffSide& side, const std::set<std::int64_t>& steps) {
  std::vector<double> ranks_ms;
  for (const RankAnalysis& rank : side.ranks)
    if (const double ms = mean_work_ms(rank, steps); !std::isnan(ms)) ranks_ms.push_back(ms);
  return core::mean(ranks_ms);
}

WindowTimes window_times(const DiffSide& side,
                         const SideSteps& steps,
                         std::span<const KernelUse> uses,
                         bool by_period) {
  WindowTimes times{.window_ms = by_period ? steps.period_ms : mean_work_ms(side, steps.steady)};
  times.steps = std::all_of(side.ranks.begin(), side.ranks.end(),
                            [](const RankAnalysis& rank) { return !rank.steps.empty(); });
  for (const KernelUse& use : uses)
    times.kernels_ms += use.time_us / 1000;
  return times;
}

std::string shortened(const std::string& text, std::size_t characters = kKernelCharacters) {
  std::string clean = core::printable_line(text);
  if (core::character_count(clean) <= characters) return clean;
  return std::string(core::first_characters(clean, characters - 1)) + "…";
}

// Copies and fills have names such as "Memcpy HtoD (Pageable -> Device)" and "Memset (Device)".
bool names_memory(std::string_view kernel) {
  return kernel.starts_with("Memcpy ") || kernel.starts_with("Memset ");
}

// Returns a kernel's name without the arguments of its templates and its parameters.
std::string short_name(std::string_view kernel) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  if (names_memory(kernel)) return shortened(std::string(kernel));
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  std::string name;
  int depth = 0;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (depth == 0 && kernel.substr(i).starts_with(kAnonymous)) {
      name += kAnonymous;
      i += kAnonymous.size() - 1;
      continue;
    }
    const char c = kernel[i];
    const bool is_arrow = c == '>' && i > 0 && kernel[i - 1] == '-';
    if (c == '<' || c == '(') ++depth;
    if (depth == 0) name += c;
    if (((c == '>' && !is_arrow) || c == ')') && depth > 0) --depth;
  }
  return shortened(name.empty() ? std::string(kernel) : name);
}

std::string kernel_names(const std::vector<KernelUse>& uses) {
  std::vector<std::string> names;
  for (const KernelUse& use : uses) {
    const std::string name = short_name(use.key.kernel);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return core::join(names, " + ");
}

// Names what a difference is about: "gemm", "gemm_a replaced by gemm_b".
std::string named(const KernelDifference& row) {
  const std::string before = kernel_names(row.baseline);
  std::string after = kernel_names(row.test);
  switch (row.change) {
    case KernelChange::kReplaced:
      return before == after ? before : fmt::format("{} replaced by {}", before, after);
    case KernelChange::kAdded:
      return after + " added";
    case KernelChange::kRemoved:
      return before + " removed";
    case KernelChange::kUnclear:
      return after + " (unclear)";
    case KernelChange::kLongerWait:
    case KernelChange::kShorterWait:
      return after + kWaitForRanks;
    case KernelChange::kNotJudged:
      return after + " (transfer or a wait)";
    default:
      return after;
  }
}

// What is said of the same kernels, wherever they run, is one cause.
std::string largest_causes(const std::vector<KernelDifference>& rows, double effect_ms) {
  std::map<std::string, double> effects;
  for (const KernelDifference& row : rows)
    if (row.change != KernelChange::kSame) effects[named(row)] += row.effect_us() / 1000;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, effect] : effects)
    order.emplace_back(effect, name);
  // What goes the way of the whole explains it; what goes against it does not.
  const auto explains = [&](double effect) { return effect * effect_ms > 0; };
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    if (explains(a.first) != explains(b.first)) return explains(a.first);
    return std::fabs(a.first) > std::fabs(b.first);
  });
  std::vector<std::string> parts;
  for (const auto& [effect, name] : order) {
    if (parts.size() == kCausesNamed) break;
    parts.push_back(fmt::format("{:+.3g} ms {}", effect, name));
  }
  return core::join(parts, ", ");
}

// Returns zero for times that are equal but for rounding.
double difference_ms(double baseline_ms, double test_ms) {
  constexpr double kRounding = 1e-9;
  const double change = test_ms - baseline_ms;
  return std::fabs(change) <= kRounding * std::max(baseline_ms, test_ms) ? 0 : change;
}

std::string compared(double baseline_ms, double test_ms) {
  const double change = difference_ms(baseline_ms, test_ms);
  if (change == 0) return "as long as";
  return fmt::format("{:.4g} ms ({:.1f} %) {} than", std::fabs(change),
                     100 * std::fabs(change) / baseline_ms, change > 0 ? "longer" : "shorter");
}

// Returns whether the side lacks ranks that others may wait for.
bool lacks_ranks(const DiffSide& side) {
  const std::optional<int> world_size = side.ranks.front().trace->world_size;
  if (!world_size) return side.ranks.size() == 1;
  return side.ranks.size() < static_cast<std::size_t>(std::max(0, *world_size));
}

// Says why some rows have no verdict, and what tells the cause of a wait that is among the causes.
std::string waits_in_words(const std::vector<KernelDifference>& rows,
                           const std::string& causes,
                           bool lacks_ranks) {
  std::string words;
  if (std::any_of(rows.begin(), rows.end(), [](const KernelDifference& row) {
        return row.change == KernelChange::kNotJudged;
      }))
    words = std::string(
                " Time of communication that is not matched across all of its ranks may be "
                "transfer or a wait, and has no verdict") +
            (lacks_ranks ? ": name the folders of all ranks." : ".");
  if (causes.find(kWaitForRanks) != std::string::npos)
    words += " Why ranks wait for each other is in the sheet Attribution of 'assay trace compare'.";
  return words;
}

std::string answer_of(const DiffSide& baseline,
                      const DiffSide& test,
                      const WindowTimes& before,
                      const WindowTimes& after,
                      const std::vector<KernelDifference>& rows) {
  const bool steps = before.steps && after.steps;
  const double effect_ms = difference_ms(before.kernels_ms, after.kernels_ms);
  const std::string causes = largest_causes(rows, effect_ms);
  const std::string window = fmt::format(
      "{} takes {:.4g} ms{}, {} {}", test.label, after.window_ms, steps ? " a step" : "",
      compared(before.window_ms, after.window_ms), baseline.label);
  if (causes.empty()) return window + "; no kernel differs.";
  const std::string effect = effect_ms == 0 ? "as long"
                                            : fmt::format("{:.4g} ms {}", std::fabs(effect_ms),
                                                          effect_ms < 0 ? "less" : "more");
  return fmt::format("{}; its kernels, which may overlap, take {} in all: {}.{}", window, effect,
                     causes,
                     waits_in_words(rows, causes, lacks_ranks(baseline) || lacks_ranks(test)));
}

Cell text_cell(const std::vector<KernelUse>& uses, std::string KernelKey::*field) {
  std::vector<std::string> texts;
  for (const KernelUse& use : uses)
    if (std::find(texts.begin(), texts.end(), use.key.*field) == texts.end())
      texts.push_back(use.key.*field);
  return core::join(texts, " + ");
}

std::string_view work_name(GpuWork work) {
  switch (work) {
    case GpuWork::kCommunication:
      return "communication";
    case GpuWork::kMemcpy:
      return "copy";
    case GpuWork::kComputation:
      break;
  }
  return "computation";
}

double calls_of(const std::vector<KernelUse>& uses) {
  double calls = 0;
  for (const KernelUse& use : uses)
    calls += use.calls;
  return calls;
}

Cell per_call(double us, double calls) {
  return calls > 0 ? Cell{us / calls} : Cell{};
}

model::Table kernel_table(const std::vector<KernelDifference>& rows,
                          const std::string& baseline,
                          const std::string& test,
                          const std::string& window) {
  model::Table table{
      "kernel_diff",
      "What the two ran differently, the largest effect on the time of kernels first; means of " +
          window,
      {{"change"},
       {"effect ms", "ms", Better::kLower, "time of kernels of the test less the baseline's"},
       {"of calls ms", "ms", Better::kNeither, "from other counts of calls"},
       {"of time per call ms", "ms", Better::kNeither, "from calls that take longer or shorter"},
       {"of waits ms", "ms", Better::kNeither,
        "the part of that which is a wait for other ranks; empty where the traces do not tell it"},
       {"change %", "%", Better::kNeither, "of the baseline's time"},
       {"kind"},
       {"path"},
       {"operator"},
       {baseline + " shapes"},
       {test + " shapes"},
       {baseline + " kernel"},
       {test + " kernel"},
       {baseline + " calls"},
       {test + " calls"},
       {baseline + " ms", "ms"},
       {test + " ms", "ms"},
       {baseline + " µs per call", "µs"},
       {test + " µs per call", "µs"}}};
  for (const KernelDifference& row : rows) {
    const std::vector<KernelUse>& any = row.test.empty() ? row.baseline : row.test;
    const double calls_before = calls_of(row.baseline);
    const double calls_after = calls_of(row.test);
    table.add_row(
        {std::string(change_name(row.change)), row.effect_us() / 1000, row.calls_effect_us / 1000,
         row.per_call_effect_us / 1000, model::cell_of(row.wait_effect_us / 1000),
         row.baseline_us > 0 ? Cell{100 * row.effect_us() / row.baseline_us} : Cell{},
         std::string(work_name(any.front().work)), text_cell(any, &KernelKey::path),
         text_cell(any, &KernelKey::operation), text_cell(row.baseline, &KernelKey::shapes),
         text_cell(row.test, &KernelKey::shapes), text_cell(row.baseline, &KernelKey::kernel),
         text_cell(row.test, &KernelKey::kernel), calls_before, calls_after, row.baseline_us / 1000,
         row.test_us / 1000, per_call(row.baseline_us, calls_before),
         per_call(row.test_us, calls_after)});
  }
  return table;
}

std::string_view place_change(const PathDifference& row) {
  if (row.baseline_kernels == 0) return "added";
  if (row.test_kernels == 0) return "removed";
  return row.effect_us() > 0 ? "slower" : row.effect_us() < 0 ? "faster" : "same";
}

model::Table tree_table(const std::vector<PathDifference>& rows,
                        PathKind kind,
                        const std::string& baseline,
                        const std::string& test) {
  model::Table table{
      "tree_diff",
      kind == PathKind::kModules
          ? "Time of kernels by module, each before those inside of it, by their effects"
          : "Time of kernels by calls of operators, each before those inside of it, by their "
            "effects",
      {{"path"},
       {"depth"},
       {"change"},
       {"effect ms", "ms", Better::kLower},
       {"change %", "%", Better::kNeither, "of the baseline's time"},
       {baseline + " ms", "ms"},
       {test + " ms", "ms"},
       {baseline + " kernels"},
       {test + " kernels"}}};
  for (const PathDifference& row : rows)
    table.add_row(
        {row.path, std::int64_t{row.depth}, std::string(place_change(row)), row.effect_us() / 1000,
         row.baseline_us > 0 ? Cell{100 * row.effect_us() / row.baseline_us} : Cell{},
         row.baseline_us / 1000, row.test_us / 1000, row.baseline_kernels, row.test_kernels});
  return table;
}

// Returns a path without the numbers of modules, so that the layers of a model are one.
std::string class_path(const std::string& path) {
  std::string result;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (begin > 0) result += '/';
    result += module_class(std::string_view(path).substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

// Rows of kernel_diff that say the same of the modules of a class.
struct DifferenceSum {
  std::int64_t rows = 0;
  double effect_us = 0;
  double baseline_us = 0;
  double test_us = 0;
  double baseline_calls = 0;
  double test_calls = 0;
  std::string operation;
  std::string shapes;
  std::string kernels;
  std::string change;
  std::string path;
};

std::vector<DifferenceSum> sums_by_class(const std::vector<KernelDifference>& rows) {
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>,
           DifferenceSum>
      sums;
  for (const KernelDifference& row : rows) {
    if (row.change == KernelChange::kSame) continue;
    const KernelKey& key = (row.test.empty() ? row.baseline : row.test).front().key;
    const std::string path = class_path(key.path);
    const std::string change(change_name(row.change));
    DifferenceSum& sum = sums[{change, path, named(row), key.operation, key.shapes}];
    ++sum.rows;
    sum.effect_us += row.effect_us();
    sum.baseline_us += row.baseline_us;
    sum.test_us += row.test_us;
    sum.baseline_calls += calls_of(row.baseline);
    sum.test_calls += calls_of(row.test);
    sum.operation = key.operation;
    sum.shapes = key.shapes;
    sum.kernels = named(row);
    sum.change = change;
    sum.path = path;
  }
  std::vector<DifferenceSum> order;
  for (auto& [key, sum] : sums)
    order.push_back(std::move(sum));
  std::stable_sort(order.begin(), order.end(), [](const DifferenceSum& a, const DifferenceSum& b) {
    return std::fabs(a.effect_us) > std::fabs(b.effect_us);
  });
  return order;
}

model::Table summary_table(const std::vector<DifferenceSum>& sums,
                           const std::string& baseline,
                           const std::string& test) {
  model::Table table{"kernel_diff_summary",
                     "The rows of kernel_diff that say the same of modules of one class",
                     {{"change"},
                      {"effect ms", "ms", Better::kLower},
                      {"rows"},
                      {"path"},
                      {"kernel"},
                      {"operator"},
                      {"shapes"},
                      {baseline + " ms", "ms"},
                      {test + " ms", "ms"},
                      {baseline + " calls"},
                      {test + " calls"}}};
  for (const DifferenceSum& sum : sums)
    table.add_row({sum.change, sum.effect_us / 1000, sum.rows, sum.path, sum.kernels, sum.operation,
                   sum.shapes, sum.baseline_us / 1000, sum.test_us / 1000, sum.baseline_calls,
                   sum.test_calls});
  return table;
}

model::Table terminal_table(const std::vector<DifferenceSum>& sums,
                            const std::string& baseline,
                            const std::string& test) {
  constexpr std::size_t kShown = 20;
  model::Table table{.name = "kernel_diff_summary",
                     .title = {},
                     .columns = {{"effect ms"},
                                 {"change"},
                                 {baseline + " ms"},
                                 {test + " ms"},
                                 {"calls"},
                                 {"kernel"},
                                 {"operator"},
                                 {"shapes"}}};
  for (const DifferenceSum& sum : sums) {
    if (table.row_count() == kShown) break;
    const std::string calls =
        sum.baseline_calls == sum.test_calls
            ? fmt::format("{:.4g}", sum.test_calls)
            : fmt::format("{:.4g} → {:.4g}", sum.baseline_calls, sum.test_calls);
    table.add_row({sum.effect_us / 1000, sum.change, sum.baseline_us / 1000, sum.test_us / 1000,
                   calls, shortened(sum.kernels, kReplacedCharacters), shortened(sum.operation),
                   shortened(sum.shapes)});
  }
  return table;
}

model::Table counts_and_answer(const std::string& answer,
                               const std::vector<KernelDifference>& rows,
                               const std::string& transients) {
  model::Table table{"Answer", "What differs, and what does it cost?", {{"Question"}, {"Answer"}}};
  table.add_row({std::string("What is the difference?"), answer});
  std::map<KernelChange, std::pair<std::int64_t, double>> sums;
  for (const KernelDifference& row : rows) {
    if (row.change == KernelChange::kSame) continue;
    auto& [count, effect] = sums[row.change];
    ++count;
    effect += row.effect_us() / 1000;
  }
  for (const auto& [change, sum] : sums)
    table.add_row({fmt::format("What does \"{}\" cost?", change_name(change)),
                   fmt::format("{} {} of kernel_diff, {:+.4g} ms in all.", sum.first,
                               sum.first == 1 ? "row" : "rows", sum.second)});
  if (!transients.empty()) table.add_row({std::string("Are the steps steady?"), transients});
  table.style.excel_table = true;
  return table;
}

}  // namespace

TraceDiff trace_diff(const DiffSide& baseline,
                     const DiffSide& test,
                     const KernelDiffOptions& options) {
  const PathKind kind = common_path_kind(baseline.ranks, test.ranks);
  Configuration run_before = steps_of_run(baseline.label, baseline.ranks);
  Configuration run_after = steps_of_run(test.label, test.ranks);
  settle_modes(run_before, run_after);
  const SideSteps steps_before = steps_of(run_before);
  const SideSteps steps_after = steps_of(run_after);
  const std::vector<KernelUse> before = kernel_uses(baseline.ranks, kind, steps_before.steady);
  std::vector<KernelUse> after = kernel_uses(test.ranks, kind, steps_after.steady);
  rename_paths(matching_paths(before, after), after);
  const std::vector<KernelDifference> rows = kernel_differences(before, after, options);
  const bool by_period = has_periods(baseline) && has_periods(test);
  const WindowTimes times_before = window_times(baseline, steps_before, before, by_period);
  const WindowTimes times_after = window_times(test, steps_after, after, by_period);
  const bool steps = times_before.steps && times_after.steps;
  TraceDiff diff;
  diff.answer = answer_of(baseline, test, times_before, times_after, rows);
  diff.book.title = test.label + " against " + baseline.label;
  std::vector<std::string> transients;
  for (const SideSteps* side : {&steps_before, &steps_after})
    if (!side->transients.empty()) transients.push_back(side->transients);
  diff.book.tables.push_back(counts_and_answer(diff.answer, rows, core::join(transients, " ")));
  diff.book.tables.push_back(
      kernel_table(rows, baseline.label, test.label,
                   steps ? "a steady step of a rank" : "a rank's whole trace"));
  diff.book.tables.push_back(
      tree_table(path_differences(before, after), kind, baseline.label, test.label));
  const std::vector<DifferenceSum> sums = sums_by_class(rows);
  diff.book.tables.insert(diff.book.tables.begin() + 1,
                          summary_table(sums, baseline.label, test.label));
  diff.for_terminal = terminal_table(sums, baseline.label, test.label);
  diff.for_terminal.title = diff.answer;
  return diff;
}

}  // namespace assay::trace
