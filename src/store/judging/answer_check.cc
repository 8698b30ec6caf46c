#include "store/judging/answer_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "core/interrupt.h"
#include "core/statistics.h"
#include "store/answers/calibration.h"

namespace assay::store {
namespace {

constexpr std::uint64_t kFolds = 10;

std::uint64_t mixed(std::uint64_t hash, double value) {
  hash ^= static_cast<std::uint64_t>(std::llround(value * 1024)) + 0x9e3779b97f4a7c15ULL +
          (hash << 6U) + (hash >> 2U);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33U);
}

// The tenth that each row is left out with.
std::vector<std::uint64_t> folds_of(const WorkRows& rows, HoldOut left_out) {
  std::vector<std::uint64_t> folds(rows.num_rows());
  const std::string along = rows.work.axes.empty() ? "" : rows.work.axes.front().times.front();
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row) {
      std::uint64_t hash = mixed(17, static_cast<double>(family));
      const auto sizes = rows.sizes_of(row);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (left_out == HoldOut::kPoints || rows.sizes[i] != along) hash = mixed(hash, sizes[i]);
      }
      folds[row] = hash % kFolds;
    }
  }
  return folds;
}

bool same_curve(const WorkRows& rows, std::size_t a, std::size_t b, std::size_t along) {
  for (std::size_t i = 0; i < rows.sizes.size(); ++i) {
    if (i != along && rows.sizes_of(a)[i] != rows.sizes_of(b)[i]) return false;
  }
  return true;
}

// Whether a row lies in the upper half of its curve.
std::vector<bool> upper_halves(const WorkRows& rows) {
  std::vector<bool> upper(rows.num_rows());
  const auto found = rows.work.axes.empty() ? rows.sizes.end()
                                            : std::find(rows.sizes.begin(), rows.sizes.end(),
                                                        rows.work.axes.front().times.front());
  const auto along = static_cast<std::size_t>(found - rows.sizes.begin());
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    std::size_t begin = rows.begins[family];
    while (begin < rows.begins[family + 1]) {
      std::size_t end = begin + 1;
      while (end < rows.begins[family + 1] && same_curve(rows, begin, end, along))
        ++end;
      for (std::size_t row = (begin + end + 1) / 2; row < end; ++row)
        upper[row] = true;
      begin = end;
    }
  }
  return upper;
}

struct Tally {
  std::vector<double> errors;
  std::int64_t inside = 0;
  std::int64_t refused = 0;
};

class Judge {
 public:
  void add(const WorkEstimate& estimate, double latency) {
    if (estimate.refused != Refused::kNo) {
      ++all_.refused;
      return;
    }
    Tally& own = by_how_[static_cast<std::size_t>(estimate.how)];
    for (Tally* tally : {&all_, &own}) {
      tally->errors.push_back(std::abs(estimate.latency / latency - 1));
      if (latency >= estimate.low_80() && latency <= estimate.high_80()) ++tally->inside;
    }
  }

  [[nodiscard]] std::vector<AnswerErrors> errors() const {
    static constexpr std::array kNames = {
        "exact",         "same work", "own curve", "across curves", "own curve and across",
        "past its curve"};
    std::vector<AnswerErrors> found{summary_of("all", all_)};
    for (std::size_t how = 0; how < by_how_.size(); ++how) {
      if (!by_how_[how].errors.empty()) found.push_back(summary_of(kNames[how], by_how_[how]));
    }
    return found;
  }

 private:
  static AnswerErrors summary_of(const char* name, const Tally& tally) {
    AnswerErrors errors{.method = name,
                        .points = static_cast<std::int64_t>(tally.errors.size()),
                        .refused = tally.refused};
    if (errors.points == 0) {
      errors.median = errors.p90 = errors.inside_80 = std::nan("");
      errors.range = range_of_share(0, 0);
      return errors;
    }
    errors.median = core::median(tally.errors);
    errors.p90 = core::quantile(tally.errors, 0.9);
    errors.inside_80 = static_cast<double>(tally.inside) / static_cast<double>(errors.points);
    errors.range = range_of_share(tally.inside, errors.points);
    return errors;
  }

  Tally all_;
  std::array<Tally, 6> by_how_;
};

using IsOut = std::function<bool(std::size_t row)>;

// Asks the rows that are left for those that are out.
core::Status judge(const WorkRows& rows,
                   const RooflineBinder& binder,
                   const IsOut& is_out,
                   Judge& judge) {
  const WorkIndex rest(kept_rows(rows, [&](std::size_t row) { return !is_out(row); }), binder);
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row) {
      if (!is_out(row) || rows.latencies[row] <= 0) continue;
      ASSAY_TRY(core::check_interrupt());
      judge.add(rest.family(family).at(rows.sizes_of(row), Beyond::kRefuse), rows.latencies[row]);
    }
  }
  return {};
}

// Half of the curves tell the intervals, and the other half judges them.
core::Result<std::vector<AnswerErrors>> judge_edges(const WorkRows& rows,
                                                    const RooflineBinder& binder) {
  const std::vector<std::uint64_t> folds = folds_of(rows, HoldOut::kCurves);
  Judge found;
  for (const std::uint64_t half : {0, 1}) {
    const auto is_judged = [&](std::size_t row) { return folds[row] % 2 == half; };
    const WorkIndex learnt(rows, binder, [&](std::size_t row) { return !is_judged(row); });
    for (const Edge& edge : edges_of(rows)) {
      ASSAY_TRY(core::check_interrupt());
      const std::vector<bool> out = edge.rows_of(rows);
      if (std::find(out.begin(), out.end(), true) == out.end()) continue;
      const WorkIndex rest(kept_rows(rows, [&](std::size_t row) { return !out[row]; }), binder);
      for (std::size_t family = 0; family < rows.num_families(); ++family) {
        for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row) {
          if (!out[row] || !is_judged(row) || rows.latencies[row] <= 0) continue;
          ASSAY_TRY(core::check_interrupt());
          const Parts parts = rest.family(family).parts(rows.sizes_of(row), Beyond::kRefuse, {});
          found.add(answer_of_parts(parts, learnt.spreads(), Beyond::kRefuse), rows.latencies[row]);
        }
      }
    }
  }
  return found.errors();
}

}  // namespace

ShareRange range_of_share(std::int64_t inside, std::int64_t points) {
  constexpr double kDeviations = 1.959964;  // of a normal distribution, for 95 % to both sides
  const auto count = static_cast<double>(points);
  const double share = static_cast<double>(inside) / count;
  const double part = kDeviations * kDeviations / count;
  const double middle = (share + part / 2) / (1 + part);
  const double half =
      kDeviations / (1 + part) * std::sqrt(share * (1 - share) / count + part / (4 * count));
  return {.low = middle - half, .high = middle + half};
}

core::Result<std::vector<AnswerErrors>> judge_answers(const WorkRows& rows,
                                                      const RooflineBinder& binder,
                                                      HoldOut left_out) {
  if (left_out == HoldOut::kEdges) return judge_edges(rows, binder);
  const std::vector<std::uint64_t> folds = folds_of(rows, left_out);
  const std::vector<bool> upper = upper_halves(rows);
  Judge found;
  for (std::uint64_t fold = 0; fold < kFolds; ++fold) {
    const auto is_out = [&](std::size_t row) {
      return folds[row] == fold && (left_out != HoldOut::kUpperHalves || upper[row]);
    };
    ASSAY_TRY(judge(rows, binder, is_out, found));
  }
  return found.errors();
}

}  // namespace assay::store
