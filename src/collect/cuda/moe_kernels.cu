// The kernels of a mixture of experts besides its products, and their float64 references.
#include <cuda_fp8.h>

#include <algorithm>

#include "collect/cuda/expert_rows.cuh"
#include "collect/cuda/launch_after.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/cuda/numbers.cuh"
#include "collect/cuda/quantize_kernels.h"
#include "collect/cuda/tma.cuh"
#include "collect/cuda/vectors.cuh"
#include "collect/kernels/block_scales.h"

namespace assay::collect {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 32;

constexpr int kMostChoices = 64;

template <class T>
struct alignas(8 * sizeof(T)) Eight {
  T values[8];
};

// With so few tokens, one block routes them all: its time is less than that of more launches.
constexpr int kFewTokens = 32;

bool has_few_tokens(const MoeArguments& arguments) {
  return arguments.tokens <= kFewTokens;
}

// Returns the row of the choice at `at` of [tokens, top_k], or -1 if its expert is not local.
// Unless one block has routed all tokens, this takes the expert's next row.
__device__ int claim_row(const MoeArguments& arguments, std::int64_t at) {
  if (arguments.tokens <= kFewTokens) return arguments.positions[at];
  const int expert = arguments.chosen[at];
  const int row = expert < arguments.local_experts ? atomicAdd(&arguments.cursors[expert], 1) : -1;
  arguments.positions[at] = row;
  return row;
}

// Writes what the products ask of a row.
__device__ void tell_token(const MoeArguments& arguments, int row, int token, int choice) {
  if (row < 0) return;
  if (arguments.sources != nullptr) arguments.sources[row] = token;
  if (arguments.row_shares != nullptr)
    arguments.row_shares[row] = {token,
                                 arguments.shares[std::int64_t{token} * arguments.top_k + choice]};
}

// Clears the output of a token, to which the second product adds rows.
__device__ void clear_output(const MoeArguments& arguments, int token, int thread, int threads) {
  const int vectors = arguments.hidden / 8;
  auto* output = static_cast<uint4*>(arguments.output) + std::int64_t{token} * vectors;
  for (int i = thread; i < vectors; i += threads)
    output[i] = {};
}

// Where a block writes its token: to the rows of its choices, or once.
struct Destinations {
  int rows[kMostChoices];  // -1 if there is none
  int count;
};

__device__ void claim_rows(const MoeArguments& arguments, int token, Destinations& to) {
  const auto choice = static_cast<int>(threadIdx.x);
  int row = -1;
  if (choice < arguments.top_k) {
    row = claim_row(arguments, std::int64_t{token} * arguments.top_k + choice);
    to.rows[choice] = row;
    tell_token(arguments, row, token, choice);
  }
  // The kernel that routes more tokens has done it.
  if (arguments.row_shares != nullptr && arguments.tokens <= kFewTokens)
    clear_output(arguments, token, choice, kThreads);
  const bool is_needed = __syncthreads_or(static_cast<int>(row >= 0)) != 0;
  if (threadIdx.x == 0) {
    to.count = is_needed ? arguments.top_k : 0;
    if (arguments.sources != nullptr) {
      to.rows[0] = token;
      to.count = is_needed ? 1 : 0;
    }
  }
  __syncthreads();
}

// A logit and its expert in one number, whose order is that of the logits; of equal ones the first
// expert's is the largest. It is above 0, which stands for an expert that is not there.
__device__ unsigned router_key(__nv_bfloat16 logit, int expert) {
  const unsigned bits = __bfloat16_as_ushort(logit);
  const unsigned ordered = (bits & 0x8000U) != 0 ? ~bits & 0xFFFFU : bits | 0x8000U;
  return ordered << 16U | (0xFFFFU - static_cast<unsigned>(expert));
}

__device__ int expert_of_key(unsigned key) {
  return static_cast<int>(0xFFFFU - (key & 0xFFFFU));
}

__device__ float logit_of_key(unsigned key) {
  const unsigned ordered = key >> 16U;
  const unsigned bits = (ordered & 0x8000U) != 0 ? ordered & 0x7FFFU : ~ordered & 0xFFFFU;
  return as_float(__ushort_as_bfloat16(static_cast<unsigned short>(bits)));
}

// A warp works on one token; a lane holds the logit of every 32nd expert. Adds to the tallies of
// the local experts.
template <int kPerLane>
__device__ void choose_for(const MoeArguments& arguments, int token, std::int32_t* tallies) {
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  const auto* logits = static_cast<const __nv_bfloat16*>(arguments.logits) +
                       static_cast<std::int64_t>(token) * arguments.experts;
  unsigned keys[kPerLane];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int expert = i * kLanes + lane;
    keys[i] = expert < arguments.experts ? router_key(logits[expert], expert) : 0;
  }
  float first = 0;
  float sum = 0;
  const std::int64_t row = static_cast<std::int64_t>(token) * arguments.top_k;
  for (int choice = 0; choice < arguments.top_k; ++choice) {
    unsigned best = keys[0];
#pragma unroll
    for (int i = 1; i < kPerLane; ++i)
      best = max(best, keys[i]);
    best = __reduce_max_sync(0xFFFFFFFFU, best);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (keys[i] == best) keys[i] = 0;
    }
    const float logit = logit_of_key(best);
    if (choice == 0) first = logit;
    const float share = expf(logit - first);
    sum += share;
    if (lane != choice % kLanes) continue;
    const int expert = expert_of_key(best);
    arguments.chosen[row + choice] = expert;
    arguments.shares[row + choice] = share;
    if (expert < arguments.local_experts) atomicAdd(&tallies[expert], 1);
  }
  __syncwarp();
  for (int choice = lane; choice < arguments.top_k; choice += kLanes)
    arguments.shares[row + choice] /= sum;
}

