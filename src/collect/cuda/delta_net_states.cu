// The second kernel of the gated delta rule for prompts: it walks over the chunks of a request with
// the state in registers. A warpgroup has 64 columns of a head's state and computes everything
// transposed, so that states, differences and updates go from product to product in registers and
// only keys, queries and the records pass through shared memory.
#include "collect/cuda/delta_net_chunks.cuh"
#include "collect/cuda/tensor_map.h"

namespace assay::collect {
namespace {

constexpr int kGroupThreads = 128;
constexpr int kGroupColumns = 64;
constexpr int kStages = 3;
constexpr int kTokensBytes = 2 * kSwizzledTile;  // 64 tokens of 128 elements

struct StageLayout {
  static constexpr int kKeys = 0;
  static constexpr int kQueries = kTokensBytes;
  static constexpr int kRecord = 2 * kTokensBytes;
  static constexpr int kValues = kRecord + ChunkRecord::kBytes;  // a tile for each warpgroup
};

template <int kGroups>
constexpr int kStageBytes = StageLayout::kValues + kGroups* kSwizzledTile;

template <int kGroups>
constexpr int kStatesBytes = kStages* kStageBytes<kGroups> + 1024;  // with room to align

// What a block works on.
struct StatesPlace {
  std::int64_t request;
  std::int64_t head;
  std::int64_t key_head;
  int first_column;  // of the head's values
};

// A barrier of shared memory for each stage: kFull when its data have come, kEmpty when all warps
// have read it.
__device__ void make_stage_barrier(std::uint64_t& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_in_shared(&barrier)),
               "r"(arrivals));
}

__device__ void leave_stage(std::uint64_t& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_in_shared(&barrier))
               : "memory");
}

__device__ void expect_bytes(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ void wait_for_stage(std::uint64_t& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(address_in_shared(&barrier)),
      "r"(parity)
      : "memory");
}

// Copies 64 channels of 64 tokens to a swizzled tile; tokens past the request's end become zeros.
__device__ void copy_tile(std::uint32_t to,
                          const CUtensorMap& map,
                          int channel,
                          int token,
                          int request,
                          std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(channel), "r"(token), "r"(request)
      : "memory");
}

__device__ void copy_whole(std::uint32_t to, const void* from, int bytes, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

struct StageBarriers {
  std::uint64_t full[kStages];
  std::uint64_t empty[kStages];
};

template <int kGroups>
class ChunkLoader {
 public:
  __device__ ChunkLoader(const DeltaNetArguments& arguments,
                         const StatesPlace& place,
                         const CUtensorMap& map)
      : map_(map), chunks_(RuleLayout(arguments.spec).chunks) {
    const RuleLayout layout(arguments.spec);
    request_ = static_cast<int>(place.request);
    queries_ = static_cast<int>(place.key_head) * kRuleDim;
    keys_ = queries_ + static_cast<int>(layout.keys);
    values_ = static_cast<int>(layout.values + place.head * kRuleDim) + place.first_column;
    records_ =
        static_cast<const char*>(arguments.records) +
        (place.request * arguments.spec.value_heads + place.head) * chunks_ * kChunkRecordBytes;
  }

  [[nodiscard]] __device__ std::int64_t chunks() const { return chunks_; }

  // Begins to copy a chunk, if there is one. One thread calls this.
  __device__ void begin(std::int64_t chunk, std::uint32_t stage, std::uint64_t& full) const {
    if (chunk >= chunks_) return;
    const std::uint32_t barrier = address_in_shared(&full);
    const int token = static_cast<int>(chunk) * kChunkTokens;
    expect_bytes(barrier, kStageBytes<kGroups>);
#pragma unroll
    for (int half = 0; half < 2; ++half)
      copy_tile(stage + StageLayout::kKeys + half * kSwizzledTile, map_, keys_ + half * 64, token,
                request_, barrier);
    copy_whole(stage + StageLayout::kRecord, records_ + chunk * kChunkRecordBytes,
               ChunkRecord::kBytes, barrier);
#pragma unroll
    for (int group = 0; group < kGroups; ++group)
      copy_tile(stage + StageLayout::kValues + group * kSwizzledTile, map_, values_ + group * 64,
                token, request_, barrier);
#pragma unroll
    for (int half = 0; half < 2; ++half)
      copy_tile(stage + StageLayout::kQueries + half * kSwizzledTile, map_, queries_ + half * 64,
                token, request_, barrier);
  }

 private:
  const CUtensorMap& map_;
  std::int64_t chunks_;
  const char* records_;
  int request_;
  int queries_;
  int keys_;
  int values_;
};

__device__ float2 factors_of(const unsigned char* record, ChunkRecord::Row row, int token) {
  return *reinterpret_cast<const float2*>(record + ChunkRecord::kFactors +
                                          (row * kChunkTokens + token) * 4);
}

// The state of 64 columns, transposed: a warpgroup's sums of [64 columns, 128 rows].
struct HeldState {
  float sums[64];
  std::uint32_t rounded[8][4];

  __device__ void clear() {
#pragma unroll
    for (float& sum : sums)
      sum = 0;
    round();
  }

  __device__ void round() {
#pragma unroll
    for (int step = 0; step < 8; ++step)
      as_left(sums, step, rounded[step]);
  }
};

// Multiplies the rounded state by 64 tokens of keys or queries.
__device__ void multiply_states(float (&products)[32],
                                const HeldState& state,
                                std::uint32_t tokens) {
#pragma unroll
  for (int step = 0; step < 8; ++step) {
    const std::uint32_t at =
        tokens + static_cast<std::uint32_t>(step / 4 * kSwizzledTile + step % 4 * 32);
    multiply_64(products, state.rounded[step], matrix_at(at), step > 0);
  }
  products_commit();
}

// Multiplies [64 columns, 64 tokens] by a tile of a record, transposed.
__device__ void multiply_record(float (&products)[32],
                                const std::uint32_t (&left)[4][4],
                                std::uint32_t tile,
                                bool adds) {
#pragma unroll
  for (int step = 0; step < 4; ++step)
    multiply_64(products, left[step], matrix_at(tile + static_cast<std::uint32_t>(step * 32)),
                adds || step > 0);
  products_commit();
}

__device__ float2 as_floats(std::uint32_t pair) {
  return __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(pair));
}

