// The code that the attention operators share. Context and generation attention have tables with
// the same columns, and so do the two operators of multi-head latent attention (MLA).
#pragma once

#include <vector>

#include "collect/ops/values.h"

namespace assay::collect {

// The values in which context and generation attention differ.
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

// Causal attention of `isl` queries of each request, with `step` tokens already in the cache.
AttentionSpec attention_spec(const Case& point);

// The key columns, with beam_width, which is always 1, in its place.
std::vector<model::PerfField> attention_key(const Case& point);

// Rows of (heads, kv heads): equal numbers of both, or all of 1, 2, 4 and 8 kv heads that divide
// the heads.
AxisGroup::Rows multi_head(std::initializer_list<std::int64_t> heads);
AxisGroup::Rows grouped_query(std::initializer_list<std::int64_t> heads);

// MLA of DeepSeek-V3: 128 heads, of which a GPU has 128 / tp_size.
constexpr std::int64_t kMlaNopeDim = 128;    // part of a query and key without position
constexpr std::int64_t kMlaRopeDim = 64;     // part with position, the same for all heads
constexpr std::int64_t kMlaValueDim = 128;   // values of a head
constexpr std::int64_t kMlaLatentDim = 512;  // the cache holds it instead of keys and values

// The axes mla_dtype, kv_cache_dtype, num_heads, batch_size, isl, tp_size and step.
std::vector<Axis> mla_axes(Axis batch_size, Axis isl, Axis step);
std::vector<AxisGroup> mla_groups();

}  // namespace assay::collect
