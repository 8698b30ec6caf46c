// What a communicator is for, seen from what runs on it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "goal/resolve.h"

namespace assay::goal {

// The first three are the public generator's digits.
enum class Parallelism : std::uint8_t { kOther = 0, kPipeline = 1, kData = 2, kExpert = 3 };

// "Other", "PP", "DP", "EP".
std::string_view name_of(Parallelism parallelism);

// By exchange. Sends and receives: EP when a GPU exchanges with all others of the communicator in
// one launch (an all-to-all of more than two), else PP. Collectives: DP where AllGather and
// ReduceScatter shard parameters, else Other, as tensor parallelism and plain data parallelism
// look alike.
std::vector<Parallelism> find_parallelism(const Resolved& resolved);

}  // namespace assay::goal