// The address that a lane gives to the loads and stores of two groups of eight tokens.
__device__ std::uint32_t transposed_address(std::uint32_t tile, int step, int warp, int lane) {
  const int token = step * 16 + lane / 16 * 8 + lane % 8;
  return tile + static_cast<std::uint32_t>(swizzled(token, warp * 2 + lane / 8 % 2));
}

class ColumnGroup {
 public:
  __device__ ColumnGroup() {
    warp_ = static_cast<int>(threadIdx.x) % kGroupThreads / 32;
    lane_ = static_cast<int>(threadIdx.x) % 32;
    state_.clear();
  }

  __device__ void begin_keys(const unsigned char* stage) {
    products_begin();
    multiply_states(differences_, state_, address_in_shared(stage) + StageLayout::kKeys);
  }

  __device__ void begin_queries(const unsigned char* stage) {
    products_begin();
    multiply_states(outputs_, state_, address_in_shared(stage) + StageLayout::kQueries);
  }

  // Advances by a chunk whose products with the state have begun. `next_decay` waits for the next
  // chunk and returns its decay. What registers of running products hold must not be touched, not
  // even that of finished ones, or the compiler waits for all; therefore the state decays here.
  template <class NextDecay>
  __device__ void advance(const unsigned char* stage, int group, NextDecay next_decay) {
    const unsigned char* record = stage + StageLayout::kRecord;
    const std::uint32_t memory = address_in_shared(stage);
    const std::uint32_t values =
        memory + static_cast<std::uint32_t>(StageLayout::kValues + group * kSwizzledTile);
    products_wait<1>();
    std::uint32_t left[4][4];
    subtract_from_values(differences_, record, values, left);
    products_begin();
    multiply_record(differences_, left, memory + StageLayout::kRecord + ChunkRecord::kInverse,
                    false);
    products_wait<0>();
    std::uint32_t scaled[4][4];
    scale_updates(differences_, outputs_, record, left, scaled);
    products_begin();
    multiply_keys(scaled, memory + StageLayout::kKeys);
    multiply_record(outputs_, left, memory + StageLayout::kRecord + ChunkRecord::kScores, true);
    products_wait<1>();
    state_.round();
    const float decay = next_decay();
#pragma unroll
    for (float& sum : state_.sums)
      sum *= decay;
    products_wait<0>();
#pragma unroll
    for (int step = 0; step < 4; ++step)
      as_left(outputs_, step, rounded_[step]);
  }

  // Leaves the outputs in the place of the values.
  __device__ void leave_outputs(unsigned char* tile) {
    const std::uint32_t values = address_in_shared(tile);
#pragma unroll
    for (int step = 0; step < 4; ++step)
      store_transposed(rounded_[step], transposed_address(values, step, warp_, lane_));
    __syncwarp();
  }

