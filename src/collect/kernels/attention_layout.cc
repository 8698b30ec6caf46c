#include "collect/kernels/attention_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace assay::collect {
namespace {

AttentionStrides rows_then_heads(std::int64_t rows, std::int64_t heads, std::int64_t columns) {
  return {rows * heads * columns, columns, heads * columns, 1};
}

AttentionStrides heads_then_rows(std::int64_t rows, std::int64_t heads, std::int64_t columns) {
  return {rows * heads * columns, rows * columns, columns, 1};
}

std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t x = state;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

}  // namespace

AttentionLayout layout_of(const AttentionSpec& spec) {
  AttentionLayout layout;
  layout.query = rows_then_heads(spec.query_length, spec.heads, spec.head_dim);
  layout.output = rows_then_heads(spec.query_length, spec.heads, spec.value_dim);
  const std::int64_t queries = spec.batch * spec.query_length * spec.heads;
  layout.query_elements = queries * spec.head_dim;
  layout.output_elements = queries * spec.value_dim;
  std::int64_t kv_rows = spec.batch * spec.kv_length;
  if (spec.page_size > 0) {
    layout.pages_per_sequence = (spec.kv_length + spec.page_size - 1) / spec.page_size;
    layout.pages = spec.batch * layout.pages_per_sequence;
    kv_rows = layout.pages * spec.page_size;
    layout.keys = heads_then_rows(spec.page_size, spec.kv_heads, spec.head_dim);
    layout.values = heads_then_rows(spec.page_size, spec.kv_heads, spec.value_dim);
  } else {
    layout.keys = rows_then_heads(spec.kv_length, spec.kv_heads, spec.head_dim);
    layout.values = rows_then_heads(spec.kv_length, spec.kv_heads, spec.value_dim);
  }
  layout.key_elements = kv_rows * spec.kv_heads * spec.head_dim;
  if (spec.values_in_keys) {
    layout.values = layout.keys;
  } else {
    layout.value_elements = kv_rows * spec.kv_heads * spec.value_dim;
  }
  return layout;
}

std::vector<std::int32_t> page_table(const AttentionSpec& spec) {
  std::vector<std::int32_t> pages(static_cast<std::size_t>(layout_of(spec).pages));
  std::iota(pages.begin(), pages.end(), 0);
  std::uint64_t state = 1;
  for (std::size_t left = pages.size(); left > 1; --left)
    std::swap(pages[left - 1], pages[next_random(state) % left]);
  return pages;
}

bool needs_mask(const AttentionSpec& spec) {
  const VisibleKeys first = visible_keys(spec, 0);
  const VisibleKeys last = visible_keys(spec, spec.query_length - 1);
  return first.end < spec.kv_length || last.begin > 0;
}

bool fills_cache(const AttentionSpec& spec) {
  return spec.type != spec.kv_type && spec.query_length == spec.kv_length && spec.page_size == 0;
}

std::optional<AttentionSpec> in_whole_tiles(const AttentionSpec& spec) {
  constexpr std::int64_t kTileTokens = 128;
  constexpr std::int64_t kFewTokens = 16;
  const bool is_of_new_tokens = spec.query_length == spec.kv_length && spec.page_size == 0;
  if (!spec.causal || !is_of_new_tokens || spec.type == DataType::kFp8) return std::nullopt;
  if (spec.query_length <= kFewTokens || spec.query_length % kTileTokens == 0) return std::nullopt;
  AttentionSpec whole = spec;
  whole.query_length += kTileTokens - spec.query_length % kTileTokens;
  whole.kv_length = whole.query_length;
  return whole;
}

std::int64_t cached_elements(const AttentionSpec& spec) {
  const AttentionLayout layout = layout_of(spec);
  if (spec.latent_dim > 0) return spec.batch * spec.kv_length * spec.latent_dim;
  return layout.key_elements + layout.value_elements;
}

std::optional<std::string> impossible(const AttentionSpec& spec) {
  if (spec.batch < 1 || spec.query_length < 1 || spec.kv_length < 1 || spec.heads < 1 ||
      spec.kv_heads < 1 || spec.head_dim < 1 || spec.value_dim < 1)
    return "an attention needs sizes of at least 1";
  if (spec.window < 0 || spec.page_size < 0) return "window and page size cannot be negative";
  if (spec.heads % spec.kv_heads != 0) return "the heads cannot share the heads of keys evenly";
  if (spec.kv_length < spec.query_length) return "there are more new tokens than tokens";
  if (spec.values_in_keys && spec.value_dim > spec.head_dim)
    return "the keys are too narrow for the values in them";
  return std::nullopt;
}

std::string description_of(const AttentionSpec& spec) {
  std::string text = fmt::format("{} heads of {}", spec.heads, spec.head_dim);
  if (spec.value_dim != spec.head_dim) text += fmt::format(" (values {})", spec.value_dim);
  if (spec.kv_heads != spec.heads) text += fmt::format(", {} of keys", spec.kv_heads);
  text += fmt::format(", {} x {} queries, {} keys", spec.batch, spec.query_length, spec.kv_length);
  if (spec.causal && spec.query_length > 1) text += ", causal";
  if (spec.window > 0) text += fmt::format(", a window of {}", spec.window);
  if (spec.page_size > 0) text += fmt::format(", pages of {}", spec.page_size);
  text += fmt::format(", {}", name_of(spec.type));
  if (spec.kv_type != spec.type) text += fmt::format(", cache {}", name_of(spec.kv_type));
  return text;
}

}  // namespace assay::collect
