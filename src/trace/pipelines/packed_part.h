// A rank's part as bytes, in which form it goes from the process that read the rank to the one that
// writes the reports.
#pragma once

#include <string_view>

#include "core/packed.h"
#include "core/result.h"
#include "trace/pipelines/rank_part.h"

namespace assay::trace {

// Packs everything but the individual report, which the process that made it also writes.
void pack(const RankPart& part, core::Packer& packer);

// Returns a part whose positions are valid, or fails: the bytes are damaged.
core::Result<RankPart> unpack_part(core::Unpacker& unpacker);

}  // namespace assay::trace
