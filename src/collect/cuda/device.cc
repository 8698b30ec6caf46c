#include "collect/cuda/device.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collect/cuda/blas.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/nccl.h"
#include "collect/cuda/work.h"

#ifndef ASSAY_VERSION
#  define ASSAY_VERSION "0"
#endif

namespace assay::collect {
namespace {

std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

core::Status check_gpus(const std::vector<int>& gpus) {
  // Without a driver, CUDA would report that its version is insufficient.
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return core::Error{"no NVIDIA driver was found: is this a machine with GPUs?"};
  int count = 0;
  ASSAY_TRY(cuda_status(cudaGetDeviceCount(&count), "finding GPUs"));
  for (const int gpu : gpus) {
    if (gpu < 0 || gpu >= count)
      return core::Error{"there is no GPU " + std::to_string(gpu) + ": this machine has " +
                         std::to_string(count)};
  }
  return {};
}

DeviceFacts facts_of(const std::vector<std::unique_ptr<Gpu>>& gpus) {
  const Gpu& gpu = *gpus.front();
  const cudaDeviceProp& about = gpu.properties();
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  DeviceFacts facts;
  facts.kind = "cuda";
  facts.name = about.name;
  facts.version = ASSAY_VERSION;
  facts.sm_version = about.major * 10 + about.minor;
  facts.count = static_cast<int>(gpus.size());
  facts.memory_bytes = gpu.free_bytes_at_start();
  facts.l2_bytes = gpu.l2_bytes();
  facts.more = {{"multiprocessors", std::to_string(about.multiProcessorCount)},
                {"driver's CUDA", cuda_version(driver)},
                {"CUDA runtime", cuda_version(runtime)},
                {"cuBLASLt", lt_version()},
                {"cuDNN", cudnn_version()},
                {"NCCL", nccl_version()}};
  return facts;
}

// Makes works, with one function for each family of kernels.
struct Maker {
  Gpu& gpu;
  model::L2State l2;

  core::Result<MadeWork> operator()(const GemmSpec& spec) const { return make_gemm(gpu, spec, l2); }

  core::Result<MadeWork> operator()(const MoeSpec& spec) const { return make_moe(gpu, spec, l2); }

  core::Result<MadeWork> operator()(const MemorySpec& spec) const {
    return make_memory(gpu, spec, l2);
  }

  core::Result<MadeWork> operator()(const QuantizeSpec& spec) const {
    return make_quantize(gpu, spec, l2);
  }

  core::Result<MadeWork> operator()(const DeltaNetSpec& spec) const {
    return make_delta_net(gpu, spec, l2);
  }

  core::Result<MadeWork> operator()(const AttentionSpec& spec) const {
    return make_attention(gpu, spec, l2);
  }

  core::Result<MadeWork> operator()(const TransferSpec& spec) const {
    return make_transfer(gpu, spec, l2);
  }

  core::Result<MadeWork> operator()(const CollectiveSpec& /*spec*/) const {
    return MadeWork(Unsupported{"collectives need more than one GPU"});
  }
};

}  // namespace

core::Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const std::vector<int>& gpus) {
  ASSAY_TRY(check_gpus(gpus));
  std::vector<std::unique_ptr<Gpu>> opened;
  for (const int index : gpus) {
    opened.push_back(ASSAY_TRY(Gpu::create(index)));
    const std::string name = opened.back()->properties().name;
    const std::string first = opened.front()->properties().name;
    if (name != first) return core::Error{"the GPUs differ: " + first + " and " + name};
  }
  std::unique_ptr<CudaDevice> device(new CudaDevice(std::move(opened)));
  device->facts_ = facts_of(device->gpus_);
  return device;
}

core::Status CudaDevice::choose_first() {
  return cuda_status(cudaSetDevice(gpus_.front()->index()), "choosing the GPU");
}

void CudaDevice::expect(const KernelSpec& spec) {
  const auto* attention = std::get_if<AttentionSpec>(&spec);
  if (attention != nullptr && choose_first().ok()) expect_attention(*gpus_.front(), *attention);
}

core::Result<MadeWork> CudaDevice::make(const KernelSpec& spec, model::L2State l2) {
  ASSAY_TRY(choose_first());
  MadeWork made = ASSAY_TRY(std::visit(Maker{*gpus_.front(), l2}, spec));
  ASSAY_TRY(finish());  // waits for the data
  return made;
}

core::Result<MadeWork> CudaDevice::make_sequence(const std::vector<KernelSpec>& specs,
                                                 model::L2State l2) {
  ASSAY_TRY(choose_first());
  const Maker maker{*gpus_.front(), l2};
  MadeWork made = ASSAY_TRY(collect::make_sequence(
      *gpus_.front(), specs, l2, [&](const KernelSpec& spec) { return std::visit(maker, spec); }));
  ASSAY_TRY(finish());  // waits for the data
  return made;
}

core::Result<std::unique_ptr<Stopwatch>> CudaDevice::stopwatch(Work& work,
                                                               const StopwatchRequest& request) {
  // This device made all works that it gets.
  return static_cast<CudaWork&>(work).stopwatch(request);
}

core::Status CudaDevice::finish() {
  for (const auto& gpu : gpus_)
    ASSAY_TRY(gpu->wait());
  return {};
}

core::Result<std::optional<ClockSeen>> CudaDevice::clock() {
  const double now_mhz = ASSAY_TRY(gpus_.front()->sm_mhz());
  highest_mhz_ = std::max(highest_mhz_, now_mhz);
  return std::optional<ClockSeen>({.now_mhz = now_mhz, .highest_mhz = highest_mhz_});
}

bool CudaDevice::is_lost() const {
  for (const auto& gpu : gpus_) {
    if (gpu->is_lost()) return true;
  }
  return false;
}

}  // namespace assay::collect
