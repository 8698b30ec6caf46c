// The operators that are fused behind the sum: residual, RMS norm and quantisation.
// assay/allreduce.h has the formulas.
#pragma once

#include <cooperative_groups.h>

#include "allreduce/strategies/device.cuh"
#include "allreduce/strategies/quantize.h"
#include "allreduce/strategy.h"

namespace assay::allreduce {

constexpr int kWarp = 32;

constexpr unsigned kMaxClusterWarps = 8 * 32;  // of 8 blocks of 1024 threads

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// Takes no notice of NaN.
struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Lets the warps of a cluster exchange one number each in each round. It does not use
// cluster.sync(), which waits until all earlier stores have arrived, including those to other GPUs.
// Here a number and its arrival are one message to the shared memory of another block. Warps send
// their numbers to all blocks at once: to join those of a block first would be a second exchange.
class ClusterNumbers {
 public:
  // All threads construct it. The blocks meet in the first round only, when they have long come.
  __device__ ClusterNumbers() : blocks_(cooperative_groups::this_cluster().num_blocks()) {
    if (blocks_ == 1) return;
    // joined() reads whole vectors of numbers, and 0 changes no sum and no largest magnitude. No
    // warp sends these places a number.
    const unsigned warps = blocks_ * (blockDim.x / kWarp);
    if (threadIdx.x < 2) {
      for (unsigned i = warps; i % 4 != 0; ++i)
        place_of(threadIdx.x, i) = 0;
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&arrived()[threadIdx.x]))
                   : "memory");
    }
    asm volatile(
        "fence.mbarrier_init.release.cluster;\n"
        "barrier.cluster.arrive.relaxed;" ::
            : "memory");
  }

  [[nodiscard]] __device__ unsigned blocks() const { return blocks_; }

  // Joins the warps' numbers in an order that is the same for all threads. All threads call it,
  // those of a warp with the same `of_warp`.
  template <class Join>
  __device__ float joined(float of_warp, Join join) {
    const unsigned set = round_ & 1U;
    const unsigned phase = round_ >> 1U & 1U;
    if (round_++ == 0) asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    const unsigned warps = blocks_ * (blockDim.x / kWarp);
    if (threadIdx.x == 0) expect(set, warps);
    __syncwarp();
    if (threadIdx.x % kWarp < blocks_) send_to(threadIdx.x % kWarp, set, of_warp);
    wait(set, phase);
    float total = 0;
#pragma unroll 4
    for (unsigned i = 0; 4 * i < warps; ++i) {
      const float4 four = numbers()[set * kMaxClusterWarps / 4 + i];
      total = join(total, join(join(four.x, four.y), join(four.z, four.w)));
    }
    return total;
  }

 private:
  // Two sets are used in turn: a warp that sends in round k+2 has the numbers of all warps of round
  // k+1, which their senders sent when they had read those of round k. So, too, no warp can be two
  // phases of a barrier behind.
  __device__ static std::uint64_t* arrived() {
    __shared__ std::uint64_t barriers[2];
    return barriers;
  }

  __device__ static float4* numbers() {
    __shared__ float4 of_warps[2 * kMaxClusterWarps / 4];
    return of_warps;
  }

  __device__ static float& place_of(unsigned set, unsigned warp) {
    return reinterpret_cast<float*>(numbers())[set * kMaxClusterWarps + warp];
  }

  __device__ static std::uint32_t address(const void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  }

  __device__ static void expect(unsigned set, unsigned warps) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&arrived()[set])),
        "r"(warps * static_cast<unsigned>(sizeof(float)))
        : "memory");
  }

  __device__ static void send_to(unsigned block, unsigned set, float number) {
    const unsigned own = cooperative_groups::this_cluster().block_rank() * (blockDim.x / kWarp) +
                         threadIdx.x / kWarp;
    const float* place = &place_of(set, own);
    std::uint32_t to;
    std::uint32_t barrier;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(address(place)), "r"(block));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(barrier)
        : "r"(address(&arrived()[set])), "r"(block));
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
        "r"(__float_as_uint(number)), "r"(barrier)
        : "memory");
  }

  __device__ static void wait(unsigned set, unsigned phase) {
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
          "selp.b32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(address(&arrived()[set])), "r"(phase)
          : "memory");
    }
  }

  unsigned blocks_;
  unsigned round_ = 0;
};

// The threads that share a row: part of a warp, a block, or the blocks of a cluster. `threads`
// counts those of this block: a power of two up to 32, or all of the block's, a multiple of 32.
class RowGroup {
 public:
  __device__ explicit RowGroup(int threads) : threads_(threads) {}

  // Each returns a number of the whole row, with the same bits for all its threads. All threads of
  // the block call it.
  __device__ float sum(float value) { return joined(value, Plus{}); }

  __device__ float largest(float magnitude) { return joined(magnitude, Larger{}); }