template <int kPerLane>
__global__ void __launch_bounds__(kThreads) choose(MoeArguments arguments) {
  let_later_kernels_begin();
  const int token = static_cast<int>(blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes);
  if (token >= arguments.tokens) return;
  choose_for<kPerLane>(arguments, token, arguments.tallies);
  if (arguments.row_shares != nullptr)
    clear_output(arguments, token, static_cast<int>(threadIdx.x % kLanes), kLanes);
}

// Rows in the high half, tiles in the low one.
__device__ std::uint64_t rows_and_tiles(int rows, int tiles) {
  return static_cast<std::uint64_t>(rows) << 32U | static_cast<std::uint64_t>(tiles);
}

// Returns the sum of the values of this thread and those before it; the block has kMostExperts
// threads.
__device__ std::uint64_t sum_up_to(std::uint64_t value) {
  __shared__ std::uint64_t of_warps[kMostExperts / kLanes];
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned warp = threadIdx.x / kLanes;
  for (unsigned distance = 1; distance < kLanes; distance *= 2) {
    const std::uint64_t before = __shfl_up_sync(0xFFFFFFFFU, value, distance);
    if (lane >= distance) value += before;
  }
  if (lane == kLanes - 1) of_warps[warp] = value;
  __syncthreads();
  for (unsigned i = 0; i < warp; ++i)
    value += of_warps[i];
  return value;
}

// With so few tokens all tiles take about as long, and their order does not matter.
constexpr int kTokensOfShortTiles = 64;

// Returns how many tiles the experts have that come before this one: those with more tokens, and of
// those with as many the ones before it. The items of a product begin with the longest ones.
__device__ int tiles_before(const MoeArguments& arguments, int expert, int count) {
  __shared__ int2 counts_and_tiles[kMostExperts];
  counts_and_tiles[expert] = {count, (count + kTileTokens - 1) / kTileTokens};
  __syncthreads();
  if (expert >= arguments.local_experts) return 0;
  int tiles = 0;
#pragma unroll 8
  for (int other = 0; other < arguments.local_experts; ++other) {
    const int2 its = counts_and_tiles[other];
    if (its.x > count - static_cast<int>(other < expert)) tiles += its.y;
  }
  return tiles;
}

