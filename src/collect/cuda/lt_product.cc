#include "collect/cuda/lt_product.h"

#include <string>
#include <utility>

namespace assay::collect {
namespace {

constexpr std::size_t kFirstWithBlockScales = 120900;  // version 12.9

struct LtTypes {
  cudaDataType_t input = CUDA_R_16BF;
  cudaDataType_t output = CUDA_R_16BF;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;  // float32 does not use TF32
  cudaDataType_t scale = CUDA_R_32F;
};

LtTypes lt_types(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return {.input = CUDA_R_32F, .output = CUDA_R_32F};
    case DataType::kFloat16:
      return {.input = CUDA_R_16F, .output = CUDA_R_16F};
    case DataType::kBfloat16:
    case DataType::kMxfp4:  // limit_of() refuses it
      return {};
    case DataType::kFp8:
    case DataType::kFp8Block:
      return {.input = CUDA_R_8F_E4M3};
    case DataType::kInt8:
      return {.input = CUDA_R_8I,
              .output = CUDA_R_32I,
              .compute = CUBLAS_COMPUTE_32I,
              .scale = CUDA_R_32I};
  }
  return {};
}

template <class Value>
core::Status set_attribute(const LtFunctions& lt,
                           cublasLtMatmulDesc_t description,
                           cublasLtMatmulDescAttributes_t attribute,
                           Value value) {
  return lt_status(lt.set_description(description, attribute, &value, sizeof value),
                   "describing a product");
}

// cuBLAS is column-major, so each row here is a column of `length` elements there.
core::Status make_layout(const LtFunctions& lt,
                         cublasLtMatrixLayout_t& layout,
                         cudaDataType_t type,
                         std::int64_t rows,
                         std::int64_t length,
                         std::int64_t batch) {
  ASSAY_TRY(lt_status(lt.create_layout(&layout, type, static_cast<std::uint64_t>(length),
                                       static_cast<std::uint64_t>(rows), length),
                      "describing a matrix"));
  if (batch == 1) return {};
  const auto count = static_cast<std::int32_t>(batch);
  const std::int64_t stride = rows * length;
  ASSAY_TRY(
      lt_status(lt.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                "describing a batch"));
  return lt_status(
      lt.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
      "describing a batch");
}

}  // namespace

std::int64_t output_bytes_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kInt8:
      return 4;
    default:
      return 2;
  }
}

core::Result<LtProduct::Made> LtProduct::make(Blas& blas,
                                              const GemmSpec& spec,
                                              std::uint32_t alignment_bytes) {
  if (spec.type == DataType::kFp8Block && blas.lt().version() < kFirstWithBlockScales)
    return Made(
        Unsupported{"cuBLASLt has scales for blocks of 128 from 12.9 on, this is " + lt_version()});
  std::unique_ptr<LtProduct> product(new LtProduct(blas));
  product->type_ = spec.type;
  ASSAY_TRY(product->describe(spec));
  const cublasStatus_t chosen = ASSAY_TRY(product->choose(alignment_bytes));
  if (chosen == CUBLAS_STATUS_SUCCESS) return Made(std::move(product));
  return Made(Unsupported{"cuBLASLt has no algorithm for this product of " +
                          std::string(name_of(spec.type)) + " (" + blas.lt().status_string(chosen) +
                          ")"});
}

LtProduct::~LtProduct() {
  const LtFunctions& lt = blas_.lt();
  if (output_layout_ != nullptr) lt.destroy_layout(output_layout_);
  if (input_layout_ != nullptr) lt.destroy_layout(input_layout_);
  if (weight_layout_ != nullptr) lt.destroy_layout(weight_layout_);
  if (description_ != nullptr) lt.destroy_description(description_);
}

