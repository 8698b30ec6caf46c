#include "allreduce/row_threads.h"

#include <bit>

namespace assay::allreduce {
namespace {

constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kWarpThreads = 32;
constexpr std::int64_t kNvfp4Group = 16;  // elements; a slice has whole groups

std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

std::int64_t whole_threads(std::int64_t threads) {
  if (threads > kWarpThreads) return divided_up(threads, kWarpThreads) * kWarpThreads;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(threads)));
}

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
  std::int64_t threads = divided_up(hidden_size * element_bytes, kVectorBytes);
  if (strategy == Strategy::kTwoshotPush) {
    const std::int64_t group = kNvfp4Group * element_bytes / kVectorBytes;
    threads = divided_up(divided_up(threads, world_size), group) * group;
  }
  const auto vectors = static_cast<double>(hidden_size * element_bytes) / kVectorBytes;
  const double slices = strategy == Strategy::kTwoshotPush ? world_size : 1;
  return vectors / slices / static_cast<double>(whole_threads(threads));
}

}  // namespace assay::allreduce
