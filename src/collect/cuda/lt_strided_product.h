// A product of matrices that lie in larger tensors, by cuBLASLt: with distances between their rows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <variant>

#include "collect/cuda/blas.h"
#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

// Rows that lie `pitch` elements apart, in `batch` matrices `stride` elements apart.
struct StridedMatrix {
  cudaDataType_t type = CUDA_R_16BF;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t pitch = 1;
  std::int64_t stride = 0;
};

struct StridedProductSpec {
  // Output [m, n] = left [m, k] x right, which is [n, k] to be transposed, or [k, n].
  enum class Right : std::uint8_t { kTransposed, kAsIs } orientation = Right::kTransposed;
  StridedMatrix left;
  StridedMatrix right;
  StridedMatrix output;
  std::int64_t batch = 1;
};

class StridedProduct {
 public:
  using Made = std::variant<std::unique_ptr<StridedProduct>, Unsupported>;

  // The algorithm that cuBLASLt's heuristic puts first. Sums are float32.
  static core::Result<Made> make(Blas& blas, const StridedProductSpec& spec);
  StridedProduct(const StridedProduct&) = delete;
  StridedProduct& operator=(const StridedProduct&) = delete;
  ~StridedProduct();

  core::Status enqueue(const void* left, const void* right, void* output, cudaStream_t stream);

 private:
  explicit StridedProduct(Blas& blas) : blas_(blas) {}

  core::Status describe(const StridedProductSpec& spec);
  core::Status make_layout(cublasLtMatrixLayout_t& layout,
                           const StridedMatrix& matrix,
                           std::int64_t batch);
  core::Result<cublasStatus_t> choose();

  Blas& blas_;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t left_layout_ = nullptr;
  cublasLtMatrixLayout_t right_layout_ = nullptr;
  cublasLtMatrixLayout_t output_layout_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace assay::collect
