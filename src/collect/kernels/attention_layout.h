// Where the numbers of an attention lie, and which keys a query sees. The same for all devices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/kernels/kernels.h"

namespace assay::collect {

// Distances in elements between neighbours of a tensor's dimensions: batch (or page), head, row,
// column.
using AttentionStrides = std::array<std::int64_t, 4>;

struct AttentionLayout {
  std::int64_t pages_per_sequence = 0;  // 0: not paged
  std::int64_t pages = 0;               // of all sequences
  // Query and output: [batch, row, head, column].
  AttentionStrides query{};
  AttentionStrides output{};
  // [batch, row, head, column], or, paged, [page, head, row of the page, column].
  AttentionStrides keys{};
  AttentionStrides values{};
  std::int64_t query_elements = 0;
  std::int64_t output_elements = 0;
  std::int64_t key_elements = 0;
  std::int64_t value_elements = 0;  // 0: they are in the keys
};

AttentionLayout layout_of(const AttentionSpec& spec);

// The pages of each sequence in turn, in an order without order, each page once.
std::vector<std::int32_t> page_table(const AttentionSpec& spec);

// Keys begin <= key < end.
struct VisibleKeys {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Also for kernels, which have no standard library.
constexpr VisibleKeys visible_keys(const AttentionSpec& spec, std::int64_t query) {
  // The last query stands at the last key.
  const std::int64_t own = query + spec.kv_length - spec.query_length;
  VisibleKeys keys{.begin = 0, .end = spec.kv_length};
  if (spec.causal || spec.window > 0) keys.end = own + 1;
  if (spec.window > 0 && own >= spec.window) keys.begin = own - spec.window + 1;
  return keys;
}

// Whether some query does not see all keys.
bool needs_mask(const AttentionSpec& spec);

// Whether attention reads keys and values as they were just made, and another kernel writes them to
// a cache of another type: new tokens after none, with nothing in pages.
bool fills_cache(const AttentionSpec& spec);

// What new tokens add to the cache: keys and values, or MLA's latents.
std::int64_t cached_elements(const AttentionSpec& spec);

// Why no attention of these shapes exists, without the shapes, by which summaries would not group;
// nothing if it does.
std::optional<std::string> impossible(const AttentionSpec& spec);

// "32 heads of 128, 8 of keys, 1 x 4096 queries, 4096 keys, causal, bfloat16"
std::string description_of(const AttentionSpec& spec);

}  // namespace assay::collect
