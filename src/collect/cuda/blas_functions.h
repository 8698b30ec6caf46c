// What is used of cuBLASLt and cuBLAS.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

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

// Of cuBLAS only what cuBLASLt lacks: products of many shapes in one launch.
struct CublasFunctions {
  decltype(cublasCreate_v2)* create = nullptr;
  decltype(cublasDestroy_v2)* destroy = nullptr;
  decltype(cublasSetStream_v2)* set_stream = nullptr;
  decltype(cublasSetWorkspace_v2)* set_workspace = nullptr;
  decltype(cublasGemmGroupedBatchedEx)* grouped = nullptr;
};

// Opened once a process. Error: the library is not there; says which.
const core::Result<LtFunctions>& lt_functions();
const core::Result<CublasFunctions>& cublas_functions();

// "13.1.0"; "none" without it.
std::string lt_version();
std::string cudnn_version();

core::Status lt_status(cublasStatus_t status, const char* doing);

}  // namespace assay::collect
