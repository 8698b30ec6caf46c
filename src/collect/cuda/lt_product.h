// A product by cuBLASLt, with the algorithm that its heuristic puts first, which is what PyTorch
// takes. Output [m, n] = input [m, k] x weight [n, k] transposed, all row by row.
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
  // Of fp8_block: see block_scales.h.
  const float* input_scales = nullptr;
  const float* weight_scales = nullptr;
};

// What the algorithm may do to the result, for the bound of its error.
struct LtAlgorithm {
  std::uint32_t reduction_scheme = 0;  // cublasLtReductionScheme_t
  std::int32_t split_k = 1;
};

class LtProduct {
 public:
  using Made = std::variant<std::unique_ptr<LtProduct>, Unsupported>;

  // `alignment_bytes`: of all addresses it will be given.
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

// Of a product's output: int32 of int8, bfloat16 of fp8, else the type itself.
std::int64_t output_bytes_of(DataType type);

}  // namespace assay::collect
