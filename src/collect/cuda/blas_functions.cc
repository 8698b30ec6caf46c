#include "collect/cuda/blas_functions.h"

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/library_search.h"

namespace assay::collect {
namespace {

core::Result<LtFunctions> open_lt() {
  const core::SharedLibrary library =
      ASSAY_TRY(open_library({"libcublasLt.so.13", "libcublasLt.so.12"}));
  LtFunctions f;
  ASSAY_TRY(library.require("cublasLtCreate", f.create));
  ASSAY_TRY(library.require("cublasLtDestroy", f.destroy));
  ASSAY_TRY(library.require("cublasLtGetVersion", f.version));
  ASSAY_TRY(library.require("cublasLtGetStatusString", f.status_string));
  ASSAY_TRY(library.require("cublasLtMatmul", f.matmul));
  ASSAY_TRY(library.require("cublasLtMatmulAlgoGetHeuristic", f.heuristic));
  ASSAY_TRY(library.require("cublasLtMatmulAlgoConfigGetAttribute", f.algorithm_attribute));
  ASSAY_TRY(library.require("cublasLtMatmulDescCreate", f.create_description));
  ASSAY_TRY(library.require("cublasLtMatmulDescDestroy", f.destroy_description));
  ASSAY_TRY(library.require("cublasLtMatmulDescSetAttribute", f.set_description));
  ASSAY_TRY(library.require("cublasLtMatrixLayoutCreate", f.create_layout));
  ASSAY_TRY(library.require("cublasLtMatrixLayoutDestroy", f.destroy_layout));
  ASSAY_TRY(library.require("cublasLtMatrixLayoutSetAttribute", f.set_layout));
  ASSAY_TRY(library.require("cublasLtMatmulPreferenceCreate", f.create_preference));
  ASSAY_TRY(library.require("cublasLtMatmulPreferenceDestroy", f.destroy_preference));
  ASSAY_TRY(library.require("cublasLtMatmulPreferenceSetAttribute", f.set_preference));
  return f;
}

core::Result<CublasFunctions> open_cublas() {
  // It needs cuBLASLt, which may be where only our own search finds it.
  if (!lt_functions().ok()) return lt_functions().error();
  const core::SharedLibrary library =
      ASSAY_TRY(open_library({"libcublas.so.13", "libcublas.so.12"}));
  CublasFunctions f;
  ASSAY_TRY(library.require("cublasCreate_v2", f.create));
  ASSAY_TRY(library.require("cublasDestroy_v2", f.destroy));
  ASSAY_TRY(library.require("cublasSetStream_v2", f.set_stream));
  ASSAY_TRY(library.require("cublasSetWorkspace_v2", f.set_workspace));
  ASSAY_TRY(library.require("cublasGemmGroupedBatchedEx", f.grouped));
  return f;
}

}  // namespace

const core::Result<LtFunctions>& lt_functions() {
  static const core::Result<LtFunctions> functions = open_lt();
  return functions;
}

const core::Result<CublasFunctions>& cublas_functions() {
  static const core::Result<CublasFunctions> functions = open_cublas();
  return functions;
}

std::string lt_version() {
  if (!lt_functions().ok()) return "none";
  const std::size_t version = lt_functions().value().version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string cudnn_version() {
  const auto library = open_library({"libcudnn.so.9"});
  if (!library.ok()) return "none";
  std::size_t (*get_version)() = nullptr;
  if (!library.value().bind("cudnnGetVersion", get_version)) return "none";
  const std::size_t version = get_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

core::Status lt_status(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  std::string text = std::string(doing) + ": status " + std::to_string(static_cast<int>(status));
  if (lt_functions().ok())
    text = std::string(doing) + ": " + lt_functions().value().status_string(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) text = std::string(kOutOfMemory) + ": " + text;
  return core::Error{text};
}

}  // namespace assay::collect