// Writes where an expert's rows begin, and the tiles in which a grouped product takes them. Each
// thread has an expert; those that are not local have no tokens. Returns the expert's first row.
__device__ int place_expert(const MoeArguments& arguments, int expert, int count) {
  if (expert < 2) arguments.begun[expert] = 0;
  const int rows =
      (count + arguments.row_multiple - 1) / arguments.row_multiple * arguments.row_multiple;
  const int tiles = (count + kTileTokens - 1) / kTileTokens;
  const std::uint64_t sum = sum_up_to(rows_and_tiles(rows, tiles));
  const int end = static_cast<int>(sum >> 32U);
  const int begin = end - rows;
  const int last = static_cast<int>(sum & 0xFFFFFFFFU);
  const int first = arguments.tokens > kTokensOfShortTiles ? tiles_before(arguments, expert, count)
                                                           : last - tiles;
  if (expert >= arguments.local_experts) return begin;
  arguments.counts[expert] = count;
  arguments.offsets[expert] = begin;
  if (expert == arguments.local_experts - 1) {
    arguments.offsets[expert + 1] = end;
    *arguments.tile_count = last;
  }
  for (int i = 0; i < tiles; ++i) {
    const int before = i * kTileTokens;
    arguments.tiles[first + i] = {.expert = expert,
                                  .row = begin + before,
                                  .rows = min(count - before, kTileTokens),
                                  .first = first,
                                  .tiles = tiles,
                                  .begin = begin,
                                  .end = end,
                                  .unused = 0};
  }
  return begin;
}

// One block suffices, because there are few experts. It clears the tallies for the next launch.
__global__ void __launch_bounds__(kMostExperts) place_experts(MoeArguments arguments) {
  wait_for_earlier_kernels();
  let_later_kernels_begin();
  const int expert = static_cast<int>(threadIdx.x);
  const bool is_local = expert < arguments.local_experts;
  const int begin = place_expert(arguments, expert, is_local ? arguments.tallies[expert] : 0);
  if (!is_local) return;
  arguments.cursors[expert] = begin;
  arguments.tallies[expert] = 0;
}

// Chooses experts for few tokens, a warp for each two, and gives each choice its row.
template <int kPerLane>
__global__ void __launch_bounds__(kMostExperts) route_few(MoeArguments arguments) {
  let_later_kernels_begin();
  __shared__ std::int32_t cursors[kMostExperts];
  const int expert = static_cast<int>(threadIdx.x);
  cursors[expert] = 0;
  __syncthreads();
  for (int token = expert / kLanes; token < arguments.tokens; token += kMostExperts / kLanes)
    choose_for<kPerLane>(arguments, token, cursors);
  __syncthreads();
  const int begin = place_expert(arguments, expert, cursors[expert]);
  cursors[expert] = begin;
  __syncthreads();
  for (int at = expert; at < arguments.tokens * arguments.top_k; at += kMostExperts) {
    const int chosen = arguments.chosen[at];
    arguments.positions[at] =
        chosen < arguments.local_experts ? atomicAdd(&cursors[chosen], 1) : -1;
  }
}

// Gives each choice its row, and moves nothing.
__global__ void __launch_bounds__(kThreads) claim_all_rows(MoeArguments arguments) {
  wait_for_earlier_kernels();
  let_later_kernels_begin();
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= std::int64_t{arguments.tokens} * arguments.top_k) return;
  tell_token(arguments, claim_row(arguments, at), static_cast<int>(at / arguments.top_k),
             static_cast<int>(at % arguments.top_k));
}

// A block works on one token, which it writes once for each local expert, or once.
template <class T, class To>
__global__ void __launch_bounds__(kThreads) gather(MoeArguments arguments) {
  wait_for_earlier_kernels();
  let_later_kernels_begin();
  __shared__ Destinations to;
  const std::int64_t token = blockIdx.x;
  claim_rows(arguments, static_cast<int>(token), to);
  if (to.count == 0) return;
  const int vectors = arguments.hidden / 8;
  const auto* input = static_cast<const T*>(arguments.input);
  auto* gathered = static_cast<Eight<To>*>(arguments.gathered);
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    const Vector<T> loaded = load_vector(input, token * vectors + i);
    Eight<To> converted;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      converted.values[j] = To(as_float(loaded.values[j]));
    for (int j = 0; j < to.count; ++j) {
      if (to.rows[j] >= 0) gathered[std::int64_t{to.rows[j]} * vectors + i] = converted;
    }
  }
}