 private:
  template <class Join>
  __device__ float joined(float value, Join join) {
    for (int distance = min(threads_, kWarp) / 2; distance > 0; distance /= 2)
      value = join(value, __shfl_xor_sync(0xFFFFFFFFU, value, distance));
    // The threads of a row that a cluster shares are whole warps.
    if (cluster_.blocks() > 1) return cluster_.joined(value, join);
    return threads_ <= kWarp ? value : of_warps_joined(value, join);
  }

  template <class Join>
  __device__ float of_warps_joined(float of_warp, Join join) {
    // Two sets are used in turn, because a fast warp may be a round ahead of a slow one.
    float4* of_warps = numbers_of_warps() + (round_++ & 1U) * (kWarp / 4);
    float* each = reinterpret_cast<float*>(of_warps);
    if (threadIdx.x % kWarp == 0) each[threadIdx.x / kWarp] = of_warp;
    const unsigned warps = blockDim.x / kWarp;
    if (threadIdx.x < kWarp && threadIdx.x >= warps) each[threadIdx.x] = 0;
    __syncthreads();
    float total = 0;
#pragma unroll 2
    for (unsigned i = 0; 4 * i < warps; ++i) {
      const float4 four = of_warps[i];
      total = join(total, join(join(four.x, four.y), join(four.z, four.w)));
    }
    return total;
  }

  __device__ static float4* numbers_of_warps() {
    __shared__ float4 of_warps[2 * kWarp / 4];
    return of_warps;
  }

  ClusterNumbers cluster_;
  int threads_;
  unsigned round_ = 0;
};

__device__ inline unsigned number_of_cluster() {
  unsigned number;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
  return number;
}

__device__ inline unsigned number_of_clusters() {
  unsigned clusters;
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
  return clusters;
}

// See message_blocks().
__device__ inline unsigned message_clusters() {
  return number_of_clusters() - 1;
}

// The rows and the column of a thread. `threads_of_row` threads of its block, or of each block of
// its cluster, share a row: see RowGroup. `clusters` clusters share all rows.
struct RowPlace {
  int row_of_block;
  int column;
  int first_row;  // the block's first row in its first round
  int stride;     // rows from one round to the next

  __device__ RowPlace(int threads_of_row, unsigned clusters) {
    const bool is_block = threads_of_row > kWarp;  // otherwise a power of two
    const int shift = 31 - __clz(threads_of_row);
    const int rows_of_block = is_block ? 1 : static_cast<int>(blockDim.x) >> shift;
    const int thread = static_cast<int>(threadIdx.x);
    row_of_block = is_block ? 0 : thread >> shift;
    column = static_cast<int>(cooperative_groups::this_cluster().block_rank()) * threads_of_row +
             thread - row_of_block * threads_of_row;
    first_row = static_cast<int>(number_of_cluster()) * rows_of_block;
    stride = static_cast<int>(clusters) * rows_of_block;
  }
};

// One vector of a row on its way through the fused operators. It is packed, because a thread may
// hold one vector of every rank's slice.
template <class T>
struct FusedVector {
  static constexpr int kCount = Elements<T>::kCount;
  uint4 value{};  // the residual, then its sum with the message, then that normalised
  uint4 gamma{};

  // Loads early, to overlap with the wait for other GPUs. A column's gamma serves all rows.
  __device__ void fetch_gamma(const Arguments& a, int column) { gamma = a.gamma[column]; }

  __device__ void fetch_residual(const Arguments& a, int row, int column) {
    if (a.residual_in != nullptr) value = a.residual_in[row * a.row_vectors + column];
  }

  // Returns the vector's part of the row's sum of squares.
  __device__ float add_residual(const Arguments& a, int row, int column, uint4 sum) {
    value = a.residual_in == nullptr ? sum : add_vectors<T>(sum, value);
    if (a.residual_out != nullptr) a.residual_out[row * a.row_vectors + column] = value;
    float values[kCount];
    Elements<T>::unpack(value, values);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      squares += values[i] * values[i];
    return squares;
  }

  // Returns the largest magnitude of what it normalised, rounded.
  __device__ float normalize(const Arguments& a, float factor) {
    float values[kCount];
    float gammas[kCount];
    Elements<T>::unpack(value, values);
    Elements<T>::unpack(gamma, gammas);
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      values[i] = values[i] * factor * (gammas[i] + a.weight_bias);
    value = Elements<T>::pack(values);
    return largest();
  }

  // Writes the normalised vector. All threads of a warp call it, `active` or not, because
  // neighbours may share a scale. `scale` is the given one; `largest_of_row` is of use with
  // kPerToken only.
  template <Fusion kFusion>
  __device__ void write(const Arguments& a,
                        int row,
                        int column,
                        float scale,
                        float largest_of_row,
                        bool active) const {
    if (active && a.output != nullptr) a.output[row * a.row_vectors + column] = value;
    if constexpr (kFusion == Fusion::kResidualRmsNormQuantFp8) {
      const float factor = a.scale_layout == ScaleLayout::kDefault
                               ? 1.0F / scale
                               : computed_factor(a, row, column, largest_of_row, active);
      if (active) write_fp8(a, row * a.row_vectors + column, factor);
    }
    if constexpr (kFusion == Fusion::kResidualRmsNormQuantNvfp4)
      write_nvfp4(a, row, column, scale, active);
  }

