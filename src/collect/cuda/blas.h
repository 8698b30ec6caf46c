// cuBLASLt and cuBLAS on one GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "collect/cuda/blas_functions.h"
#include "core/result.h"

namespace assay::collect {

class Blas {
 public:
  static core::Result<std::unique_ptr<Blas>> create(cudaStream_t stream);
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas();

  // As PyTorch's on Hopper, so that the same algorithms are chosen.
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20U;

  [[nodiscard]] const LtFunctions& lt() const { return lt_functions().value(); }

  [[nodiscard]] cublasLtHandle_t lt_handle() const { return lt_handle_; }

  [[nodiscard]] void* workspace() const { return workspace_; }

  // A device float that is 1: the scale of a whole tensor.
  [[nodiscard]] const float* one() const { return one_; }

  // Error: cuBLAS, which is a library of its own, is not there, or fails.
  core::Result<cublasHandle_t> cublas_handle();

 private:
  explicit Blas(cudaStream_t stream) : stream_(stream) {}

  core::Status start();

  cudaStream_t stream_;
  cublasLtHandle_t lt_handle_ = nullptr;
  cublasHandle_t cublas_handle_ = nullptr;
  void* workspace_ = nullptr;
  float* one_ = nullptr;
};

}  // namespace assay::collect
