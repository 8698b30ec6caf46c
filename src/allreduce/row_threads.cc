#include "allreduce/row_threads.h"

#include <algorithm>

#include "allreduce/row_division.h"

namespace assay::allreduce {
namespace {

constexpr int kVectorBytes = 16;
// Longer rows than any kernel takes have the threads of these.
constexpr std::int64_t kMostRowVectors = std::int64_t{1} << 20;

}  // namespace

double busy_threads(Strategy strategy,
                    Fusion fusion,
                    int world_size,
                    std::int64_t hidden_size,
                    DataType data_type) {
  const bool has_rows = fusion != Fusion::kNone &&
                        (strategy == Strategy::kOneshot || strategy == Strategy::kTwoshotPush);
  if (!has_rows || hidden_size < 1) return 1;
  const std::int64_t element_bytes = bytes_of(data_type);
  const auto vectors = static_cast<double>(hidden_size * element_bytes) / kVectorBytes;
  auto threads = static_cast<int>(std::min<std::int64_t>(
      divide_up<std::int64_t>(hidden_size * element_bytes, kVectorBytes), kMostRowVectors));
  double slices = 1;
  if (strategy == Strategy::kTwoshotPush) {
    const auto group = static_cast<int>(kNvfp4Group * element_bytes / kVectorBytes);
    threads = slice_vectors(threads, world_size, group);
    slices = world_size;
  }
  return vectors / slices / threads_of_row(threads);
}

}  // namespace assay::allreduce
