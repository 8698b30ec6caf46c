#include "allreduce/worker/facts.h"

#include <cuda_runtime.h>

#include "allreduce/worker/cuda_status.h"

namespace assay::allreduce {
namespace {

std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string nccl_version_text(int number) {
  if (number == 0) return "none";
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

}  // namespace

core::Status check_gpus(const std::vector<int>& gpus) {
  // Without a driver, CUDA calls its version insufficient.
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return core::Error{"no NVIDIA driver was found: is this a machine with GPUs?"};
  int count = 0;
  ASSAY_TRY(cuda_status(cudaGetDeviceCount(&count), "finding GPUs"));
  std::string first;
  for (const int gpu : gpus) {
    if (gpu < 0 || gpu >= count)
      return core::Error{"there is no GPU " + std::to_string(gpu) + ": this machine has " +
                         std::to_string(count)};
    cudaDeviceProp about{};
    ASSAY_TRY(cuda_status(cudaGetDeviceProperties(&about, gpu), "asking about a GPU"));
    if (first.empty()) first = about.name;
    if (first != about.name) return core::Error{"the GPUs differ: " + first + " and " + about.name};
  }
  return {};
}

WorkerHello worker_facts(int gpu, int nccl_version) {
  WorkerHello hello;
  cudaDeviceProp about{};
  cudaGetDeviceProperties(&about, gpu);
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  hello.sm_version = about.major * 10 + about.minor;
  hello.facts = {{"GPU", about.name},
                 {"multiprocessors", std::to_string(about.multiProcessorCount)},
                 {"driver's CUDA", cuda_version(driver)},
                 {"CUDA runtime", cuda_version(runtime)},
                 {"NCCL", nccl_version_text(nccl_version)}};
  return hello;
}

}  // namespace assay::allreduce
