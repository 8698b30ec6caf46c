#include "collect/cuda/gpu.h"

#include <algorithm>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/test_data.h"

namespace assay::collect {

core::Result<std::unique_ptr<Gpu>> Gpu::create(int index) {
  std::unique_ptr<Gpu> gpu(new Gpu(index));
  const core::Status started = gpu->start();
  if (!started.ok()) return started.error();
  return gpu;
}

core::Status Gpu::start() {
  ASSAY_TRY(cuda_status(cudaSetDevice(index_), "choosing the GPU"));
  ASSAY_TRY(cuda_status(cudaGetDeviceProperties(&properties_, index_), "asking about the GPU"));
  ASSAY_TRY(cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSAY_TRY(cuda_status(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory"));
  free_bytes_at_start_ = static_cast<std::int64_t>(free_bytes);
  void* samples = nullptr;
  ASSAY_TRY(
      cuda_status(cudaMalloc(&samples, (kMostSamples + 2) * sizeof(Sample)), "taking memory"));
  samples_ = static_cast<Sample*>(samples);
  void* count = nullptr;
  ASSAY_TRY(cuda_status(cudaMallocHost(&count, sizeof(ClockCount)), "taking memory"));
  clock_count_ = static_cast<ClockCount*>(count);
  return {};
}

Gpu::~Gpu() {
  cudaSetDevice(index_);
  cudaDeviceSynchronize();
  blas_.reset();
  cudaFree(samples_);
  cudaFreeHost(clock_count_);
  cudaFree(flush_memory_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

core::Result<Blas*> Gpu::blas() {
  if (blas_ == nullptr) blas_ = ASSAY_TRY(Blas::create(stream_));
  return blas_.get();
}

core::Status Gpu::flush_l2() {
  // This is twice the size of the cache, because the cache does not always replace the oldest
  // lines.
  const auto bytes = static_cast<std::size_t>(l2_bytes()) * 2 / 256 * 256;
  if (flush_memory_ == nullptr) {
    // The sum of the reads is written behind the memory that is read.
    ASSAY_TRY(cuda_status(cudaMalloc(&flush_memory_, bytes + 256), "taking memory"));
    ASSAY_TRY(cuda_status(cudaMemsetAsync(flush_memory_, 0, bytes + 256, stream_), "clearing"));
  }
  auto* result = reinterpret_cast<float*>(static_cast<char*>(flush_memory_) + bytes);
  return cuda_status(read_through(flush_memory_, bytes, result, stream_), "emptying the L2 cache");
}

core::Result<double> Gpu::sm_mhz() {
  ASSAY_TRY(cuda_status(count_cycles(clock_count_, stream_), "counting cycles"));
  ASSAY_TRY(wait());
  constexpr double kMhzOfGhz = 1e3;
  return kMhzOfGhz * static_cast<double>(clock_count_->cycles) /
         static_cast<double>(std::max<std::int64_t>(clock_count_->nanoseconds, 1));
}

core::Status Gpu::wait() {
  return cuda_status(cudaStreamSynchronize(stream_), "waiting for the GPU");
}

bool Gpu::is_lost() const {
  cudaGetLastError();
  const cudaError_t state = cudaStreamQuery(stream_);
  cudaGetLastError();
  return state != cudaSuccess && state != cudaErrorNotReady;
}

}  // namespace assay::collect
