// The tiles of a block of MLA's decoding over bfloat16 with 64 heads.
//
// There is room for two. A tile comes and goes in halves: columns 0 to 255 are the values of one
// warp group, and the rest those of another, with the columns that only scores need. As soon as one
// group has read its half, that of a later tile is on its way.
#pragma once

#include <cstdint>

#include "collect/cuda/mla_decode_block.cuh"

namespace assay::collect::mla {

class HalvedTiles {
 public:
  using Its = Size<false, 64>;

  __device__ HalvedTiles(const MlaDecodeArguments& arguments,
                         const MlaCacheMaps& maps,
                         const Part& part,
                         char* shared)
      : with_(arguments),
        maps_(maps),
        part_(part),
        shared_(shared),
        base_(shared_address(shared)) {}

  // One thread calls it before all use the others.
  __device__ void make_barriers() const {
    for (int stage = 0; stage < Its::kStages; ++stage) {
      for (int half = 0; half < 2; ++half) {
        make_barrier(full(stage, half), 1);
        make_barrier(empty(stage, half), kGroupWarps);
      }
      make_barrier(weights_full(stage), kGroupThreads);
    }
    publish_barriers();
  }

  [[nodiscard]] __device__ int count() const { return part_.tiles.last - part_.tiles.first; }

  [[nodiscard]] __device__ int first_key(int n) const {
    return (part_.tiles.first + n) * kTileKeys;
  }

  // One thread calls it for 0, 1, 2, ...
  __device__ void begin(int n) const {
    if (n >= count()) return;
    const int row = row_of_key(with_, part_.batch, first_key(n));
    begin_half(n, 0, row, 0, kSecondHalf);
    // Both groups have read the weights that lie in the last columns.
    begin_half(n, 1, row, kSecondHalf, kKeyChunks);
  }

  __device__ void await(int n, int half) const {
    wait_for_phase(full(n % Its::kStages, half), n / Its::kStages % 2);
  }

  // All warps of a group call it when they have added their half to the output.
  __device__ void end(int n, int half) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(empty(n % Its::kStages, half));
  }

  [[nodiscard]] __device__ std::uint32_t at(int n) const {
    return base_ + n % Its::kStages * Its::kTileBytes;
  }

  [[nodiscard]] __device__ std::uint32_t weights(int n) const {
    return at(n) + (kKeyChunks - 1) * kBoxBytes;
  }

  [[nodiscard]] __device__ float* factors(int n) const {
    return reinterpret_cast<float*>(shared_ + Its::kFactors) + n % Its::kStages * 64;
  }

  // The flag tells whether the output so far is to be multiplied by the factors.
  [[nodiscard]] __device__ int& flag(int n) const {
    return reinterpret_cast<int*>(shared_ + Its::kFlags)[n % Its::kStages];
  }

  // All threads of the group that has written a tile's weights call it.
  __device__ void give_weights(int n) const {
    publish_writes();
    arrive(weights_full(n % Its::kStages));
  }

  __device__ void await_weights(int n) const {
    wait_for_phase(weights_full(n % Its::kStages), n / Its::kStages % 2);
  }

 private:
  __device__ void begin_half(int n, int half, int row, int first, int last) const {
    const int stage = n % Its::kStages;
    if (n >= Its::kStages) wait_for_phase(empty(stage, half), (n / Its::kStages - 1) % 2);
    arrive_and_expect(full(stage, half), (last - first) * kBoxBytes);
    for (int chunk = first; chunk < last; ++chunk)
      copy_box(at(n) + chunk * kBoxBytes, maps_.latents, chunk * 64, row, full(stage, half));
  }

  [[nodiscard]] __device__ std::uint32_t full(int stage, int half) const {
    return base_ + Its::kCounters + (stage * 2 + half) * 8;
  }

  [[nodiscard]] __device__ std::uint32_t empty(int stage, int half) const {
    return full(stage, half) + Its::kStages * 2 * 8;
  }

  [[nodiscard]] __device__ std::uint32_t weights_full(int stage) const {
    return base_ + Its::kWeightCounters + stage * 8;
  }

  const MlaDecodeArguments& with_;
  const MlaCacheMaps& maps_;
  const Part& part_;
  char* shared_;
  std::uint32_t base_;
};

}  // namespace assay::collect::mla
