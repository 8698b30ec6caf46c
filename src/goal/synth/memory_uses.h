// These operators of a step only move bytes, and serving::uses_of() leaves them out.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/serving/uses.h"

namespace assay::goal {

// Returns a whole number among an operator's columns; 0 where there is none.
std::int64_t number_in(const serving::OperatorUse& use, std::string_view column);

// Returns an operator of memory_op_perf over rows of bfloat16, one for each token.
serving::OperatorUse memory_use(const char* role, const char* op, std::int64_t columns);

// Returns the rotary positions before attention, as a copy of queries and keys.
serving::OperatorUse rotary_use(const serving::OperatorUse& attention);

// Returns the same with the writing of new keys and values to the cache, by one kernel for all
// three, as an activation of as many bytes. With few tokens PyTorch's kernels for keys and for
// values take 1.3 to 2.5 us each on H200 (27 November 2026), as an activation does, while a copy
// takes 0.9.
serving::OperatorUse rotary_and_cache_use(const serving::OperatorUse& attention);

}  // namespace assay::goal
