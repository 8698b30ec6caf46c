// The rate at which a GPU computes for long. Its tables are measured launch by launch with rests
// between them, in which a short product stays under the power limit; one that takes some
// milliseconds meets it, and so does every product of a step that goes on computing.
#pragma once

#include <optional>
#include <span>

#include "store/answers/use_families.h"
#include "store/answers/work_rows.h"
#include "store/judging/roofline.h"

namespace assay::store {

// A launch that takes longer runs at the clocks that the power limit leaves. Of an H200's products
// (9,305 rows in bfloat16, 6,820 in fp8, 23 November 2026) those that take 0.5 to 3 ms reach 795
// and 1,525 TFLOP/s in the median, those that take longer than 5 ms 698 and 1,342; between 3 and
// 5 ms some do the one and some the other.
inline constexpr double kSustainedMs = 3;

// The median rate, in operations per second, of the families' rows that take longer. std::nullopt:
// fewer than 5 do, or their operations are unknown.
std::optional<double> sustained_flops(const WorkRows& rows,
                                      std::span<const UseFamily> families,
                                      const CostBinder& cost);

}  // namespace assay::store