core::Status LtProduct::describe(const GemmSpec& spec) {
  const LtFunctions& lt = blas_.lt();
  const LtTypes types = lt_types(spec.type);
  ASSAY_TRY(lt_status(lt.create_description(&description_, types.compute, types.scale),
                      "describing a product"));
  ASSAY_TRY(
      set_attribute<std::int32_t>(lt, description_, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T));
  ASSAY_TRY(
      set_attribute<std::int32_t>(lt, description_, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N));
  if (spec.type == DataType::kFp8) {
    // Sums may have fewer bits, as in inference on Hopper.
    ASSAY_TRY(set_attribute<std::int8_t>(lt, description_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1));
  }
  if (spec.type == DataType::kFp8Block) {
    ASSAY_TRY(set_attribute<std::int32_t>(lt, description_, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                                          CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F));
    ASSAY_TRY(set_attribute<std::int32_t>(lt, description_, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                                          CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F));
  }
  // Any address is right here, because the heuristic only tests whether there are scales.
  ASSAY_TRY(set_scales({.input_scales = blas_.one(), .weight_scales = blas_.one()}));
  ASSAY_TRY(make_layout(lt, weight_layout_, types.input, spec.n, spec.k, spec.batch));
  ASSAY_TRY(make_layout(lt, input_layout_, types.input, spec.m, spec.k, spec.batch));
  return make_layout(lt, output_layout_, types.output, spec.m, spec.n, spec.batch);
}

core::Status LtProduct::set_scales(const ProductArguments& arguments) {
  if (type_ != DataType::kFp8 && type_ != DataType::kFp8Block) return {};
  const bool whole = type_ == DataType::kFp8;
  const void* weight = whole ? blas_.one() : arguments.weight_scales;
  const void* input = whole ? blas_.one() : arguments.input_scales;
  ASSAY_TRY(set_attribute(blas_.lt(), description_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, weight));
  return set_attribute(blas_.lt(), description_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, input);
}

core::Result<cublasStatus_t> LtProduct::choose(std::uint32_t alignment_bytes) {
  const LtFunctions& lt = blas_.lt();
  cublasLtMatmulPreference_t preference = nullptr;
  ASSAY_TRY(lt_status(lt.create_preference(&preference), "choosing an algorithm"));
  const std::size_t workspace_bytes = Blas::kWorkspaceBytes;
  cublasStatus_t limited = lt.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof workspace_bytes);
  for (const auto matrix :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    if (limited != CUBLAS_STATUS_SUCCESS) break;
    limited = lt.set_preference(preference, matrix, &alignment_bytes, sizeof alignment_bytes);
  }
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      lt.heuristic(blas_.lt_handle(), description_, weight_layout_, input_layout_, output_layout_,
                   output_layout_, preference, 1, &found, &count);
  lt.destroy_preference(preference);
  ASSAY_TRY(lt_status(limited, "choosing an algorithm"));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (count == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (found.state != CUBLAS_STATUS_SUCCESS) return found.state;
  algorithm_ = found.algo;
  // If the library does not report it, the strictest bound applies.
  std::size_t written = 0;
  lt.algorithm_attribute(&algorithm_, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &about_.split_k,
                         sizeof about_.split_k, &written);
  lt.algorithm_attribute(&algorithm_, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                         &about_.reduction_scheme, sizeof about_.reduction_scheme, &written);
  return CUBLAS_STATUS_SUCCESS;
}

core::Status LtProduct::enqueue(const ProductArguments& arguments, cudaStream_t stream) {
  if (type_ == DataType::kFp8Block) ASSAY_TRY(set_scales(arguments));
  const float one = 1;
  const float zero = 0;
  const std::int32_t one_int = 1;
  const std::int32_t zero_int = 0;
  const bool whole_numbers = type_ == DataType::kInt8;
  const void* alpha = whole_numbers ? static_cast<const void*>(&one_int) : &one;
  const void* beta = whole_numbers ? static_cast<const void*>(&zero_int) : &zero;
  return lt_status(
      blas_.lt().matmul(blas_.lt_handle(), description_, alpha, arguments.weight, weight_layout_,
                        arguments.input, input_layout_, beta, arguments.output, output_layout_,
                        arguments.output, output_layout_, &algorithm_, blas_.workspace(),
                        Blas::kWorkspaceBytes, stream),
      "a product by cuBLASLt");
}

