#include "trace/compare/other_work.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/statistics.h"
#include "core/text.h"
#include "trace/compare/rows.h"
#include "trace/sheets/work_table.h"

namespace assay::trace {
namespace {

constexpr double kBytesPerMb = 1e6;

// Returns whether figures differ by more than rounding of steps that vary, or a step cut short.
bool differ(double a, double b) {
  constexpr double kMuch = 0.05;
  return std::fabs(a - b) > kMuch * std::max(a, b);  // false for NaN
}

double mean_of(std::span<const RankReport> ranks, std::string_view column) {
  std::vector<double> values;
  for (const RankReport& rank : ranks) {
    const model::Table* table = rank.book.find(kWorkSheet);
    const double value = table == nullptr ? kNaN : number_at(*table, 0, column);
    if (!std::isnan(value)) values.push_back(value);
  }
  return core::mean(values);
}

}  // namespace

StepWork step_work(std::span<const RankReport> ranks) {
  return {.kernels = mean_of(ranks, kKernelsColumn),
          .elements = mean_of(ranks, kElementsColumn),
          .collectives = mean_of(ranks, kCollectivesColumn),
          .message_bytes = mean_of(ranks, kMessageBytesColumn)};
}

std::string work_difference(const StepWork& baseline, const StepWork& test) {
  std::vector<std::string> texts;
  if (differ(baseline.kernels, test.kernels))
    texts.push_back(fmt::format("{:.4g} kernels, not {:.4g}", test.kernels, baseline.kernels));
  if (differ(baseline.elements, test.elements) && baseline.elements > 0)
    texts.push_back(fmt::format("kernels whose operators take in {:.3g} times the elements",
                                test.elements / baseline.elements));
  if (differ(baseline.collectives, test.collectives))
    texts.push_back(
        fmt::format("{:.4g} collectives, not {:.4g}", test.collectives, baseline.collectives));
  if (differ(baseline.message_bytes, test.message_bytes))
    texts.push_back(fmt::format("messages of {:.4g} MB, not {:.4g}",
                                test.message_bytes / kBytesPerMb,
                                baseline.message_bytes / kBytesPerMb));
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
