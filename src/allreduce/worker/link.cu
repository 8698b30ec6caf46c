#include <algorithm>
#include <barrier>
#include <string>
#include <thread>

#include "allreduce/strategies/arguments.h"
#include "allreduce/worker/cuda_status.h"
#include "allreduce/worker/link.h"

namespace assay::allreduce {
namespace {

constexpr int kThreads = 512;
constexpr int kRepeats = 9;
constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::size_t kMostBytes = 256 * kMebibyte;    // to each other GPU
constexpr std::size_t kSampleBytes = 512 * kMebibyte;  // enough for the ranks' start not to matter

struct Places {
  uint4* of_peer[kMaxRanks];
  int count;
};

// Blocks begin with different GPUs, as those of TWOSHOT do.
__global__ void __launch_bounds__(kThreads)
    push(const uint4* from, const __grid_constant__ Places to, std::size_t vectors) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  const int turn = static_cast<int>(blockIdx.x % static_cast<unsigned>(to.count));
  for (std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x; i < vectors; i += stride) {
    const uint4 value = from[i];
    for (int j = 0; j < to.count; ++j)
      to.of_peer[(j + turn) % to.count][i] = value;
  }
}

class Links {
 public:
  explicit Links(const std::vector<int>& gpus)
      : gpus_(gpus), memory_(gpus.size()), times_ms_(gpus.size()), together_(count()) {}

  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  ~Links() {
    for (std::byte* memory : memory_)
      cudaFree(memory);
  }

  core::Status take_memory() {
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
      ASSAY_TRY(cuda_status(cudaSetDevice(gpus_[rank]), "choosing the GPU"));
      for (const int peer : gpus_) {
        if (peer != gpus_[rank]) cudaDeviceEnablePeerAccess(peer, 0);
      }
      cudaGetLastError();  // the communicator may have enabled it before
      ASSAY_TRY(cuda_status(cudaMalloc(&memory_[rank], (gpus_.size() + 1) * kMostBytes),
                            "taking device memory"));
    }
    return {};
  }

  // Returns GB/s; 0 where a kernel failed.
  double measure(std::size_t bytes) {
    std::vector<double> gbps;
    const auto launches = static_cast<int>(std::max<std::size_t>(2, kSampleBytes / bytes));
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      std::vector<std::thread> ranks;
      for (std::size_t rank = 0; rank < gpus_.size(); ++rank)
        ranks.emplace_back([this, rank, bytes, launches] { send(rank, bytes, launches); });
      for (std::thread& rank : ranks)
        rank.join();
      const double slowest_ms = *std::max_element(times_ms_.begin(), times_ms_.end());
      const double sent = static_cast<double>(bytes * (gpus_.size() - 1)) * launches;
      gbps.push_back(slowest_ms > 0 ? sent / slowest_ms * 1e-6 : 0);
    }
    std::nth_element(gbps.begin(), gbps.begin() + kRepeats / 2, gbps.end());
    return gbps[kRepeats / 2];
  }

 private:
  [[nodiscard]] std::ptrdiff_t count() const { return static_cast<std::ptrdiff_t>(gpus_.size()); }

  // Each rank has a place for each other rank, and behind them what it sends.
  [[nodiscard]] uint4* place(std::size_t at, std::size_t of) const {
    return reinterpret_cast<uint4*>(memory_[at] + of * kMostBytes);
  }

  void send(std::size_t rank, std::size_t bytes, int launches) {
    cudaSetDevice(gpus_[rank]);
    int multiprocessors = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, gpus_[rank]);
    Places to{};
    for (std::size_t step = 1; step < gpus_.size(); ++step)
      to.of_peer[to.count++] = place((rank + step) % gpus_.size(), rank);
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    const auto launch = [&] {
      push<<<2 * multiprocessors, kThreads>>>(place(rank, gpus_.size()), to, bytes / kVectorBytes);
    };
    launch();
    cudaDeviceSynchronize();
    together_.arrive_and_wait();
    cudaEventRecord(begin);
    for (int i = 0; i < launches; ++i)
      launch();
    cudaEventRecord(end);
    float milliseconds = 0;
    const bool good = cudaEventSynchronize(end) == cudaSuccess && cudaGetLastError() == cudaSuccess;
    if (good) cudaEventElapsedTime(&milliseconds, begin, end);
    times_ms_[rank] = static_cast<double>(milliseconds);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }

  const std::vector<int>& gpus_;
  std::vector<std::byte*> memory_;
  std::vector<double> times_ms_;
  std::barrier<> together_;
};

}  // namespace

core::Status measure_links(const std::vector<int>& gpus, std::FILE* to) {
  Links links(gpus);
  ASSAY_TRY(links.take_memory());
  for (const std::size_t mebibytes :
       {std::size_t{1}, std::size_t{4}, std::size_t{32}, std::size_t{256}}) {
    const double gbps = links.measure(mebibytes * kMebibyte);
    if (gbps == 0) return core::Error{"sending failed"};
    std::fprintf(to, "%zu MiB to each of %zu other GPUs: %.1f GB/s\n", mebibytes, gpus.size() - 1,
                 gbps);
  }
  return {};
}

}  // namespace assay::allreduce
