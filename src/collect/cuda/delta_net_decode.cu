// The gated delta rule for one token of each request. The memory bandwidth limits it: the state of
// a head is read once, kept in the registers of a block, and written once. With a the decay and b
// the rate, the new state is a S + k u^T with u = b (v - a S^T k), and the output a S^T q + (k.q)
// u, so that one pass over S suffices for both products.
#include "collect/cuda/delta_net_gates.cuh"

namespace assay::collect {
namespace {

constexpr int kDim = static_cast<int>(kDeltaNetDim);
constexpr int kDecodeThreads = 128;
constexpr int kWarps = kDecodeThreads / 32;
constexpr int kWarpRows = kDim / kWarps;  // of a state; a lane has four columns of each

__device__ float4 plus_times(float4 sum, float factor, float4 value) {
  return {sum.x + factor * value.x, sum.y + factor * value.y, sum.z + factor * value.z,
          sum.w + factor * value.w};
}

struct NormalisedPair {
  float query[kDim];
  float key[kDim];
  float product;
};

// Each thread has an element of the query and of the key.
__device__ void normalise_pair(float query, float key, NormalisedPair& pair, float3* parts) {
  float3 sums{query * query, key * key, query * key};
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    sums.x += __shfl_xor_sync(0xFFFFFFFFU, sums.x, offset);
    sums.y += __shfl_xor_sync(0xFFFFFFFFU, sums.y, offset);
    sums.z += __shfl_xor_sync(0xFFFFFFFFU, sums.z, offset);
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sums;
  __syncthreads();
  float3 all{0, 0, 0};
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    all.x += parts[i].x;
    all.y += parts[i].y;
    all.z += parts[i].z;
  }
  const float query_scale = rsqrtf(all.x + kNormEpsilon) * rsqrtf(static_cast<float>(kDim));
  const float key_scale = rsqrtf(all.y + kNormEpsilon);
  pair.query[threadIdx.x] = query * query_scale;
  pair.key[threadIdx.x] = key * key_scale;
  if (threadIdx.x == 0) pair.product = all.z * query_scale * key_scale;
  __syncthreads();
}

__global__ void __launch_bounds__(kDecodeThreads, 3) rule_of_token(DeltaNetArguments arguments) {
  __shared__ NormalisedPair pair;
  __shared__ float3 parts[kWarps];
  const DeltaNetSpec& spec = arguments.spec;
  const std::int64_t request = blockIdx.x / spec.value_heads;
  const std::int64_t head = blockIdx.x % spec.value_heads;
  const int row = static_cast<int>(threadIdx.x) / 32 * kWarpRows;
  __shared__ float4 by_keys[kWarps][32];
  __shared__ float4 by_queries[kWarps][32];
  const int column = static_cast<int>(threadIdx.x) % 32;
  auto* state =
      reinterpret_cast<float4*>(arguments.state + blockIdx.x * std::int64_t{kDim} * kDim) +
      row * (kDim / 4) + column;
  float4 held[kWarpRows];
#pragma unroll
  for (int i = 0; i < kWarpRows; ++i)
    held[i] = state[i * (kDim / 4)];

  const std::int64_t key_width = spec.key_heads * kDim;
  const std::int64_t key_head = head / (spec.value_heads / spec.key_heads);
  const auto* token = static_cast<const __nv_bfloat16*>(arguments.input) +
                      request * (2 * key_width + spec.value_heads * kDim);
  normalise_pair(as_float(token[key_head * kDim + threadIdx.x]),
                 as_float(token[key_width + key_head * kDim + threadIdx.x]), pair, parts);
  const DeltaGates gates = delta_gates(arguments, request, head);
  const float decay = __expf(gates.decay_log);

  float4 by_key{0, 0, 0, 0};
  float4 by_query{0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < kWarpRows; ++i) {
    by_key = plus_times(by_key, pair.key[i + row], held[i]);
    by_query = plus_times(by_query, pair.query[i + row], held[i]);
  }
  by_keys[row / kWarpRows][column] = by_key;
  by_queries[row / kWarpRows][column] = by_query;
  __syncthreads();
  by_key = {0, 0, 0, 0};
  by_query = {0, 0, 0, 0};
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) {
    by_key = plus_times(by_key, 1, by_keys[warp][column]);
    by_query = plus_times(by_query, 1, by_queries[warp][column]);
  }
  const auto* values = token + 2 * key_width + head * kDim + column * 4;
  const auto change = [&](int i, float sum) {
    return gates.rate * (as_float(values[i]) - decay * sum);
  };
  const float4 update{change(0, by_key.x), change(1, by_key.y), change(2, by_key.z),
                      change(3, by_key.w)};
#pragma unroll
  for (int i = 0; i < kWarpRows; ++i) {
    const float key = pair.key[i + row];
    const float4 old = held[i];
    state[i * (kDim / 4)] =
        plus_times({decay * old.x, decay * old.y, decay * old.z, decay * old.w}, key, update);
  }
  if (row != 0) return;
  auto* output = static_cast<__nv_bfloat16*>(arguments.output) +
                 (request * spec.value_heads + head) * kDim + column * 4;
  const float2 first{decay * by_query.x + pair.product * update.x,
                     decay * by_query.y + pair.product * update.y};
  const float2 second{decay * by_query.z + pair.product * update.z,
                      decay * by_query.w + pair.product * update.w};
  reinterpret_cast<__nv_bfloat162*>(output)[0] = __float22bfloat162_rn(first);
  reinterpret_cast<__nv_bfloat162*>(output)[1] = __float22bfloat162_rn(second);
}

}  // namespace

cudaError_t delta_rule_token(const DeltaNetArguments& arguments, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(arguments.spec.batch * arguments.spec.value_heads);
  rule_of_token<<<blocks, kDecodeThreads, 0, stream>>>(arguments);
  return cudaGetLastError();
}

}  // namespace assay::collect