template <class T, class To>
__global__ void __launch_bounds__(kThreads) gated_silu(MoeArguments arguments) {
  const std::int64_t vectors = arguments.intermediate / 8;
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= arguments.local_rows * vectors) return;
  const std::int64_t gate_at = i + i / vectors * vectors;
  const auto* gated = static_cast<const T*>(arguments.gated);
  const Vector<T> gate = load_vector(gated, gate_at);
  const Vector<T> up = load_vector(gated, gate_at + vectors);
  Eight<To> result;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    result.values[j] = To(silu(as_float(gate.values[j])) * as_float(up.values[j]));
  static_cast<Eight<To>*>(arguments.activated)[i] = result;
}

// Adds the rows of several choices; their loads are under way together.
template <class T, int kChoices>
__device__ void add_rows(const Vector<T>* rows,
                         const std::int64_t* places,
                         const float* shares,
                         float (&sums)[8]) {
  Vector<T> loaded[kChoices];
#pragma unroll
  for (int choice = 0; choice < kChoices; ++choice)
    loaded[choice] = load_vector(reinterpret_cast<const T*>(rows), places[choice]);
#pragma unroll
  for (int choice = 0; choice < kChoices; ++choice) {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      sums[j] += shares[choice] * as_float(loaded[choice].values[j]);
  }
}

// A block works on one token. Choices whose experts are elsewhere are left out.
template <class T>
__global__ void __launch_bounds__(kThreads) weighted_sum(MoeArguments arguments) {
  wait_for_earlier_kernels();
  let_later_kernels_begin();
  __shared__ std::int64_t first_vectors[kMostChoices];
  __shared__ float shares[kMostChoices];
  __shared__ int local;
  const std::int64_t token = blockIdx.x;
  const int vectors = arguments.hidden / 8;
  if (threadIdx.x < kLanes) {
    int found = 0;
    for (int first = 0; first < arguments.top_k; first += kLanes) {
      const int choice = first + static_cast<int>(threadIdx.x);
      const std::int64_t at = token * arguments.top_k + choice;
      const int row = choice < arguments.top_k ? arguments.positions[at] : -1;
      const unsigned here = __ballot_sync(0xFFFFFFFFU, row >= 0);
      const int place = found + __popc(here & ((1U << threadIdx.x) - 1));
      found += __popc(here);
      if (row < 0) continue;
      first_vectors[place] = std::int64_t{row} * vectors;
      shares[place] = arguments.shares[at];
    }
    if (threadIdx.x == 0) local = found;
  }
  __syncthreads();
  const auto* rows = static_cast<const Vector<T>*>(arguments.expert_output);
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += kThreads) {
    float sums[8] = {};
    int choice = 0;
    for (; choice + 8 <= local; choice += 8)
      add_rows<T, 8>(rows + i, first_vectors + choice, shares + choice, sums);
    for (; choice + 4 <= local; choice += 4)
      add_rows<T, 4>(rows + i, first_vectors + choice, shares + choice, sums);
    for (; choice < local; ++choice)
      add_rows<T, 1>(rows + i, first_vectors + choice, shares + choice, sums);
    Vector<T> result;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      result.values[j] = from_float<T>(sums[j]);
    store_vector(static_cast<T*>(arguments.output), token * vectors + i, result);
  }
}

template <int kPerLane>
void launch_route(const MoeArguments& arguments, cudaStream_t stream) {
  if (has_few_tokens(arguments)) {
    route_few<kPerLane><<<1, kMostExperts, 0, stream>>>(arguments);
    return;
  }
  constexpr int kTokensOfBlock = kThreads / kLanes;
  const auto blocks =
      static_cast<unsigned>((arguments.tokens + kTokensOfBlock - 1) / kTokensOfBlock);
  choose<kPerLane><<<blocks, kThreads, 0, stream>>>(arguments);
  launch_after(place_experts, {.blocks = 1, .threads = kMostExperts}, stream, arguments);
}

void route(const MoeArguments& arguments, cudaStream_t stream) {
  if (arguments.experts <= kLanes) {
    launch_route<1>(arguments, stream);
  } else if (arguments.experts <= 4 * kLanes) {
    launch_route<4>(arguments, stream);
  } else if (arguments.experts <= 8 * kLanes) {
    launch_route<8>(arguments, stream);
  } else {
    launch_route<16>(arguments, stream);
  }
}

bool is_fp8(const MoeArguments& arguments) {
  return arguments.product_type == DataType::kFp8;
}

