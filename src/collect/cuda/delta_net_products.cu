// The first kernel of the gated delta rule for prompts: the products between the tokens of a chunk.
#include "collect/cuda/delta_net_chunks.cuh"

namespace assay::collect {
namespace {

constexpr int kProductThreads = 128;
constexpr int kPitch = kRuleDim + 8;  // elements of a row of keys, which has no bank conflict
constexpr int kLowerPitch = kChunkTokens + 4;  // floats
constexpr int kHalf = kChunkTokens / 2;

struct ChunkShared {
  // Keys and queries, and after their products the matrices L of two value heads, transposed.
  union {
    __nv_bfloat16 tokens[2][kChunkTokens][kPitch];
    float lower[2][kChunkTokens][kLowerPitch];
  };

  alignas(16) unsigned char records[2][ChunkRecord::kBytes];
  float decay_log[2][kChunkTokens];  // sums from the chunk's begin
  float rate[2][kChunkTokens];
  float norm[2][kChunkTokens];  // one over the length of keys, and of queries
  float warp_sum[2];
};

struct ChunkPlace {
  std::int64_t chunk;
  std::int64_t key_head;
  std::int64_t request;
  std::int64_t first;  // token of the request
  int valid;           // tokens of the chunk
};

__device__ void begin_tokens(const DeltaNetArguments& arguments,
                             const ChunkPlace& place,
                             ChunkShared& shared) {
  const RuleLayout layout(arguments.spec);
  const auto* from = static_cast<const __nv_bfloat16*>(arguments.input) +
                     (place.request * arguments.spec.length + place.first) * layout.pitch +
                     place.key_head * kRuleDim;
#pragma unroll
  for (int i = 0; i < 2 * kChunkTokens * (kRuleDim / 8) / kProductThreads; ++i) {
    const int at = i * kProductThreads + static_cast<int>(threadIdx.x);
    const int piece = at % (kRuleDim / 8);
    const int token = at / (kRuleDim / 8) % kChunkTokens;
    const bool is_query = i >= kChunkTokens * (kRuleDim / 8) / kProductThreads;
    const bool exists = token < place.valid;
    const auto* source =
        from + (exists ? token : 0) * layout.pitch + (is_query ? 0 : layout.keys) + piece * 8;
    copy_piece(address_in_shared(&shared.tokens[is_query ? 1 : 0][token][piece * 8]), source,
               exists);
  }
  copies_commit();
}

// Two threads for each token.
__device__ void find_norms(ChunkShared& shared) {
  const int token = static_cast<int>(threadIdx.x) / 2;
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kRuleDim / 16; ++i) {
      const auto piece = *reinterpret_cast<const Vector<__nv_bfloat16>*>(
          &shared.tokens[which][token][(2 * i + static_cast<int>(threadIdx.x) % 2) * 8]);
#pragma unroll
      for (int c = 0; c < 8; ++c)
        sum += as_float(piece.values[c]) * as_float(piece.values[c]);
    }
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    const float scale = which == 0 ? 1.0F : rsqrtf(static_cast<float>(kRuleDim));
    if (threadIdx.x % 2 == 0) shared.norm[which][token] = rsqrtf(sum + kNormEpsilon) * scale;
  }
}

__device__ void multiply_tile(float (&sums)[4],
                              const std::uint32_t (&left)[4],
                              std::uint32_t right0,
                              std::uint32_t right1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}

// The products of 16 tokens' keys and queries with the keys of all tokens up to them.
struct ScoreTiles {
  float keys[8][4];
  float queries[8][4];

  __device__ void multiply(const ChunkShared& shared, int warp, int lane) {
#pragma unroll
    for (int n = 0; n < 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        keys[n][i] = queries[n][i] = 0;
    }
    const int row = warp * 16 + lane % 16;
    const int column = lane / 16 * 8;
    const int right_row = lane / 16 * 8 + lane % 8;
    const int right_column = lane / 8 % 2 * 8;
#pragma unroll
    for (int k = 0; k < kRuleDim; k += 16) {
      std::uint32_t key[4];
      std::uint32_t query[4];
      load_matrices(key, address_in_shared(&shared.tokens[0][row][k + column]));
      load_matrices(query, address_in_shared(&shared.tokens[1][row][k + column]));
#pragma unroll
      for (int n = 0; n < 8; n += 2) {
        if (n > 2 * warp + 1) continue;
        std::uint32_t right[4];
        load_matrices(right,
                      address_in_shared(&shared.tokens[0][n * 8 + right_row][k + right_column]));
        multiply_tile(keys[n], key, right[0], right[1]);
        multiply_tile(queries[n], query, right[0], right[1]);
        multiply_tile(keys[n + 1], key, right[2], right[3]);
        multiply_tile(queries[n + 1], query, right[2], right[3]);
      }
    }
  }
};

__device__ void pair_barrier(int pair) {
  // The barrier is a constant, because the compiler reserves all sixteen for a variable one.
  if (pair == 0) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
}

