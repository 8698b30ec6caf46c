// Maps a request's data type, fusion and number of GPUs to the kernel compiled for them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <utility>

#include "allreduce/strategies/strategy_kernel.h"

namespace assay::allreduce {

template <class T>
struct TypeTag {
  using Type = T;
};

template <auto kConstant>
struct ValueTag {
  static constexpr auto kValue = kConstant;
};

// Calls run(TypeTag, ValueTag<world>, ValueTag<Fusion>), where world is 0 for any number of GPUs.
template <class Run>
cudaError_t dispatch(const Request& request, int world_size, Run run) {
  const auto with_fusion = [&](auto type, auto world) {
    switch (request.fusion) {
      case Fusion::kNone:
        return run(type, world, ValueTag<Fusion::kNone>{});
      case Fusion::kResidualRmsNorm:
        return run(type, world, ValueTag<Fusion::kResidualRmsNorm>{});
      case Fusion::kResidualRmsNormQuantFp8:
        return run(type, world, ValueTag<Fusion::kResidualRmsNormQuantFp8>{});
      case Fusion::kResidualRmsNormQuantNvfp4:
        return run(type, world, ValueTag<Fusion::kResidualRmsNormQuantNvfp4>{});
    }
    return cudaErrorInvalidValue;
  };
  const auto with_world = [&](auto type) {
    switch (world_size) {
      case 2:
        return with_fusion(type, ValueTag<2>{});
      case 4:
        return with_fusion(type, ValueTag<4>{});
      case 8:
        return with_fusion(type, ValueTag<8>{});
      default:
        return with_fusion(type, ValueTag<0>{});
    }
  };
  switch (request.data_type) {
    case DataType::kBfloat16:
      return with_world(TypeTag<__nv_bfloat16>{});
    case DataType::kFloat16:
      return with_world(TypeTag<__half>{});
    case DataType::kFloat32:
      return with_world(TypeTag<float>{});
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace assay::allreduce
