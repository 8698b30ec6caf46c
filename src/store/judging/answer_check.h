// How good the answers of a table are: points that are left out in turn, a tenth of them at a time,
// are asked of the other nine tenths. The others alone also tell the intervals of these answers, so
// that no point judges an interval that it helped to make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/answers/work_index.h"

namespace assay::store {

// Where the share lies that many more such points would have, with 95 %.
struct ShareRange {
  double low = 0;
  double high = 0;
};

// The score interval of a binomial share (E. B. Wilson, Journal of the American Statistical
// Association 22, 1927). It takes points for independent; those of one curve are not, so that it is
// too narrow rather than too wide. NaN without points.
ShareRange range_of_share(std::int64_t inside, std::int64_t points);

// Errors are parts of the measured latency.
struct AnswerErrors {
  std::string method;  // "all", "linear in m", "same work", ...
  std::int64_t points = 0;
  std::int64_t refused = 0;
  double median = 0;
  double p90 = 0;
  double inside_80 = 0;   // the share of points within the answers' 80 % interval
  ShareRange range = {};  // of that share, for so many points
};

// What is left out: points at random, so that most have neighbours on their curve; whole curves,
// as for a weight that was not measured; the upper half of curves, which answers have to extend;
// or, for each quantity, all rows past a value of it, at most 4 times past those that stay where
// there are such.
enum class HoldOut : std::uint8_t { kPoints, kCurves, kUpperHalves, kEdges };

// All points first, and then by method. The same table gives the same figures. Fails where
// core::check_interrupt() does.
core::Result<std::vector<AnswerErrors>> judge_answers(const WorkRows& rows,
                                                      const RooflineBinder& binder,
                                                      HoldOut left_out);

}  // namespace assay::store
