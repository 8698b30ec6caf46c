// What context and generation attention share: their tables have the same columns.
#pragma once

#include <vector>

#include "collect/ops/values.h"

namespace assay::collect {

// What differs between them.
struct AttentionGrid {
  Axis batch_size;
  Axis isl;
  Axis step;
  AxisGroup::Rows heads;  // num_heads, num_key_value_heads
  AxisGroup::Rows heads_coarse;
  AxisGroup::Rows types;  // attn_dtype, kv_cache_dtype
};

std::vector<Axis> attention_axes(const AttentionGrid& grid);
std::vector<AxisGroup> attention_groups(const AttentionGrid& grid);

// isl queries of each request, after `step` tokens in the cache; causal.
AttentionSpec attention_spec(const Case& point);

// With beam_width, which is 1 always, at its place.
std::vector<model::PerfField> attention_key(const Case& point);

// Rows of (heads, kv heads): as many of both, or any of 1, 2, 4, 8 kv heads that divides them.
AxisGroup::Rows multi_head(std::initializer_list<std::int64_t> heads);
AxisGroup::Rows grouped_query(std::initializer_list<std::int64_t> heads);

}  // namespace assay::collect
