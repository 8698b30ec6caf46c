// Which rows of a table answer for a use of an operator by a model (model/serving/uses.h).
#pragma once

#include <cstddef>
#include <vector>

#include "model/serving/uses.h"
#include "store/answers/work_rows.h"

namespace assay::store {

// A family whose rows have the use's names and types.
struct UseFamily {
  std::size_t family = 0;
  // A value of each size: as the use's key fixes it, else that of the family's first row, which is
  // right for sizes that change no work. The batch's are to be filled in.
  std::vector<double> sizes = {};
  // By size field of the use: its place in `sizes`; kNoSize: the table does not tell it apart.
  std::vector<std::size_t> places = {};
  bool has_key = false;  // some row has every size that the key fixes
};

inline constexpr std::size_t kNoSize = static_cast<std::size_t>(-1);

// Empty if no row has the use's names and types.
std::vector<UseFamily> families_of(const serving::OperatorUse& use, const WorkRows& rows);

}  // namespace assay::store