 private:
  [[nodiscard]] __device__ float largest() const {
    float values[kCount];
    Elements<T>::unpack(value, values);
    float largest = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      largest = fmaxf(largest, fabsf(values[i]));
    return largest;
  }

  // Returns the largest magnitude of this vector and those of its `kThreads - 1` neighbours.
  template <int kThreads>
  [[nodiscard]] __device__ float largest_of_group() const {
    float magnitude = largest();
#pragma unroll
    for (int distance = 1; distance < kThreads; distance *= 2)
      magnitude = fmaxf(magnitude, __shfl_xor_sync(0xFFFFFFFFU, magnitude, distance));
    return magnitude;
  }

  // Writes the scale of the vector's elements and returns the factor that it makes.
  __device__ float computed_factor(
      const Arguments& a, int row, int column, float largest_of_row, bool active) const {
    constexpr int kThreads = kFp8Group / kCount;  // threads of a group: 16 or 32
    const bool per_token = a.scale_layout == ScaleLayout::kPerToken;
    const float scale = fp8_scale(per_token ? largest_of_row : largest_of_group<kThreads>());
    const int scales_of_row = per_token ? 1 : a.row_vectors / kThreads;
    const int group = per_token ? 0 : column / kThreads;
    if (active && column == group * kThreads)
      static_cast<float*>(a.scale_out)[(a.first_row + row) * scales_of_row + group] = scale;
    return fp8_factor(scale);
  }

  __device__ void write_fp8(const Arguments& a, int vector, float factor) const {
    float values[kCount];
    Elements<T>::unpack(value, values);
    std::uint32_t words[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      words[i / 4] |= static_cast<std::uint32_t>(to_e4m3(values[i] * factor)) << 8U * (i % 4);
    if constexpr (kCount == 8) {
      static_cast<uint2*>(a.quantized)[vector] = {words[0], words[1]};
    } else {
      static_cast<std::uint32_t*>(a.quantized)[vector] = words[0];
    }
  }

  __device__ void write_nvfp4(
      const Arguments& a, int row, int column, float global_scale, bool active) const {
    constexpr int kThreads = kNvfp4Group / kCount;  // threads of a group: 2 or 4
    const float magnitude = largest_of_group<kThreads>();
    if (!active) return;
    float values[kCount];
    Elements<T>::unpack(value, values);
    const std::uint8_t scale = nvfp4_scale(magnitude, global_scale);
    const float factor = nvfp4_factor(scale, global_scale);
    std::uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      word |= to_e2m1(values[i] * factor) << 4U * i;
    const int vector = row * a.row_vectors + column;
    if constexpr (kCount == 8) {
      static_cast<std::uint32_t*>(a.quantized)[vector] = word;
    } else {
      static_cast<std::uint16_t*>(a.quantized)[vector] = static_cast<std::uint16_t>(word);
    }
    if (column % kThreads != 0) return;
    const std::int64_t hidden_size = static_cast<std::int64_t>(a.row_vectors) * kCount;
    static_cast<std::uint8_t*>(a.scale_out)[nvfp4_scale_offset(
        a.scale_layout, a.first_row + row, column / kThreads, hidden_size)] = scale;
  }
};

__device__ inline float norm_factor(float squares, const Arguments& a) {
  return rsqrtf(squares * a.inverse_row_elements + a.epsilon);
}

// Returns the scale that the call gives; it is read before anything is waited for.
template <Fusion kFusion>
__device__ float given_scale(const Arguments& a) {
  constexpr bool kQuantizes =
      kFusion == Fusion::kResidualRmsNormQuantFp8 || kFusion == Fusion::kResidualRmsNormQuantNvfp4;
  return kQuantizes && a.scale != nullptr ? *a.scale : 1.0F;
}

struct RowNumbers {
  float squares;  // this thread's part of the row's sum
  float scale;    // the given one
};

// Normalises the vectors of a row and writes what the fusion asks for. visit(run) calls
// run(vector, column, active) for each vector of the thread. All threads of the block call it.
template <Fusion kFusion, class Visit>
__device__ void finish_row(
    const Arguments& a, RowGroup& row_group, int row, const RowNumbers& numbers, Visit visit) {
  const float factor = norm_factor(row_group.sum(numbers.squares), a);
  float largest = 0;
  visit([&](auto& vector, int /*column*/, bool active) {
    const float of_vector = vector.normalize(a, factor);
    if (active) largest = fmaxf(largest, of_vector);
  });
  if constexpr (kFusion == Fusion::kResidualRmsNormQuantFp8) {
    if (a.scale_layout == ScaleLayout::kPerToken) largest = row_group.largest(largest);
  }
  visit([&](auto& vector, int column, bool active) {
    vector.template write<kFusion>(a, row, column, numbers.scale, largest, active);
  });
}

}  // namespace assay::allreduce