  // Stores what this warp left in the place of the values: 16 columns of 64 tokens.
  __device__ void store_outputs(const unsigned char* tile,
                                __nv_bfloat16* to,
                                std::int64_t pitch,
                                int valid) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int token = i * 16 + lane_ / 2;
      const int piece = warp_ * 2 + lane_ % 2;
      const uint4 bits = *reinterpret_cast<const uint4*>(tile + swizzled(token, piece));
      if (token < valid) *reinterpret_cast<uint4*>(to + token * pitch + piece * 8) = bits;
    }
  }

  // `to` has a row for each element of a key.
  __device__ void store_state(float* to) const {
    const int column = warp_ * 16 + lane_ / 4;
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      const int row = i / 4 * 8 + lane_ % 4 * 2 + i % 2;
      to[row * kRuleDim + column + i / 2 % 2 * 8] = state_.sums[i];
    }
  }

 private:
  // values - e^g K S, which becomes a left matrix.
  __device__ void subtract_from_values(const float (&products)[32],
                                       const unsigned char* record,
                                       std::uint32_t values,
                                       std::uint32_t (&left)[4][4]) const {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t loaded[4];
      load_transposed(loaded, transposed_address(values, step, warp_, lane_));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int token = step * 16 + i / 2 * 8 + lane_ % 4 * 2;
        const float2 factor = factors_of(record, ChunkRecord::kKeyStates, token);
        const float2 value = as_floats(loaded[i]);
        left[step][i] = packed_pair(value.x - factor.x * products[step * 8 + 2 * i],
                                    value.y - factor.y * products[step * 8 + 2 * i + 1]);
      }
    }
  }

  // The updates as left matrices, once as they are and once with the decay to the chunk's end; and
  // the part of the outputs that comes from the state.
  __device__ void scale_updates(const float (&updates)[32],
                                float (&outputs)[32],
                                const unsigned char* record,
                                std::uint32_t (&left)[4][4],
                                std::uint32_t (&scaled)[4][4]) const {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = step * 8 + 2 * i;
        const int token = step * 16 + i / 2 * 8 + lane_ % 4 * 2;
        const float2 factor = factors_of(record, ChunkRecord::kUpdates, token);
        const float2 query = factors_of(record, ChunkRecord::kQueryStates, token);
        left[step][i] = packed_pair(updates[at], updates[at + 1]);
        scaled[step][i] = packed_pair(factor.x * updates[at], factor.y * updates[at + 1]);
        outputs[at] *= query.x;
        outputs[at + 1] *= query.y;
      }
    }
  }

  __device__ void multiply_keys(const std::uint32_t (&scaled)[4][4], std::uint32_t keys) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const std::uint32_t at = keys + static_cast<std::uint32_t>(step * 16 * kSwizzledRow);
      multiply_128(state_.sums, scaled[step], matrix_at(at, kSwizzledTile));
    }
    products_commit();
  }

  HeldState state_;
  float differences_[32];
  float outputs_[32];
  std::uint32_t rounded_[4][4];  // the last outputs
  int warp_ = 0;
  int lane_ = 0;
};

template <int kGroups>
__global__ void __launch_bounds__(kGroups* kGroupThreads, 1)
    walk_chunks(DeltaNetArguments arguments, const __grid_constant__ CUtensorMap map) {
  extern __shared__ unsigned char states_memory[];
  __shared__ StageBarriers barriers;
  const DeltaNetSpec& spec = arguments.spec;
  constexpr int kBlocksOfHead = kRuleDim / (kGroups * kGroupColumns);
  StatesPlace place{};
  place.request = blockIdx.y;
  place.head = blockIdx.x / kBlocksOfHead;
  place.key_head = place.head / (spec.value_heads / spec.key_heads);
  place.first_column = static_cast<int>(blockIdx.x) % kBlocksOfHead * kGroups * kGroupColumns;
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  unsigned char* memory = states_memory + ((1024 - address_in_shared(states_memory) % 1024) % 1024);
  const ChunkLoader<kGroups> loader(arguments, place, map);
  const auto stage_of = [&](std::int64_t chunk) {
    return memory + static_cast<int>(chunk % kStages) * kStageBytes<kGroups>;
  };
  const auto load = [&](std::int64_t chunk) {
    loader.begin(chunk, address_in_shared(stage_of(chunk)), barriers.full[chunk % kStages]);
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      make_stage_barrier(barriers.full[stage], 1);
      make_stage_barrier(barriers.empty[stage], kGroups * kGroupThreads / 32);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    for (int chunk = 0; chunk < kStages; ++chunk)
      load(chunk);
  }
  __syncthreads();

  ColumnGroup columns;
  const std::int64_t pitch = spec.value_heads * kRuleDim;
  auto* output = static_cast<__nv_bfloat16*>(arguments.output) +
                 place.request * spec.length * pitch + place.head * kRuleDim + place.first_column +
                 group * kGroupColumns;
  const auto finish = [&](std::int64_t chunk) {
    unsigned char* tile = stage_of(chunk) + StageLayout::kValues + group * kSwizzledTile;
    const std::int64_t first = chunk * kChunkTokens;
    columns.leave_outputs(tile);
    columns.store_outputs(tile, output + first * pitch, pitch,
                          static_cast<int>(min(spec.length - first, kDeltaNetChunk)));
    show_to_tensor_cores();  // and to the copies that come next
    __syncwarp();
    if (threadIdx.x % 32 == 0) leave_stage(barriers.empty[chunk % kStages]);
  };
  const auto await = [&](std::int64_t chunk) {
    wait_for_stage(barriers.full[chunk % kStages], static_cast<unsigned>(chunk / kStages) & 1U);
  };
  await(0);
  for (std::int64_t chunk = 0; chunk < loader.chunks(); ++chunk) {
    unsigned char* stage = stage_of(chunk);
    columns.begin_keys(stage);
    // The outputs before are stored while the first product runs.
    if (chunk > 0) {
      const std::int64_t before = chunk - 1;
      finish(before);
      if (threadIdx.x == 0 && before + kStages < loader.chunks()) {
        wait_for_stage(barriers.empty[before % kStages],
                       static_cast<unsigned>(before / kStages) & 1U);
        load(before + kStages);
      }
      __syncwarp();
    }
    columns.begin_queries(stage);
    columns.advance(stage, group, [&] {
      if (chunk + 1 == loader.chunks()) return 1.0F;
      await(chunk + 1);
      return factors_of(stage_of(chunk + 1) + StageLayout::kRecord, ChunkRecord::kDecay, 0).x;
    });
  }
  finish(loader.chunks() - 1);
  columns.store_state(arguments.state +
                      (place.request * spec.value_heads + place.head) * kRuleDim * kRuleDim +
                      place.first_column + group * kGroupColumns);
}