core::Result<StridedProduct::Made> StridedProduct::make(Blas& blas,
                                                        const StridedProductSpec& spec) {
  std::unique_ptr<StridedProduct> product(new StridedProduct(blas));
  ASSAY_TRY(product->describe(spec));
  const cublasStatus_t chosen = ASSAY_TRY(product->choose());
  if (chosen == CUBLAS_STATUS_SUCCESS) return Made(std::move(product));
  return Made(Unsupported{std::string("cuBLASLt has no algorithm for a product of an attention (") +
                          blas.lt().status_string(chosen) + ")"});
}

StridedProduct::~StridedProduct() {
  const LtFunctions& lt = blas_.lt();
  if (output_layout_ != nullptr) lt.destroy_layout(output_layout_);
  if (right_layout_ != nullptr) lt.destroy_layout(right_layout_);
  if (left_layout_ != nullptr) lt.destroy_layout(left_layout_);
  if (description_ != nullptr) lt.destroy_description(description_);
}

// cuBLAS is column-major, so rows here are columns there, and the right matrix comes first.
core::Status StridedProduct::make_layout(cublasLtMatrixLayout_t& layout,
                                         const StridedMatrix& matrix,
                                         std::int64_t batch) {
  const LtFunctions& lt = blas_.lt();
  ASSAY_TRY(
      lt_status(lt.create_layout(&layout, matrix.type, static_cast<std::uint64_t>(matrix.columns),
                                 static_cast<std::uint64_t>(matrix.rows), matrix.pitch),
                "describing a matrix of an attention"));
  const auto count = static_cast<std::int32_t>(batch);
  ASSAY_TRY(
      lt_status(lt.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                "describing a batch of an attention"));
  return lt_status(lt.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                 &matrix.stride, sizeof matrix.stride),
                   "describing the strides of an attention");
}

core::Status StridedProduct::describe(const StridedProductSpec& spec) {
  const LtFunctions& lt = blas_.lt();
  ASSAY_TRY(lt_status(lt.create_description(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                      "describing a product of an attention"));
  const bool transposed = spec.orientation == StridedProductSpec::Right::kTransposed;
  const std::int32_t first = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  ASSAY_TRY(
      lt_status(lt.set_description(description_, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first),
                "orienting a product of an attention"));
  ASSAY_TRY(make_layout(left_layout_, spec.left, spec.batch));
  ASSAY_TRY(make_layout(right_layout_, spec.right, spec.batch));
  return make_layout(output_layout_, spec.output, spec.batch);
}

core::Result<cublasStatus_t> StridedProduct::choose() {
  const LtFunctions& lt = blas_.lt();
  cublasLtMatmulPreference_t preference = nullptr;
  ASSAY_TRY(lt_status(lt.create_preference(&preference), "choosing an algorithm"));
  const std::size_t workspace_bytes = Blas::kWorkspaceBytes;
  const cublasStatus_t limited =
      lt.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                        sizeof workspace_bytes);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      lt.heuristic(blas_.lt_handle(), description_, right_layout_, left_layout_, output_layout_,
                   output_layout_, preference, 1, &found, &count);
  lt.destroy_preference(preference);
  ASSAY_TRY(lt_status(limited, "choosing an algorithm"));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (count == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (found.state == CUBLAS_STATUS_SUCCESS) algorithm_ = found.algo;
  return found.state;
}

core::Status StridedProduct::enqueue(const void* left,
                                     const void* right,
                                     void* output,
                                     cudaStream_t stream) {
  const float one = 1;
  const float zero = 0;
  return lt_status(
      blas_.lt().matmul(blas_.lt_handle(), description_, &one, right, right_layout_, left,
                        left_layout_, &zero, output, output_layout_, output, output_layout_,
                        &algorithm_, blas_.workspace(), Blas::kWorkspaceBytes, stream),
      "a product of an attention by cuBLASLt");
}

}  // namespace assay::collect
