// The layout that the two kernels of the gated delta rule for prompts share. A prompt is cut into
// chunks of 64 tokens. In a chunk, with g the sum of the logarithms of its decays up to a token, S
// the state before the chunk, and all queries and keys normalised,
//
//   V' = T b (V - e^g K S),  O = e^g Q S + P V',  S' = e^(g end) S + (e^(g end - g) K)^T V'
//
// where T is the inverse of 1 + L, L the part of b_i e^(g_i - g_j) k_i.k_j with i > j, and P the
// part of e^(g_i - g_j) q_i.k_j with i >= j (the WY form of a product of Householder matrices; Yang
// and others 2024, "Gated Delta Networks"). T b and P of all chunks are computed first and in
// parallel; they are in a record for each chunk of each value head. The factors of normalising go
// to the rows of K S, Q S and V', so that queries and keys are multiplied as they are.
#pragma once

#include "collect/cuda/delta_net_gates.cuh"
#include "collect/cuda/delta_net_wgmma.cuh"

namespace assay::collect {

inline constexpr int kChunkTokens = static_cast<int>(kDeltaNetChunk);
inline constexpr int kRuleDim = static_cast<int>(kDeltaNetDim);

// A record: T b and P as swizzled tiles of bfloat16, then four rows of 64 floats.
struct ChunkRecord {
  static constexpr int kInverse = 0;
  static constexpr int kScores = kSwizzledTile;
  static constexpr int kFactors = 2 * kSwizzledTile;
  static constexpr int kBytes = kFactors + 4 * kChunkTokens * 4;

  enum Row : std::uint8_t { kKeyStates, kQueryStates, kUpdates, kDecay };
};

static_assert(ChunkRecord::kBytes == kChunkRecordBytes);

struct RuleLayout {
  std::int64_t chunks;  // of a request
  std::int64_t pitch;   // elements from token to token
  std::int64_t keys;    // where the keys of a token begin
  std::int64_t values;  // where its values begin

  __host__ __device__ explicit RuleLayout(const DeltaNetSpec& spec)
      : chunks((spec.length + kDeltaNetChunk - 1) / kDeltaNetChunk),
        pitch((2 * spec.key_heads + spec.value_heads) * kDeltaNetDim),
        keys(spec.key_heads * kDeltaNetDim),
        values(2 * spec.key_heads * kDeltaNetDim) {}
};

cudaError_t prepare_chunk_products();
cudaError_t launch_chunk_products(const DeltaNetArguments& arguments, cudaStream_t stream);

}  // namespace assay::collect
