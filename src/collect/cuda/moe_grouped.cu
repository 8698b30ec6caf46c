#include "collect/cuda/launch_after.h"
#include "collect/cuda/moe_grouped.cuh"
#include "collect/cuda/moe_grouped.h"

namespace assay::collect {
namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

EncodeTiled encode_function() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<EncodeTiled>(function);
}

struct MappedMatrix {
  DataType type;
  const void* memory;
  std::int64_t rows;
  std::int64_t k;
};

// A map with boxes of 128 bytes of k in `box_rows` rows. What lies outside of the matrix is zero.
bool encode(EncodeTiled function, const MappedMatrix& matrix, int box_rows, CUtensorMap& map) {
  const bool is_wide = bytes_of(matrix.type) == 2;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(matrix.k),
                               static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t pitch[1] = {static_cast<cuuint64_t>(matrix.k * bytes_of(matrix.type))};
  const cuuint32_t box[2] = {static_cast<cuuint32_t>(kStepBytes / bytes_of(matrix.type)),
                             static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  return function(&map, is_wide ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_UINT8,
                  2, const_cast<void*>(matrix.memory), sizes, pitch, box, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <class Kind>
cudaError_t enqueue_kind(const GroupedArguments& arguments,
                         int multiprocessors,
                         cudaStream_t stream) {
  const auto kernel = grouped_products<Kind>;
  const cudaError_t allowed =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Kind::kSharedBytes);
  if (allowed != cudaSuccess) return allowed;
  const KernelShape shape{.blocks = static_cast<unsigned>(multiprocessors),
                          .threads = kGroupedThreads,
                          .shared_bytes = Kind::kSharedBytes};
  return launch_after(kernel, shape, stream, arguments);
}

template <DataType kType>
cudaError_t enqueue_type(const GroupedArguments& arguments,
                         GroupedEpilogue epilogue,
                         int multiprocessors,
                         cudaStream_t stream) {
  using Store = GroupedKind<kType, GroupedEpilogue::kStore>;
  using Activate = GroupedKind<kType, GroupedEpilogue::kActivate>;
  if (epilogue == GroupedEpilogue::kAdd) {
    using Add = GroupedKind<kType, GroupedEpilogue::kAdd>;
    return enqueue_kind<Add>(arguments, multiprocessors, stream);
  }
  if (arguments.sources == nullptr) {
    return epilogue == GroupedEpilogue::kActivate
               ? enqueue_kind<Activate>(arguments, multiprocessors, stream)
               : enqueue_kind<Store>(arguments, multiprocessors, stream);
  }
  if constexpr (kType == DataType::kMxfp4) {
    return cudaErrorNotSupported;
  } else {
    if (epilogue == GroupedEpilogue::kStore) return cudaErrorNotSupported;
    using Gather = GroupedKind<kType, GroupedEpilogue::kActivate, GroupedInput::kTokens>;
    return enqueue_kind<Gather>(arguments, multiprocessors, stream);
  }
}

}  // namespace

cudaError_t describe(const GroupedOperands& operands, GroupedArguments& arguments) {
  static const EncodeTiled function = encode_function();
  if (function == nullptr) return cudaErrorNotSupported;
  arguments.n = static_cast<std::int32_t>(operands.n);
  arguments.k = static_cast<std::int32_t>(operands.k);
  const bool activates = operands.epilogue == GroupedEpilogue::kActivate;
  arguments.columns = arguments.n / (activates ? 2 : 1);
  const bool is_packed = operands.type == DataType::kMxfp4;
  const DataType input_type = is_packed ? DataType::kBfloat16 : operands.type;
  arguments.packed_weight = static_cast<const char*>(operands.weight);
  arguments.packed_scales = static_cast<const char*>(operands.weight_scales);
  arguments.weight_scales = static_cast<const float*>(operands.weight_scales);
  const MappedMatrix weight{operands.type, operands.weight, operands.experts * operands.n,
                            operands.k};
  const MappedMatrix input{input_type, operands.input, operands.rows, operands.k};
  if (!is_packed && !encode(function, weight, kHalfRows, arguments.weight))
    return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < kTileWidths.size(); ++i) {
    if (!encode(function, input, kTileWidths[i], arguments.inputs[i])) return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t enqueue_grouped(const GroupedArguments& arguments,
                            DataType type,
                            GroupedEpilogue epilogue,
                            int multiprocessors,
                            cudaStream_t stream) {
  switch (type) {
    case DataType::kBfloat16:
      return enqueue_type<DataType::kBfloat16>(arguments, epilogue, multiprocessors, stream);
    case DataType::kFp8:
      return enqueue_type<DataType::kFp8>(arguments, epilogue, multiprocessors, stream);
    case DataType::kFp8Block:
      return enqueue_type<DataType::kFp8Block>(arguments, epilogue, multiprocessors, stream);
    case DataType::kMxfp4:
      return enqueue_type<DataType::kMxfp4>(arguments, epilogue, multiprocessors, stream);
    default:
      return cudaErrorNotSupported;
  }
}

}  // namespace assay::collect
