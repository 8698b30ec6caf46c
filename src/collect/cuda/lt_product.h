// Products by cuBLASLt. Like PyTorch, they use the algorithm that its heuristic puts first. Sums
// are float32.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <variant>

#include "collect/cuda/blas.h"
#include "collect/kernels/device.h"
#include "collect/kernels/kernels.h"
#include "core/result.h"

namespace assay::collect {

struct ProductArguments {
  const void* input = nullptr;
  const void* weight = nullptr;
  void* output = nullptr;
  // Only for fp8_block. block_scales.h describes the layout.
  const float* input_scales = nullptr;
  const float* weight_scales = nullptr;
};

// The properties of the algorithm that determine the bound of its error.
struct LtAlgorithm {
  std::uint32_t reduction_scheme = 0;  // cublasLtReductionScheme_t
  std::int32_t split_k = 1;
};

// Output [m, n] = input [m, k] x weight [n, k] transposed. All matrices are row-major.
class LtProduct {
 public:
  using Made = std::variant<std::unique_ptr<LtProduct>, Unsupported>;

  // All addresses in later calls must be multiples of `alignment_bytes`.
  static core::Result<Made> make(Blas& blas,
                                 const GemmSpec& spec,
                                 std::uint32_t alignment_bytes = 256);
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;
  ~LtProduct();

  core::Status enqueue(const ProductArguments& arguments, cudaStream_t stream);

  [[nodiscard]] const LtAlgorithm& algorithm() const { return about_; }

 private:
  explicit LtProduct(Blas& blas) : blas_(blas) {}

  core::Status describe(const GemmSpec& spec);
  core::Status set_scales(const ProductArguments& arguments);
  core::Result<cublasStatus_t> choose(std::uint32_t alignment_bytes);

  Blas& blas_;
  DataType type_ = DataType::kBfloat16;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t weight_layout_ = nullptr;
  cublasLtMatrixLayout_t input_layout_ = nullptr;
  cublasLtMatrixLayout_t output_layout_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  LtAlgorithm about_;
};

// Returns the bytes of an element of a product's output, which is int32 for int8, bfloat16 for fp8,
// and otherwise the type itself.
std::int64_t output_bytes_of(DataType type);

// A matrix that lies in a larger tensor: rows are `pitch` elements apart, and the matrices of a
// batch are `stride` elements apart.
struct StridedMatrix {
  cudaDataType_t type = CUDA_R_16BF;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t pitch = 1;
  std::int64_t stride = 0;
};

struct StridedProductSpec {
  // Output [m, n] = left [m, k] x right, which is either [n, k] and transposed, or [k, n].
  enum class Right : std::uint8_t { kTransposed, kAsIs } orientation = Right::kTransposed;
  StridedMatrix left;
  StridedMatrix right;
  StridedMatrix output;
  std::int64_t batch = 1;
};

class StridedProduct {
 public:
  using Made = std::variant<std::unique_ptr<StridedProduct>, Unsupported>;

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
