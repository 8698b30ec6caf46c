// The second kernel of the gated delta rule for prompts: it walks over the chunks of a request with
// the state in registers. A warpgroup has 64 columns of a head's state and computes everything
// transposed, so that states, differences and updates go from product to product in registers and
// only keys, queries and the records pass through shared memory.
#include "collect/cuda/delta_net_chunks.cuh"

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

template <int kGroups>
class ChunkLoader {
 public:
  __device__ ChunkLoader(const DeltaNetArguments& arguments, const StatesPlace& place)
      : layout_(arguments.spec), length_(arguments.spec.length) {
    const auto* request = static_cast<const __nv_bfloat16*>(arguments.input) +
                          place.request * length_ * layout_.pitch;
    queries_ = request + place.key_head * kRuleDim;
    values_ = request + layout_.values + place.head * kRuleDim + place.first_column;
    records_ = static_cast<const char*>(arguments.records) +
               (place.request * arguments.spec.value_heads + place.head) * layout_.chunks *
                   kChunkRecordBytes;
  }

  [[nodiscard]] __device__ std::int64_t chunks() const { return layout_.chunks; }

  // Begins to copy a chunk, if there is one, and commits.
  __device__ void begin(std::int64_t chunk, std::uint32_t stage) const {
    if (chunk < layout_.chunks) {
      const std::int64_t first = chunk * kChunkTokens;
      copy_tokens(queries_ + layout_.keys, first, stage + StageLayout::kKeys, 16);
      copy_tokens(queries_, first, stage + StageLayout::kQueries, 16);
      copy_tokens(values_, first, stage + StageLayout::kValues, 8 * kGroups);
      const char* record = records_ + chunk * kChunkRecordBytes;
      for (int i = static_cast<int>(threadIdx.x); i < ChunkRecord::kBytes / 16; i += kThreads)
        copy_piece(stage + StageLayout::kRecord + i * 16, record + i * 16, true);
    }
    copies_commit();
  }

 private:
  static constexpr int kThreads = kGroups * kGroupThreads;

  // A token has `pieces` of 16 bytes, eight in each tile.
  __device__ void copy_tokens(const __nv_bfloat16* from,
                              std::int64_t first,
                              std::uint32_t to,
                              int pieces) const {
#pragma unroll
    for (int at = static_cast<int>(threadIdx.x); at < kChunkTokens * pieces; at += kThreads) {
      const int token = at / pieces;
      const int piece = at % pieces;
      const bool exists = first + token < length_;
      copy_piece(to + piece / 8 * kSwizzledTile + swizzled(token, piece % 8),
                 from + (exists ? first + token : 0) * layout_.pitch + piece * 8, exists);
    }
  }

  RuleLayout layout_;
  std::int64_t length_;
  const __nv_bfloat16* queries_;
  const __nv_bfloat16* values_;
  const char* records_;
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

  // Advances by a chunk, and leaves the outputs in the place of the values.
  __device__ void advance(const unsigned char* stage, int group) {
    const unsigned char* record = stage + StageLayout::kRecord;
    const std::uint32_t memory = shared_address(stage);
    const std::uint32_t values =
        memory + static_cast<std::uint32_t>(StageLayout::kValues + group * kSwizzledTile);
    float differences[32];
    float outputs[32];
    products_begin();
    multiply_states(differences, state_, memory + StageLayout::kKeys);
    multiply_states(outputs, state_, memory + StageLayout::kQueries);
    const float decay = factors_of(record, ChunkRecord::kDecay, 0).x;
#pragma unroll
    for (float& sum : state_.sums)
      sum *= decay;
    products_wait<1>();
    std::uint32_t left[4][4];
    subtract_from_values(differences, record, values, left);
    products_begin();
    multiply_record(differences, left, memory + StageLayout::kRecord + ChunkRecord::kInverse,
                    false);
    products_wait<0>();
    std::uint32_t scaled[4][4];
    scale_updates(differences, outputs, record, left, scaled);
    products_begin();
    multiply_keys(scaled, memory + StageLayout::kKeys);
    multiply_record(outputs, left, memory + StageLayout::kRecord + ChunkRecord::kScores, true);
    products_wait<1>();
    state_.round();
    products_wait<0>();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t rounded[4];
      as_left(outputs, step, rounded);
      store_transposed(rounded, transposed_address(values, step, warp_, lane_));
    }
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
  int warp_ = 0;
  int lane_ = 0;
};

template <int kGroups>
__global__ void __launch_bounds__(kGroups* kGroupThreads, 1)
    walk_chunks(DeltaNetArguments arguments) {
  extern __shared__ unsigned char states_memory[];
  const DeltaNetSpec& spec = arguments.spec;
  constexpr int kBlocksOfHead = kRuleDim / (kGroups * kGroupColumns);
  StatesPlace place{};
  place.request = blockIdx.y;
  place.head = blockIdx.x / kBlocksOfHead;
  place.key_head = place.head / (spec.value_heads / spec.key_heads);
  place.first_column = static_cast<int>(blockIdx.x) % kBlocksOfHead * kGroups * kGroupColumns;
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  const std::uint32_t unaligned = shared_address(states_memory);
  unsigned char* memory = states_memory + ((1024 - unaligned % 1024) % 1024);
  const std::uint32_t address = shared_address(memory);

  const ChunkLoader<kGroups> loader(arguments, place);
  loader.begin(0, address);
  loader.begin(1, address + kStageBytes<kGroups>);
  ColumnGroup columns;
  const std::int64_t pitch = spec.value_heads * kRuleDim;
  auto* output = static_cast<__nv_bfloat16*>(arguments.output) +
                 place.request * spec.length * pitch + place.head * kRuleDim + place.first_column +
                 group * kGroupColumns;
  int stage = 0;
  int filled = 2;
  for (std::int64_t chunk = 0; chunk < loader.chunks(); ++chunk) {
    copies_wait<1>();
    show_to_tensor_cores();
    __syncthreads();
    loader.begin(chunk + 2, address + static_cast<std::uint32_t>(filled * kStageBytes<kGroups>));
    unsigned char* here = memory + stage * kStageBytes<kGroups>;
    columns.advance(here, group);
    const std::int64_t first = chunk * kChunkTokens;
    columns.store_outputs(here + StageLayout::kValues + group * kSwizzledTile,
                          output + first * pitch, pitch,
                          static_cast<int>(min(spec.length - first, kDeltaNetChunk)));
    stage = stage + 1 == kStages ? 0 : stage + 1;
    filled = filled + 1 == kStages ? 0 : filled + 1;
  }
  columns.store_state(arguments.state +
                      (place.request * spec.value_heads + place.head) * kRuleDim * kRuleDim +
                      place.first_column + group * kGroupColumns);
}

template <int kGroups>
cudaError_t prepare_walk() {
  return cudaFuncSetAttribute(walk_chunks<kGroups>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              kStatesBytes<kGroups>);
}

template <int kGroups>
cudaError_t launch_walk(const DeltaNetArguments& arguments, cudaStream_t stream) {
  const dim3 blocks(
      static_cast<unsigned>(arguments.spec.value_heads * kRuleDim / (kGroups * kGroupColumns)),
      static_cast<unsigned>(arguments.spec.batch));
  walk_chunks<kGroups>
      <<<blocks, kGroups * kGroupThreads, kStatesBytes<kGroups>, stream>>>(arguments);
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
