#include "collect/cuda/blas.h"

#include "collect/cuda/cuda_status.h"

namespace assay::collect {

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
  // Its own would be allocated at the first use, which a graph cannot capture.
  ASSAY_TRY(lt_status(functions.set_workspace(handle, workspace_, kWorkspaceBytes),
                      "giving cuBLAS its workspace"));
  return handle;
}

}  // namespace assay::collect
