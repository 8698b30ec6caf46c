// Which shapes that serving models needs a table has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/serving/needs.h"
#include "store/answers/work_index.h"

namespace assay::store {

enum class Having : std::uint8_t {
  kThere,    // rows with the key of the use
  kDerived,  // rows of other keys that are the same work, or that its roofline scales
  kMissing,  // no rows, or an answer that is refused
};

std::string_view name_of(Having having);

struct NeedVerdict {
  Having having = Having::kMissing;
  std::string how;           // why it is missing, or from what it is derived
  double sigma_percent = 0;  // of kDerived: the largest one sigma of the answers
};

// Asks for a few sizes of the use (tokens from 1 to 4096, requests from 1 to 64, tokens in the
// cache from 127 to 8191), each of which must have an answer as `store query` gives it. `index` is
// null if there is no such table.
NeedVerdict check_need(const serving::OperatorUse& use, const WorkIndex* index);

}  // namespace assay::store
