// The kernel for the attention of new tokens in fp8.
#include <cmath>

#include "collect/cuda/attention_context_block.cuh"
#include "collect/cuda/attention_context_kernels.h"
#include "collect/cuda/tensor_map.h"

namespace assay::collect {
namespace {

using namespace context;

template <int kHeadDim, int kValueDim, int kTileQueries>
__global__ void __launch_bounds__(Size<kHeadDim, kValueDim, kTileQueries>::kThreads, 1)
    context_tiles(const __grid_constant__ ContextArguments arguments,
                  const __grid_constant__ ContextMaps maps) {
  extern __shared__ __align__(1024) char memory[];
  const Shared<kHeadDim, kValueDim, kTileQueries> shared(shared_address(memory));
  if (threadIdx.x == 0) shared.make_barriers();
  __syncthreads();
  using Its = Size<kHeadDim, kValueDim, kTileQueries>;
  if (threadIdx.x / kGroupThreads == Its::kReaders) {
    give_registers<Its::kReaders == 3 ? 32 : 40>();
    bring_tiles(arguments.shape, maps, shared);
  } else {
    take_registers<Its::kReaders == 3 ? 160 : 232>();
    Reader<kHeadDim, kValueDim, kTileQueries> reader(arguments, shared);
    for (Walk walk(arguments.shape); !walk.is_over(); walk.next_tile())
      reader.read(walk);
  }
}

// Calls `use` with the kernel for these heads and its size, and returns its result.
template <class Use>
cudaError_t with_context_kernel(const ContextArguments& arguments, const Use& use) {
  switch (arguments.head_dim) {
    case 64:
      return arguments.shape.tile_queries == 192
                 ? use(context_tiles<64, 64, 192>, Size<64, 64, 192>{})
                 : use(context_tiles<64, 64, 128>, Size<64, 64, 128>{});
    case 128:
      return use(context_tiles<128, 128, 128>, Size<128, 128, 128>{});
    case 192:
      return use(context_tiles<192, 128, 128>, Size<192, 128, 128>{});
    case 256:
      return use(context_tiles<256, 256, 128>, Size<256, 256, 128>{});
    default:
      return cudaErrorInvalidValue;
  }
}

struct Tensor {
  const void* memory = nullptr;
  int batch = 1;
  int tokens = 1;
  int heads = 1;
  int elements = 1;
};

// Boxes are `rows` tokens of 128 elements; what lies outside is zeros.
cudaError_t map_tensor(const Tensor& tensor, int rows, CUtensorMap* map) {
  if (encode_tensor_map() == nullptr) return cudaErrorNotSupported;
  const auto wide = [](int number) { return static_cast<cuuint64_t>(number); };
  const cuuint64_t sizes[4] = {wide(tensor.elements), wide(tensor.heads), wide(tensor.tokens),
                               wide(tensor.batch)};
  const cuuint64_t token_bytes = sizes[0] * sizes[1];
  const cuuint64_t strides[3] = {sizes[0], token_bytes, token_bytes * sizes[2]};
  const cuuint32_t box[4] = {128, 1, static_cast<cuuint32_t>(rows), 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  const CUresult made = encode_tensor_map()(
      map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, const_cast<void*>(tensor.memory), sizes, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return made == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t map_context(const ContextArguments& arguments,
                        const ContextTensors& tensors,
                        ContextMaps* maps) {
  const Shape& shape = arguments.shape;
  const auto tensor = [&](const void* memory, int tokens, int heads, int elements) -> Tensor {
    return {memory, shape.batch, tokens, heads, elements};
  };
  const cudaError_t query =
      map_tensor(tensor(tensors.query, shape.queries, shape.heads, arguments.head_dim),
                 shape.tile_queries, &maps->query);
  if (query != cudaSuccess) return query;
  const cudaError_t keys = map_tensor(
      tensor(tensors.keys, shape.keys, shape.kv_heads, arguments.head_dim), kTileKeys, &maps->keys);
  if (keys != cudaSuccess) return keys;
  return map_tensor(tensor(tensors.values, shape.keys, shape.kv_heads, arguments.value_dim),
                    kTileKeys, &maps->values);
}

cudaError_t prepare_context(const ContextArguments& arguments) {
  return with_context_kernel(arguments, [](auto* kernel, auto size) {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                decltype(size)::kSharedBytes);
  });
}

cudaError_t context_attention(const ContextArguments& arguments,
                              const ContextMaps& maps,
                              int multiprocessors,
                              cudaStream_t stream) {
  const int tiles = tiles_of(arguments.shape);
  const int blocks = tiles < multiprocessors ? tiles : multiprocessors;
  return with_context_kernel(arguments, [&](auto* kernel, auto size) {
    kernel<<<static_cast<unsigned>(blocks), size.kThreads, size.kSharedBytes, stream>>>(arguments,
                                                                                        maps);
    return cudaGetLastError();
  });
}

}  // namespace assay::collect