// Products that gather rows themselves need no copy of tokens that they can multiply.
__host__ __device__ bool takes_input(const MoeArguments& arguments) {
  return arguments.sources != nullptr && arguments.product_type == arguments.type;
}

constexpr int kBlockLanes = 16;  // half a warp works on a block of 128 elements, each lane on 8
constexpr int kGroups = kThreads / kBlockLanes;
constexpr int kBlock = kScaleBlock;

struct Quantised {
  Eight<__nv_fp8_e4m3> values;
  float scale;
};

// Quantises the 128 values that 16 lanes pass together.
__device__ Quantised quantised(const float (&values)[8]) {
  float largest = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    largest = fmaxf(largest, fabsf(values[j]));
  const unsigned lanes = 0xFFFFU << (threadIdx.x & kBlockLanes);  // the other half may be done
#pragma unroll
  for (int offset = kBlockLanes / 2; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(lanes, largest, offset));
  Quantised result;
  result.scale = fmaxf(largest, kLeastMaximum) / kLargestFp8;
  const float factor = 1.0F / result.scale;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    result.values.values[j] = __nv_fp8_e4m3(values[j] * factor);
  return result;
}

__device__ void write_scale(const MoeArguments& arguments,
                            const ExpertRow& place,
                            int block,
                            float scale) {
  const int column = block * kBlock;
  const std::int64_t at =
      arguments.sources != nullptr
          ? TokenScales{arguments.hidden}.at(place.row, column)
          : expert_scales(arguments.offsets, place.expert, arguments.hidden).at(place.row, column);
  arguments.gathered_scales[at] = scale;
}