// Each thread of a pair of warps has a token. Sums the decays from the chunk's begin.
__device__ void find_gates(const DeltaNetArguments& arguments,
                           const ChunkPlace& place,
                           std::int64_t head,
                           int pair,
                           ChunkShared& shared) {
  const int token = static_cast<int>(threadIdx.x) % kChunkTokens;
  DeltaGates gates{0, 0};
  if (token < place.valid)
    gates =
        delta_gates(arguments, place.request * arguments.spec.length + place.first + token, head);
  float sum = gates.decay_log;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const float before = __shfl_up_sync(0xFFFFFFFFU, sum, offset);
    if (token % 32 >= offset) sum += before;
  }
  if (token == 31) shared.warp_sum[pair] = sum;
  pair_barrier(pair);
  if (token >= 32) sum += shared.warp_sum[pair];
  shared.decay_log[pair][token] = sum;
  shared.rate[pair][token] = gates.rate;
}

// Writes L and P of a value head from the products of this warp's tokens.
__device__ void write_scores(
    const ScoreTiles& tiles, int warp, int lane, int pair, ChunkShared& shared) {
#pragma unroll
  for (int n = 0; n < 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp * 16 + half * 8 + lane / 4;
      const int column = n * 8 + lane % 4 * 2;
      float scores[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int j = column + i;
        const float factor = row < j
                                 ? 0.0F
                                 : __expf(shared.decay_log[pair][row] - shared.decay_log[pair][j]) *
                                       shared.norm[0][j];
        scores[i] = tiles.queries[n][half * 2 + i] * factor * shared.norm[1][row];
        if (row > j) {
          shared.lower[pair][j][row] =
              tiles.keys[n][half * 2 + i] * factor * shared.norm[0][row] * shared.rate[pair][row];
        }
      }
      *reinterpret_cast<std::uint32_t*>(shared.records[pair] + ChunkRecord::kScores +
                                        swizzled(row, n) + lane % 4 * 4) =
          packed_pair(scores[0], scores[1]);
    }
  }
}

__device__ void write_inverse(ChunkShared& shared, int pair, int row, int column, float value) {
  *reinterpret_cast<__nv_bfloat16*>(shared.records[pair] + ChunkRecord::kInverse +
                                    swizzled(row, column / 8) + column % 8 * 2) =
      __float2bfloat16(value);
}

// Inverts the half of 1 + L on the diagonal that begins at `base`, a column in each lane, and puts
// the inverse (not transposed) in the place of L.
__device__ void invert_half(ChunkShared& shared, int pair, int base, int lane) {
  float column[kHalf];
#pragma unroll
  for (int i = 0; i < kHalf; ++i)
    column[i] = i == lane ? 1.0F : 0.0F;
#pragma unroll
  for (int m = 0; m < kHalf - 1; ++m) {
#pragma unroll
    for (int part = (m + 1) / 4; part < kHalf / 4; ++part) {
      const float4 below =
          *reinterpret_cast<const float4*>(&shared.lower[pair][base + m][base + part * 4]);
      const float factors[4] = {below.x, below.y, below.z, below.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (part * 4 + i > m) column[part * 4 + i] -= factors[i] * column[m];
      }
    }
  }
  __syncwarp();
  const float rate = shared.rate[pair][base + lane];
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    shared.lower[pair][base + i][base + lane] = column[i];
    write_inverse(shared, pair, base + i, base + lane, column[i] * rate);
  }
}

// Multiplies 16 rows of [32, 32] by [32, 32] in TF32. `left` and `right` return elements.
template <class Left, class Right>
__device__ void multiply_halves(float (&sums)[4][4], int lane, Left left, Right right) {
  const int row = lane / 4;
  const int column = lane % 4;
#pragma unroll
  for (int k = 0; k < kHalf; k += 8) {
    std::uint32_t a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      a[i] = __float_as_uint(left(row + i % 2 * 8, k + column + i / 2 * 4));
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const std::uint32_t b0 = __float_as_uint(right(k + column, n * 8 + row));
      const std::uint32_t b1 = __float_as_uint(right(k + column + 4, n * 8 + row));
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
          "{%8,%9}, {%0,%1,%2,%3};"
          : "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
  }
}

// With the inverses of both halves on the diagonal, the part below them is -T22 L21 T11.
__device__ void join_halves(ChunkShared& shared, int pair, int lane, int rows) {
  auto& lower = shared.lower[pair];
  float sums[4][4] = {};
  multiply_halves(
      sums, lane, [&](int i, int m) { return lower[m][kHalf + rows + i]; },
      [&](int m, int j) { return lower[m][j]; });
#pragma unroll
  for (int n = 0; n < 4; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      lower[kHalf + rows + i / 2 * 8 + lane / 4][n * 8 + lane % 4 * 2 + i % 2] = sums[n][i];
      sums[n][i] = 0;
    }
  }
  pair_barrier(pair);
  multiply_halves(
      sums, lane, [&](int i, int m) { return lower[kHalf + rows + i][kHalf + m]; },
      [&](int m, int j) { return lower[kHalf + m][j]; });
