#include "allreduce/strategy_table.h"

#include <algorithm>
#include <limits>

namespace assay::allreduce {
namespace {

// Which of two is nearer to `wanted` by ratio; of two equally near, the larger. Both are at most
// 2^28, so products fit.
std::int64_t nearer(std::int64_t wanted, std::int64_t a, std::int64_t b) {
  const auto [low, high] = std::minmax({a, b});
  if (wanted <= low) return low;
  if (wanted >= high) return high;
  return wanted * wanted < low * high ? low : high;
}

// Of two slices of one fusion.
const TableSlice& better(const TableSlice& a,
                         const TableSlice& b,
                         int world_size,
                         DataType data_type) {
  if (a.world_size != b.world_size) {
    return nearer(world_size, a.world_size, b.world_size) == a.world_size ? a : b;
  }
  if (a.data_type == data_type) return a;
  if (b.data_type == data_type) return b;
  return a.data_type <= b.data_type ? a : b;
}

const TableSlice* nearest_slice(const std::vector<TableSlice>& slices,
                                Fusion fusion,
                                int world_size,
                                DataType data_type) {
  const TableSlice* best = nullptr;
  for (const TableSlice& slice : slices) {
    if (slice.fusion != fusion || slice.rows.empty()) continue;
    best = best == nullptr ? &slice : &better(*best, slice, world_size, data_type);
  }
  return best;
}

const TableRow* nearest_row(const std::vector<TableRow>& rows, std::int64_t hidden_size) {
  const TableRow* best = &rows.front();
  for (const TableRow& row : rows) {
    if (nearer(hidden_size, best->hidden_size, row.hidden_size) == row.hidden_size) best = &row;
  }
  return best;
}

const TableSegment* segment_of(const std::vector<TableSegment>& segments, std::int64_t size_bytes) {
  const TableSegment* best = nullptr;
  for (const TableSegment& segment : segments) {
    if (segment.from_bytes <= size_bytes) best = &segment;
  }
  return best;
}

}  // namespace

std::int64_t message_bytes(std::int64_t num_tokens, std::int64_t hidden_size, DataType data_type) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t tokens = std::max<std::int64_t>(num_tokens, 1);
  const std::int64_t hidden = std::max<std::int64_t>(hidden_size, 1);
  const std::int64_t most_tokens = kMost / bytes_of(data_type) / hidden;
  return tokens > most_tokens ? kMost : tokens * hidden * bytes_of(data_type);
}

TableMatch StrategyTable::find(int world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) const {
  TableMatch match{.strategy = fallback,
                   .size_bytes = message_bytes(num_tokens, hidden_size, data_type)};
  match.slice = nearest_slice(slices, fusion, world_size, data_type);
  if (match.slice == nullptr) return match;
  match.row = nearest_row(match.slice->rows, hidden_size);
  match.segment = segment_of(match.row->segments, match.size_bytes);
  if (match.segment != nullptr) match.strategy = match.segment->strategy;
  return match;
}

}  // namespace assay::allreduce