// A thread block works on one token, which it writes once for each local expert, or once.
__global__ void __launch_bounds__(kThreads) gather_blocks(MoeArguments arguments) {
  wait_for_earlier_kernels();
  let_later_kernels_begin();
  __shared__ Destinations to;
  const std::int64_t token = blockIdx.x;
  claim_rows(arguments, static_cast<int>(token), to);
  if (to.count == 0) return;
  const std::int32_t* experts = arguments.chosen + token * arguments.top_k;
  const int lane = static_cast<int>(threadIdx.x) % kBlockLanes;
  const std::int64_t vectors = arguments.hidden / 8;
  const auto* input = static_cast<const __nv_bfloat16*>(arguments.input);
  auto* gathered = static_cast<Eight<__nv_fp8_e4m3>*>(arguments.gathered);
  for (int block = static_cast<int>(threadIdx.x) / kBlockLanes; block < arguments.hidden / kBlock;
       block += kGroups) {
    const int vector = block * kBlockLanes + lane;
    const Vector<__nv_bfloat16> loaded = load_vector(input, token * vectors + vector);
    float values[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
      values[j] = as_float(loaded.values[j]);
    const Quantised result = quantised(values);
    for (int j = 0; j < to.count; ++j) {
      if (to.rows[j] >= 0) gathered[to.rows[j] * vectors + vector] = result.values;
    }
    for (int j = lane; j < to.count; j += kBlockLanes) {
      if (to.rows[j] >= 0) write_scale(arguments, {experts[j], to.rows[j]}, block, result.scale);
    }
  }
}

// Returns the last expert that begins at this row or before it; earlier ones that begin there are
// empty.
__device__ int expert_of(const MoeArguments& arguments, std::int64_t row) {
  int low = 0;
  int high = arguments.local_experts;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (arguments.offsets[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

__global__ void __launch_bounds__(kThreads) activate_blocks(MoeArguments arguments) {
  const int blocks = arguments.intermediate / kBlock;
  const std::int64_t group = blockIdx.x * std::int64_t{kGroups} + threadIdx.x / kBlockLanes;
  const std::int64_t row = group / blocks;
  if (row >= arguments.local_rows) return;
  const int expert = expert_of(arguments, row);
  if (row - arguments.offsets[expert] >= arguments.counts[expert]) return;  // padding
  const auto block = static_cast<int>(group % blocks);
  const int vector = block * kBlockLanes + static_cast<int>(threadIdx.x) % kBlockLanes;
  const std::int64_t vectors = arguments.intermediate / 8;
  const auto* gated = static_cast<const __nv_bfloat16*>(arguments.gated);
  const Vector<__nv_bfloat16> gate = load_vector(gated, 2 * row * vectors + vector);
  const Vector<__nv_bfloat16> up = load_vector(gated, (2 * row + 1) * vectors + vector);
  float values[8];
#pragma unroll
  for (int j = 0; j < 8; ++j)
    values[j] = silu(as_float(gate.values[j])) * as_float(up.values[j]);
  const Quantised result = quantised(values);
  static_cast<Eight<__nv_fp8_e4m3>*>(arguments.activated)[row * vectors + vector] = result.values;
  if (threadIdx.x % kBlockLanes != 0) return;
  const ExpertScales scales = expert_scales(arguments.offsets, expert, arguments.intermediate);
  arguments.activated_scales[scales.at(row, block * kBlock)] = result.scale;
}

// The kernels for fp8_block, with a scale for each 128 elements of a row. Hidden and intermediate
// sizes are multiples of 128.
KernelShape shape_of_tokens(const MoeArguments& arguments) {
  return {.blocks = static_cast<unsigned>(arguments.tokens), .threads = kThreads};
}

void gather_in_blocks(const MoeArguments& arguments, cudaStream_t stream) {
  launch_after(gather_blocks, shape_of_tokens(arguments), stream, arguments);
}

void activate_in_blocks(const MoeArguments& arguments, cudaStream_t stream) {
  const std::int64_t groups =
      std::int64_t{arguments.local_rows} * (arguments.intermediate / kBlock);
  const auto blocks = static_cast<unsigned>((groups + kGroups - 1) / kGroups);
  activate_blocks<<<blocks, kThreads, 0, stream>>>(arguments);
}

// An element and its reference.
struct Looked {
  double value = 0;
  double expected = 0;
  double slack = 0;  // error of float32 before the last rounding
  DataType type = DataType::kBfloat16;
};

__device__ double cut_to_fp8(double value) {
  const auto most = static_cast<double>(kLargestFp8);
  return fmin(fmax(value, -most), most);
}

__device__ double scale_for(double largest) {
  return fmax(largest, static_cast<double>(kLeastMaximum)) / static_cast<double>(kLargestFp8);
}

// Returns the scale by which fp8_block's kernel divided an element. Another stage checks the scale
// itself.
__device__ double scale_at(const MoeArguments& arguments,
                           const float* scales,
                           const ExpertRow& place,
                           std::int64_t k,
                           std::int64_t column) {
  if (arguments.product_type != DataType::kFp8Block) return 1;
  return scales[expert_scales(arguments.offsets, place.expert, k).at(place.row, column)];
}

__device__ double gathered_scale_at(const MoeArguments& arguments,
                                    const ExpertRow& place,
                                    std::int64_t column) {
  if (arguments.sources == nullptr)
    return scale_at(arguments, arguments.gathered_scales, place, arguments.hidden, column);
  if (arguments.product_type != DataType::kFp8Block) return 1;
  const std::int64_t token = arguments.sources[place.row];
  return arguments.gathered_scales[TokenScales{arguments.hidden}.at(token, column)];
}

__device__ double input_at(const MoeArguments& arguments,
                           std::int64_t choice,
                           std::int64_t column) {
  return load_number(arguments.type, arguments.input,
                     choice / arguments.top_k * arguments.hidden + column);
}

// Tokens of other GPUs have no row.
__device__ Looked look_at_gathered(const MoeArguments& arguments,
                                   std::int64_t choice,
                                   std::int64_t column) {
  const ExpertRow place{arguments.chosen[choice], arguments.positions[choice]};
  if (place.row < 0 || takes_input(arguments)) return {};
  const double scale = gathered_scale_at(arguments, place, column);
  const double exact = input_at(arguments, choice, column) / scale;
  const bool divided = arguments.product_type == DataType::kFp8Block;
  const double expected = divided ? cut_to_fp8(exact) : exact;
  return {.value = load_number(arguments.product_type, arguments.gathered,
                               input_row(arguments.sources, place.row) * arguments.hidden + column),
          .expected = expected,
          .slack = divided ? fabs(expected) * 0x1p-20 : 0,
          .type = arguments.product_type};
}

__device__ Looked look_at_gathered_scale(const MoeArguments& arguments,
                                         std::int64_t choice,
                                         std::int64_t block) {
  const ExpertRow place{arguments.chosen[choice], arguments.positions[choice]};
  if (place.row < 0) return {};
  double largest = 0;
  for (std::int64_t i = 0; i < kScaleBlock; ++i)
    largest = fmax(largest, fabs(input_at(arguments, choice, block * kScaleBlock + i)));
  return {.value = gathered_scale_at(arguments, place, block * kScaleBlock),
          .expected = scale_for(largest),
          .type = DataType::kFloat32};
}

__device__ double activation_at(const MoeArguments& arguments,
                                std::int64_t row,
                                std::int64_t column) {
  const std::int64_t gate_at = 2 * row * arguments.intermediate + column;
  const double gate = load_number(arguments.type, arguments.gated, gate_at);
  const double up = load_number(arguments.type, arguments.gated, gate_at + arguments.intermediate);
  return gate / (1 + exp(-gate)) * up;
}

__device__ bool is_cut(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8Block;
}

__device__ Looked look_at_activated(const MoeArguments& arguments,
                                    std::int64_t pair,
                                    std::int64_t column) {
  const ExpertRow place =
      nth_row(arguments.offsets, arguments.counts, arguments.local_experts, pair);
  const double scale =
      scale_at(arguments, arguments.activated_scales, place, arguments.intermediate, column);
  const double exact = activation_at(arguments, place.row, column) / scale;
  const double expected = is_cut(arguments.product_type) ? cut_to_fp8(exact) : exact;
  return {.value = load_number(arguments.product_type, arguments.activated,
                               place.row * arguments.intermediate + column),
          .expected = expected,
          .slack = fabs(expected) * 0x1p-20,
          .type = arguments.product_type};
}

__device__ Looked look_at_activated_scale(const MoeArguments& arguments,
                                          std::int64_t pair,
                                          std::int64_t block) {
  const ExpertRow place =
      nth_row(arguments.offsets, arguments.counts, arguments.local_experts, pair);
  double largest = 0;
  for (std::int64_t i = 0; i < kScaleBlock; ++i)
    largest = fmax(largest, fabs(activation_at(arguments, place.row, block * kScaleBlock + i)));
  const double expected = scale_for(largest);
  return {.value = scale_at(arguments, arguments.activated_scales, place, arguments.intermediate,
                            block * kScaleBlock),
          .expected = expected,
          .slack = expected * 0x1p-20,
          .type = DataType::kFloat32};
}

__device__ Looked look_at_output(const MoeArguments& arguments,
                                 std::int64_t token,
                                 std::int64_t column) {
  Looked looked{
      .value = load_number(arguments.type, arguments.output, token * arguments.hidden + column),
      .type = arguments.type};
  double sizes = 0;
  for (int choice = 0; choice < arguments.top_k; ++choice) {
    const std::int64_t at = token * arguments.top_k + choice;
    const std::int64_t row = arguments.positions[at];
    if (row < 0) continue;
    const double summand =
        static_cast<double>(arguments.shares[at]) *
        load_number(arguments.type, arguments.expert_output, row * arguments.hidden + column);
    looked.expected += summand;
    sizes += fabs(summand);
  }
  looked.slack = sizes * arguments.top_k * 0x1p-23;
  return looked;
}

__device__ Looked look_at(const MoeArguments& arguments,
                          MoeStage stage,
                          std::int64_t row,
                          std::int64_t column) {
  switch (stage) {
    case MoeStage::kGather:
      return look_at_gathered(arguments, row, column);
    case MoeStage::kGatherScales:
      return look_at_gathered_scale(arguments, row, column);
    case MoeStage::kActivate:
      return look_at_activated(arguments, row, column);
    case MoeStage::kActivateScales:
      return look_at_activated_scale(arguments, row, column);
    case MoeStage::kCombine:
      return look_at_output(arguments, row, column);
  }
  return {};
}

struct StageSize {
  std::int64_t elements = 0;
  std::int64_t columns = 1;
};

__global__ void stage_samples(
    MoeArguments arguments, MoeStage stage, StageSize size, std::int64_t count, Sample* samples) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  const std::int64_t at = sampled(i, size.elements);
  const Looked looked = look_at(arguments, stage, at / size.columns, at % size.columns);
  samples[i] = {.value = looked.value,
                .expected = looked.expected,
                .bound = 0.5 * spacing_of(looked.type, looked.expected) + looked.slack,
                .at = at};
}

std::int64_t stage_rows(const MoeArguments& arguments, MoeStage stage) {
  switch (stage) {
    case MoeStage::kGather:
    case MoeStage::kGatherScales:
      return std::int64_t{arguments.tokens} * arguments.top_k;
    case MoeStage::kActivate:
    case MoeStage::kActivateScales:
      return arguments.pairs;
    case MoeStage::kCombine:
      return arguments.tokens;
  }
  return 0;
}

}  // namespace

cudaError_t clear_tallies(const MoeArguments& arguments, cudaStream_t stream) {
  return cudaMemsetAsync(arguments.tallies, 0,
                         static_cast<std::size_t>(arguments.local_experts) * sizeof(std::int32_t),
                         stream);
}

cudaError_t route_and_gather(const MoeArguments& arguments, cudaStream_t stream) {
  route(arguments, stream);
  const KernelShape shape = shape_of_tokens(arguments);
  if (takes_input(arguments)) {
    const std::int64_t choices = std::int64_t{arguments.tokens} * arguments.top_k;
    const auto blocks = static_cast<unsigned>((choices + kThreads - 1) / kThreads);
    launch_after(claim_all_rows, {.blocks = blocks, .threads = kThreads}, stream, arguments);
  } else if (arguments.product_type == DataType::kFp8Block) {
    gather_in_blocks(arguments, stream);
  } else if (is_fp8(arguments)) {
    launch_after(gather<__nv_bfloat16, __nv_fp8_e4m3>, shape, stream, arguments);
  } else if (arguments.type == DataType::kFloat16) {
    launch_after(gather<__half, __half>, shape, stream, arguments);
  } else {
    launch_after(gather<__nv_bfloat16, __nv_bfloat16>, shape, stream, arguments);
  }
  return cudaGetLastError();
}

cudaError_t activate(const MoeArguments& arguments, cudaStream_t stream) {
  if (arguments.product_type == DataType::kFp8Block) {
    activate_in_blocks(arguments, stream);
    return cudaGetLastError();
  }
  const std::int64_t vectors = std::int64_t{arguments.local_rows} * (arguments.intermediate / 8);
  const auto blocks = static_cast<unsigned>((vectors + kThreads - 1) / kThreads);
  if (is_fp8(arguments)) {
    gated_silu<__nv_bfloat16, __nv_fp8_e4m3><<<blocks, kThreads, 0, stream>>>(arguments);
  } else if (arguments.type == DataType::kFloat16) {
    gated_silu<__half, __half><<<blocks, kThreads, 0, stream>>>(arguments);
  } else {
    gated_silu<__nv_bfloat16, __nv_bfloat16><<<blocks, kThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

cudaError_t combine(const MoeArguments& arguments, cudaStream_t stream) {
  if (arguments.row_shares != nullptr) return cudaSuccess;
  const KernelShape shape = shape_of_tokens(arguments);
  if (arguments.type == DataType::kFloat16)
    return launch_after(weighted_sum<__half>, shape, stream, arguments);
  return launch_after(weighted_sum<__nv_bfloat16>, shape, stream, arguments);
}

std::int64_t stage_columns(const MoeArguments& arguments, MoeStage stage) {
  switch (stage) {
    case MoeStage::kGatherScales:
      return scale_blocks(arguments.hidden);
    case MoeStage::kActivate:
      return arguments.intermediate;
    case MoeStage::kActivateScales:
      return scale_blocks(arguments.intermediate);
    default:
      return arguments.hidden;
  }
}

std::int64_t stage_elements(const MoeArguments& arguments, MoeStage stage) {
  return stage_rows(arguments, stage) * stage_columns(arguments, stage);
}

cudaError_t compare_stage(const MoeArguments& arguments,
                          MoeStage stage,
                          Sample* samples,
                          cudaStream_t stream) {
  const StageSize size{stage_elements(arguments, stage), stage_columns(arguments, stage)};
  const std::int64_t count = samples_of(size.elements);
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  stage_samples<<<blocks, kThreads, 0, stream>>>(arguments, stage, size, count, samples);
  return cudaGetLastError();
}

}  // namespace assay::collect