// A map of all tokens' channels, of which boxes of 64 channels of 64 tokens of a request are
// copied.
cudaError_t map_of_tokens(const DeltaNetArguments& arguments, CUtensorMap& map) {
  static const EncodeTensorMap encode = encode_tensor_map();
  if (encode == nullptr) return cudaErrorNotSupported;
  const RuleLayout layout(arguments.spec);
  constexpr std::int64_t kElement = 2;
  const cuuint64_t sizes[3] = {static_cast<cuuint64_t>(layout.pitch),
                               static_cast<cuuint64_t>(arguments.spec.length),
                               static_cast<cuuint64_t>(arguments.spec.batch)};
  const cuuint64_t pitches[2] = {
      static_cast<cuuint64_t>(layout.pitch * kElement),
      static_cast<cuuint64_t>(layout.pitch * kElement * arguments.spec.length)};
  const cuuint32_t box[3] = {64, kChunkTokens, 1};
  const cuuint32_t steps[3] = {1, 1, 1};
  const CUresult made =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<void*>(arguments.input), sizes,
             pitches, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return made == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

template <int kGroups>
cudaError_t prepare_walk() {
  return cudaFuncSetAttribute(walk_chunks<kGroups>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              kStatesBytes<kGroups>);
}

template <int kGroups>
cudaError_t launch_walk(const DeltaNetArguments& arguments, cudaStream_t stream) {
  CUtensorMap map;
  const cudaError_t mapped = map_of_tokens(arguments, map);
  if (mapped != cudaSuccess) return mapped;
  const dim3 blocks(
      static_cast<unsigned>(arguments.spec.value_heads * kRuleDim / (kGroups * kGroupColumns)),
      static_cast<unsigned>(arguments.spec.batch));
  walk_chunks<kGroups>
      <<<blocks, kGroups * kGroupThreads, kStatesBytes<kGroups>, stream>>>(arguments, map);
  return cudaGetLastError();
}

}  // namespace

cudaError_t prepare_delta_net() {
  for (const cudaError_t error : {prepare_chunk_products(), prepare_walk<1>(), prepare_walk<2>()}) {
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// Heads are cut in halves while that leaves no multiprocessor with two blocks.
cudaError_t delta_rule_prompt(const DeltaNetArguments& arguments, cudaStream_t stream) {
  const cudaError_t error = launch_chunk_products(arguments, stream);
  if (error != cudaSuccess) return error;
  constexpr std::int64_t kMultiprocessors = 132;
  const std::int64_t heads = arguments.spec.batch * arguments.spec.value_heads;
  return 2 * heads <= kMultiprocessors ? launch_walk<1>(arguments, stream)
                                       : launch_walk<2>(arguments, stream);
}

cudaError_t run_delta_net(const DeltaNetArguments& arguments, cudaStream_t stream) {
  const bool is_prompt = arguments.spec.phase == DeltaNetSpec::Phase::kPrompt;
  if (arguments.spec.part == DeltaNetSpec::Part::kConvolution)
    return is_prompt ? convolve_prompt(arguments, stream) : convolve_token(arguments, stream);
  return is_prompt ? delta_rule_prompt(arguments, stream) : delta_rule_token(arguments, stream);
}

}  // namespace assay::collect
