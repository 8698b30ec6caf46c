// Tables of one kind from several files as one.
#pragma once

#include <vector>

#include "store/files/frame.h"

namespace assay::store {

// Row after row, with the columns of all of them; where a frame lacks one, its rows miss it. A
// column that is text in one is text, one that is whole numbers in all stays so.
Frame joined_frames(const std::vector<Frame>& frames);

}  // namespace assay::store
