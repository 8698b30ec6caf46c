// Which share of the roofline an operator reaches, over its size.
#pragma once

#include <string>
#include <vector>

#include "store/answers/work_index.h"

namespace assay::store {

struct ShareAtSize {
  double size = 0;   // the table's first quantity (work.h), greater than 0
  double share = 0;  // roofline / latency
};

// Rows that differ in the size alone: those of one weight, or of one combination of heads.
struct ShareCurve {
  std::string name;                // what tells it from others: "fp8 n=4096 k=4096"
  std::vector<ShareAtSize> sizes;  // ascending
};

struct ShareFigure {
  std::string name;  // the operator
  std::string size;  // "m", "step", ...
  std::vector<ShareCurve> curves;
};

// One figure for each op_name of the table that has rows with a roofline. Of each family, those
// with most rows first, it shows a few of the curves that have most sizes, from little work to
// much.
std::vector<ShareFigure> roofline_shares(const WorkIndex& index, std::size_t most_curves);

}  // namespace assay::store
