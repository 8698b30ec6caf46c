// The functions of cuBLASLt and cuBLAS that Assay uses, and the handles of one GPU.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>

#include "core/result.h"

namespace assay::collect {

struct LtFunctions {
  decltype(cublasLtCreate)* create = nullptr;
  decltype(cublasLtDestroy)* destroy = nullptr;
  decltype(cublasLtGetVersion)* version = nullptr;
  decltype(cublasLtGetStatusString)* status_string = nullptr;
  decltype(cublasLtMatmul)* matmul = nullptr;
  decltype(cublasLtMatmulAlgoGetHeuristic)* heuristic = nullptr;
  decltype(cublasLtMatmulAlgoConfigGetAttribute)* algorithm_attribute = nullptr;
  decltype(cublasLtMatmulDescCreate)* create_description = nullptr;
  decltype(cublasLtMatmulDescDestroy)* destroy_description = nullptr;
  decltype(cublasLtMatmulDescSetAttribute)* set_description = nullptr;
  decltype(cublasLtMatrixLayoutCreate)* create_layout = nullptr;
  decltype(cublasLtMatrixLayoutDestroy)* destroy_layout = nullptr;
  decltype(cublasLtMatrixLayoutSetAttribute)* set_layout = nullptr;
  decltype(cublasLtMatmulPreferenceCreate)* create_preference = nullptr;
  decltype(cublasLtMatmulPreferenceDestroy)* destroy_preference = nullptr;
  decltype(cublasLtMatmulPreferenceSetAttribute)* set_preference = nullptr;
};

// cuBLAS is only used for products of many shapes in one launch, which cuBLASLt lacks.
struct CublasFunctions {
  decltype(cublasCreate_v2)* create = nullptr;
  decltype(cublasDestroy_v2)* destroy = nullptr;
  decltype(cublasSetStream_v2)* set_stream = nullptr;
  decltype(cublasSetWorkspace_v2)* set_workspace = nullptr;
  decltype(cublasGemmGroupedBatchedEx)* grouped = nullptr;
};

// A process opens each library once. Fails if the library is missing; the message names it.
const core::Result<LtFunctions>& lt_functions();
const core::Result<CublasFunctions>& cublas_functions();

// Returns a text like "13.1.0", or "none" without the library.
std::string lt_version();
std::string cudnn_version();

core::Status lt_status(cublasStatus_t status, const char* doing);

class Blas {
 public:
  static core::Result<std::unique_ptr<Blas>> create(cudaStream_t stream);
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas();

  // The size that PyTorch uses on Hopper, so that the heuristic chooses the same algorithms.
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20U;

  [[nodiscard]] const LtFunctions& lt() const { return lt_functions().value(); }

  [[nodiscard]] cublasLtHandle_t lt_handle() const { return lt_handle_; }

  [[nodiscard]] void* workspace() const { return workspace_; }

  // A float on the device that is 1: the scale of a whole tensor.
  [[nodiscard]] const float* one() const { return one_; }

  // Fails if cuBLAS, which is a separate library from cuBLASLt, is missing or fails.
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
