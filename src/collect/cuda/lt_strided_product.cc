#include "collect/cuda/lt_strided_product.h"

#include <string>
#include <utility>

namespace assay::collect {

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

// cuBLAS counts columns first: our rows are its columns, and the right matrix is its first.
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