#pragma unroll
  for (int n = 0; n < 4; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int column = n * 8 + lane % 4 * 2;
      *reinterpret_cast<std::uint32_t*>(shared.records[pair] + ChunkRecord::kInverse +
                                        swizzled(kHalf + rows + half * 8 + lane / 4, n) +
                                        lane % 4 * 4) =
          packed_pair(-sums[n][half * 2] * shared.rate[pair][column],
                      -sums[n][half * 2 + 1] * shared.rate[pair][column + 1]);
    }
  }
}

__device__ void write_factors(ChunkShared& shared, int pair) {
  const int token = static_cast<int>(threadIdx.x) % kChunkTokens;
  auto* factors = reinterpret_cast<float*>(shared.records[pair] + ChunkRecord::kFactors);
  const float sum = shared.decay_log[pair][token];
  const float end = shared.decay_log[pair][kChunkTokens - 1];
  factors[ChunkRecord::kKeyStates * kChunkTokens + token] = __expf(sum) * shared.norm[0][token];
  factors[ChunkRecord::kQueryStates * kChunkTokens + token] = __expf(sum) * shared.norm[1][token];
  factors[ChunkRecord::kUpdates * kChunkTokens + token] = __expf(end - sum) * shared.norm[0][token];
  factors[ChunkRecord::kDecay * kChunkTokens + token] = __expf(end);
}

__device__ void write_empty_quarter(ChunkShared& shared, int pair) {
  const int thread = static_cast<int>(threadIdx.x) % 64;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    *reinterpret_cast<uint4*>(shared.records[pair] + ChunkRecord::kInverse +
                              swizzled(thread / 2, 4 + thread % 2 * 2 + i)) = {0, 0, 0, 0};
  }
}

__device__ void copy_record(const ChunkShared& shared, int pair, void* record) {
  const auto* from = reinterpret_cast<const uint4*>(shared.records[pair]);
  for (int i = static_cast<int>(threadIdx.x) % 64; i < ChunkRecord::kBytes / 16; i += 64)
    static_cast<uint4*>(record)[i] = from[i];
}

__global__ void __launch_bounds__(kProductThreads, 3) chunk_products(DeltaNetArguments arguments) {
  extern __shared__ __align__(16) unsigned char chunk_memory[];
  auto& shared = *reinterpret_cast<ChunkShared*>(chunk_memory);
  const DeltaNetSpec& spec = arguments.spec;
  const RuleLayout layout(spec);
  ChunkPlace place{.chunk = blockIdx.x, .key_head = blockIdx.y, .request = blockIdx.z};
  place.first = place.chunk * kChunkTokens;
  place.valid = static_cast<int>(min(spec.length - place.first, kDeltaNetChunk));
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int pair = warp / 2;
  const std::int64_t sharers = spec.value_heads / spec.key_heads;
  const auto head_of = [&](std::int64_t first) {
    return place.key_head * sharers + (first + pair < sharers ? first + pair : first);
  };
  begin_tokens(arguments, place, shared);
  find_gates(arguments, place, head_of(0), pair, shared);
  copies_wait<0>();
  __syncthreads();
  find_norms(shared);
  ScoreTiles tiles;
  tiles.multiply(shared, warp, lane);
  for (std::int64_t first = 0; first < sharers; first += 2) {
    if (first > 0) find_gates(arguments, place, head_of(first), pair, shared);
    __syncthreads();  // also: no warp reads the tokens any more
    write_scores(tiles, warp, lane, 0, shared);
    write_scores(tiles, warp, lane, 1, shared);
    __syncthreads();
    invert_half(shared, pair, warp % 2 * kHalf, lane);
    pair_barrier(pair);
    join_halves(shared, pair, lane, warp % 2 * 16);
    write_empty_quarter(shared, pair);
    write_factors(shared, pair);
    pair_barrier(pair);
    const std::int64_t at =
        (place.request * spec.value_heads + head_of(first)) * layout.chunks + place.chunk;
    if (first + pair < sharers)
      copy_record(shared, pair, static_cast<char*>(arguments.records) + at * kChunkRecordBytes);
    __syncthreads();
  }
}

}  // namespace

cudaError_t prepare_chunk_products() {
  return cudaFuncSetAttribute(chunk_products, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              sizeof(ChunkShared));
}

cudaError_t launch_chunk_products(const DeltaNetArguments& arguments, cudaStream_t stream) {
  const RuleLayout layout(arguments.spec);
  const dim3 blocks(static_cast<unsigned>(layout.chunks),
                    static_cast<unsigned>(arguments.spec.key_heads),
                    static_cast<unsigned>(arguments.spec.batch));
  chunk_products<<<blocks, kProductThreads, sizeof(ChunkShared), stream>>>(arguments);
  return cudaGetLastError();
}

}  // namespace assay::collect
