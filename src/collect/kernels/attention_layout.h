// The positions of the elements of an attention's tensors, and the keys that each query sees, on
// every device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/kernels/kernels.h"

namespace assay::collect {

// The distance, in elements, between neighbours along each dimension of a tensor: batch (or page),
// head, row, column.
using AttentionStrides = std::array<std::int64_t, 4>;

struct AttentionLayout {
  std::int64_t pages_per_sequence = 0;  // 0 without pages
  std::int64_t pages = 0;               // of all sequences
  // Query and output: [batch, row, head, column].
  AttentionStrides query{};
  AttentionStrides output{};
  // [batch, row, head, column]; with pages [page, head, row of the page, column].
  AttentionStrides keys{};
  AttentionStrides values{};
  std::int64_t query_elements = 0;
  std::int64_t output_elements = 0;
  std::int64_t key_elements = 0;
  std::int64_t value_elements = 0;  // 0 if values are in the keys
};

AttentionLayout layout_of(const AttentionSpec& spec);

// The pages of each sequence in turn. Together they are all pages, each once, in a scattered order.
std::vector<std::int32_t> page_table(const AttentionSpec& spec);

// Keys from `begin` to before `end`.
struct VisibleKeys {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Device code calls it too.
constexpr VisibleKeys visible_keys(const AttentionSpec& spec, std::int64_t query) {
  // The last query belongs to the last key.
  const std::int64_t own = query + spec.kv_length - spec.query_length;
  VisibleKeys keys{.begin = 0, .end = spec.kv_length};
  if (spec.causal || spec.window > 0) keys.end = own + 1;
  if (spec.window > 0 && own >= spec.window) keys.begin = own - spec.window + 1;
  return keys;
}

// Returns whether at least one query does not see all keys.
bool needs_mask(const AttentionSpec& spec);

// Returns whether attention reads the keys and values of the new tokens directly while another
// kernel writes them to a cache of another type. This is so if there are only new tokens and no
// pages.
bool fills_cache(const AttentionSpec& spec);

// Returns the same attention over whole tiles of tokens, if it may be computed instead and that may
// be faster: with as many queries as keys and a causal mask, what stands behind the last token
// changes nothing before it. Kernels for fp8, and those for a few tokens, need no whole tiles.
std::optional<AttentionSpec> in_whole_tiles(const AttentionSpec& spec);

// The number of elements that new tokens add to the cache: keys and values, or MLA's latents.
std::int64_t cached_elements(const AttentionSpec& spec);

// Returns why no attention of these shapes exists, or std::nullopt if one does. The reason does not
// name the shapes, so that summaries can group equal reasons.
std::optional<std::string> impossible(const AttentionSpec& spec);

// "32 heads of 128, 8 of keys, 1 x 4096 queries, 4096 keys, causal, bfloat16"
std::string description_of(const AttentionSpec& spec);

}  // namespace assay::collect
