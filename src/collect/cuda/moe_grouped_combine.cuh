// The weighted sum of each token's rows, in the kernel that makes the rows: warps that do not
// multiply add 256 columns up as soon as all rows have them, when they are still in the L2 cache.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "collect/cuda/moe_grouped_block.cuh"

namespace assay::collect {

// Tells that a warpgroup has written an item, one item later, when waiting for its writes costs
// nothing. All threads of the warpgroup must have met between the writes and the call.
class FinishedParts {
 public:
  __device__ FinishedParts(const GroupedArguments& arguments, int thread)
      : finished_(thread == 0 && arguments.combine.output != nullptr ? arguments.combine.finished
                                                                     : nullptr) {}

  __device__ void tell_last() const {
    if (finished_ == nullptr || part_ < 0) return;
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(finished_ + part_) : "memory");
  }

  __device__ void set(int part) { part_ = part; }

 private:
  std::int32_t* finished_;
  int part_ = -1;
};

// The positions of some tokens' rows, each lane with one.
struct CombinedRows {
  int row = -1;
  float share = 0;
};

// A warp works on as many tokens at a time as it has lanes for their choices.
class CombineWork {
 public:
  __device__ CombineWork(const GroupedArguments& arguments, int lane)
      : arguments_(arguments), combine_(arguments.combine), lane_(lane) {
    while (1 << shift_ < combine_.top_k)
      ++shift_;
    const int tokens = 32 >> shift_;
    units_ = (combine_.tokens + tokens - 1) / tokens;
  }

  __device__ void work() const {
    const int parts = (arguments_.columns + kCombinedColumns - 1) / kCombinedColumns;
    const int all = units_ * parts;
    int unit = from_first_lane(begun(parts));
    int ready = -1;
    CombinedRows rows = rows_of(unit % units_);
    while (unit < all) {
      const int next_of_first = begun(parts);
      const int part = unit / units_;
      if (part > ready) wait_for(part);
      ready = part;
      add_token(rows, part, unit % units_, 0);
      const int next = from_first_lane(next_of_first);
      const CombinedRows next_rows = rows_of(next % units_);
      for (int i = 1; i < 32 >> shift_; ++i)
        add_token(rows, part, unit % units_, i);
      unit = next;
      rows = next_rows;
    }
  }

 private:
  static constexpr int kTogether = 8;  // rows whose loads are under way together

  static __device__ int from_first_lane(int value) { return __shfl_sync(0xFFFFFFFFU, value, 0); }

  [[nodiscard]] __device__ int begun(int parts) const {
    return lane_ == 0 ? atomicAdd(combine_.finished + parts, 1) : 0;
  }

  __device__ void wait_for(int part) const {
    // Both warpgroups tell of each tile.
    const int enough = kMultipliers * *arguments_.tile_count;
    if (lane_ == 0) {
      int finished = 0;
      while (true) {
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];"
                     : "=r"(finished)
                     : "l"(combine_.finished + part)
                     : "memory");
        if (finished >= enough) break;
        __nanosleep(200);
      }
    }
    __syncwarp();
  }

  [[nodiscard]] __device__ CombinedRows rows_of(int unit) const {
    const int token = (unit << (5 - shift_)) + (lane_ >> shift_);
    const int choice = lane_ & ((1 << shift_) - 1);
    if (token >= combine_.tokens || choice >= combine_.top_k) return {};
    const std::int64_t at = std::int64_t{token} * combine_.top_k + choice;
    const int row = combine_.positions[at];
    return {row, row >= 0 ? combine_.shares[at] : 0};
  }

  __device__ void add_token(const CombinedRows& rows, int part, int unit, int nth) const {
    const int token = (unit << (5 - shift_)) + nth;
    if (token >= combine_.tokens) return;
    const int column = part * kCombinedColumns + lane_ * 8;
    const bool has_columns = column < arguments_.columns;
    const unsigned choices = ((1ULL << (1 << shift_)) - 1) << (nth << shift_);
    unsigned left = __ballot_sync(0xFFFFFFFFU, rows.row >= 0) & choices;
    float sums[8] = {};
    while (left != 0) {
      uint4 loaded[kTogether];
      float shares[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const int from = left != 0 ? __ffs(static_cast<int>(left)) - 1 : 0;
        const int row = __shfl_sync(0xFFFFFFFFU, rows.row, from);
        const float share = __shfl_sync(0xFFFFFFFFU, rows.share, from);
        const bool is_needed = left != 0;
        shares[i] = is_needed ? share : 0;
        loaded[i] = is_needed && has_columns ? load(row, column) : uint4{};
        left &= left - 1;
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        add(loaded[i], shares[i], sums);
    }
    if (has_columns) store(token, column, sums);
  }

  [[nodiscard]] __device__ uint4 load(int row, int column) const {
    const auto* rows = static_cast<const __nv_bfloat16*>(arguments_.output);
    return __ldcg(
        reinterpret_cast<const uint4*>(rows + std::int64_t{row} * arguments_.columns + column));
  }

  static __device__ void add(const uint4& loaded, float share, float (&sums)[8]) {
    const std::uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[2 * i] += share * __uint_as_float(words[i] << 16U);
      sums[2 * i + 1] += share * __uint_as_float(words[i] & 0xFFFF0000U);
    }
  }

  __device__ void store(int token, int column, const float (&sums)[8]) const {
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(sums[2 * i], sums[2 * i + 1]);
      words[i] = reinterpret_cast<const std::uint32_t&>(pair);
    }
    auto* to = static_cast<__nv_bfloat16*>(combine_.output) +
               std::int64_t{token} * arguments_.columns + column;
    *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
  }

  const GroupedArguments& arguments_;
  const GroupedCombine& combine_;
  int lane_;
  int shift_ = 0;  // 2^shift_ lanes hold the choices of a token
  int units_;
};

}  // namespace assay::collect
