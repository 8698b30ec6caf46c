// Which share of the roofline the rows of a table reach, over their size.
#pragma once

#include <string>
#include <vector>

#include "store/answers/work_index.h"

namespace assay::store {

// The rows of one size: roofline / latency.
struct SharesAtSize {
  double size = 0;  // the table's first quantity (work.h), greater than 0
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};

struct ShareCurve {
  std::string name;                 // the values that tell its family from others
  std::vector<SharesAtSize> sizes;  // ascending
};

struct ShareFigure {
  std::string size;                // "m", "step", ...
  std::vector<ShareCurve> curves;  // one for each family, those with most rows first
};

// Families whose roofline is unknown have no curve.
ShareFigure roofline_shares(const WorkIndex& index, std::size_t most_curves);

}  // namespace assay::store
