#include "collect/cuda/blas.h"

#include "collect/cuda/cuda_status.h"
#include "core/shared_library.h"

namespace assay::collect {
namespace {

core::Result<LtFunctions> open_lt() {
  const core::SharedLibrary library =
      ASSAY_TRY(core::open_library({"libcublasLt.so.13", "libcublasLt.so.12"}));
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
  // cuBLAS needs cuBLASLt, which the loader may not find by itself.
  if (!lt_functions().ok()) return lt_functions().error();
  const core::SharedLibrary library =
      ASSAY_TRY(core::open_library({"libcublas.so.13", "libcublas.so.12"}));
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
  const auto library = core::open_library({"libcudnn.so.9"});
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

core::Result<std::unique_ptr<Blas>> Blas::create(cudaStream_t stream) {
  if (!lt_functions().ok()) return lt_functions().error();
  std::unique_ptr<Blas> blas(new Blas(stream));
  const core::Status started = blas->start();
  if (!started.ok()) return started.error();
  return blas;
}

core::Status Blas::start() {
  ASSAY_TRY(lt_status(lt().create(&lt_handle_), "starting cuBLASLt"));
  ASSAY_TRY(cuda_status(cudaMalloc(&workspace_, kWorkspaceBytes), "taking memory for cuBLASLt"));
  void* one = nullptr;
  ASSAY_TRY(cuda_status(cudaMalloc(&one, sizeof(float)), "taking memory for a scale"));
  one_ = static_cast<float*>(one);
  const float value = 1;
  return cuda_status(cudaMemcpy(one_, &value, sizeof value, cudaMemcpyHostToDevice), "a scale");
}

Blas::~Blas() {
  if (cublas_handle_ != nullptr) cublas_functions().value().destroy(cublas_handle_);
  if (lt_handle_ != nullptr) lt().destroy(lt_handle_);
  cudaFree(workspace_);
  cudaFree(one_);
}

core::Result<cublasHandle_t> Blas::cublas_handle() {
  if (cublas_handle_ != nullptr) return cublas_handle_;
  if (!cublas_functions().ok()) return cublas_functions().error();
  const CublasFunctions& functions = cublas_functions().value();
  cublasHandle_t handle = nullptr;
  ASSAY_TRY(lt_status(functions.create(&handle), "starting cuBLAS"));
  cublas_handle_ = handle;
  ASSAY_TRY(lt_status(functions.set_stream(handle, stream_), "giving cuBLAS its stream"));
  // Without this, cuBLAS would allocate a workspace at its first use, which a graph cannot capture.
  ASSAY_TRY(lt_status(functions.set_workspace(handle, workspace_, kWorkspaceBytes),
                      "giving cuBLAS its workspace"));
  return handle;
}

}  // namespace assay::collect
