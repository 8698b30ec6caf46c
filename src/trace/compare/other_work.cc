#include "trace/compare/other_work.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/rows.h"
#include "trace/compare/step_states.h"
#include "trace/compare/timeline_samples.h"
#include "trace/sheets/work_table.h"

namespace assay::trace {
namespace {

constexpr double kBytesPerMb = 1e6;

// The mean over the steps that count. A step of which a figure was not recorded makes that unknown.
double mean_of(const RankReport& report, const StepSet& steps, std::string_view column) {
  const model::Table* table = report.book.find(kWorkSheet);
  std::vector<double> values;
  for (std::size_t row = 0; table != nullptr && row < table->row_count(); ++row) {
    const auto number = step_number(*table, row);
    if (!number || steps.contains({report.run, *number}))
      values.push_back(number_at(*table, row, column));
  }
  return core::mean(values);
}

std::map<int, double> by_rank(std::span<const RankReport> reports,
                              const StepSet& steps,
                              std::string_view column) {
  std::map<int, std::vector<double>> runs;
  for (const RankReport& report : reports)
    if (const double value = mean_of(report, steps, column); !std::isnan(value))
      runs[report.rank].push_back(value);
  std::map<int, double> means;
  for (const auto& [rank, values] : runs)
    means[rank] = core::mean(values);
  return means;
}

struct Means {
  double baseline = kNaN;
  double test = kNaN;

  // Returns whether they differ by more than rounding of steps that vary, or a step cut short.
  [[nodiscard]] bool differ() const {
    constexpr double kMuch = 0.05;
    return std::fabs(baseline - test) > kMuch * std::max(baseline, test);  // false for NaN
  }
};

// A rank of which only one side tells the figure would make the means differ by itself.
Means means_of_common_ranks(const std::map<int, double>& baseline,
                            const std::map<int, double>& test) {
  std::vector<double> before;
  std::vector<double> after;
  for (const auto& [rank, value] : baseline) {
    const auto found = test.find(rank);
    if (found == test.end()) continue;
    before.push_back(value);
    after.push_back(found->second);
  }
  return {.baseline = core::mean(before), .test = core::mean(after)};
}

}  // namespace

StepWork step_work(std::span<const RankReport> ranks) {
  const StepSet steps = shared_steps(rank_steps(ranks));
  return {.kernels = by_rank(ranks, steps, kKernelsColumn),
          .elements = by_rank(ranks, steps, kElementsColumn),
          .collectives = by_rank(ranks, steps, kCollectivesColumn),
          .message_bytes = by_rank(ranks, steps, kMessageBytesColumn)};
}

std::string work_difference(const StepWork& baseline, const StepWork& test) {
  std::vector<std::string> texts;
  const Means kernels = means_of_common_ranks(baseline.kernels, test.kernels);
  if (kernels.differ())
    texts.push_back(fmt::format("{:.4g} kernels, not {:.4g}", kernels.test, kernels.baseline));
  const Means elements = means_of_common_ranks(baseline.elements, test.elements);
  if (elements.differ() && elements.baseline > 0)
    texts.push_back(fmt::format("kernels whose operators take in {:.3g} times the elements",
                                elements.test / elements.baseline));
  const Means collectives = means_of_common_ranks(baseline.collectives, test.collectives);
  if (collectives.differ())
    texts.push_back(
        fmt::format("{:.4g} collectives, not {:.4g}", collectives.test, collectives.baseline));
  const Means bytes = means_of_common_ranks(baseline.message_bytes, test.message_bytes);
  if (bytes.differ())
    texts.push_back(fmt::format("messages of {:.4g} MB, not {:.4g}", bytes.test / kBytesPerMb,
                                bytes.baseline / kBytesPerMb));
  return core::join(texts, "; ");
}

std::string other_work_in_words(const std::string& baseline,
                                std::span<const std::string> tests,
                                const std::string& difference) {
  return fmt::format(
      "{} {} other work than {}, or the same in another way: a step of a rank has {}",
      core::join(tests, ", "), tests.size() == 1 ? "does" : "do", baseline, difference);
}

}  // namespace assay::trace
