// One GPU with the resources that all its works share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "collect/cuda/blas.h"
#include "collect/cuda/buffers.h"
#include "collect/cuda/compare.h"
#include "collect/cuda/probes.h"
#include "core/result.h"

namespace assay::collect {

class Gpu {
 public:
  static core::Result<std::unique_ptr<Gpu>> create(int index);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  [[nodiscard]] int index() const { return index_; }

  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  [[nodiscard]] const cudaDeviceProp& properties() const { return properties_; }

  [[nodiscard]] std::int64_t l2_bytes() const { return properties_.l2CacheSize; }

  [[nodiscard]] std::int64_t free_bytes_at_start() const { return free_bytes_at_start_; }

  Arena& arena() { return arena_; }

  // The inputs that works made now share; nullptr, the rule, if each has its own.
  [[nodiscard]] SharedInputs* shared_inputs() const { return shared_inputs_; }

  void share_inputs(SharedInputs* inputs) { shared_inputs_ = inputs; }

  // Fails if the library is missing or fails.
  core::Result<Blas*> blas();

  // Returns device memory for kMostSamples + 2 samples.
  [[nodiscard]] Sample* samples() const { return samples_; }

  // Enqueues reads after which the L2 cache holds none of a work's data.
  core::Status flush_l2();

  // Measures the clock of the SMs in MHz. This takes about 100 us, after everything that was
  // enqueued.
  core::Result<double> sm_mhz();

  // Waits for everything that was enqueued.
  core::Status wait();

  // Returns whether an earlier error makes all further calls fail.
  [[nodiscard]] bool is_lost() const;

 private:
  explicit Gpu(int index) : index_(index) {}

  core::Status start();

  int index_;
  cudaStream_t stream_ = nullptr;
  cudaDeviceProp properties_{};
  std::int64_t free_bytes_at_start_ = 0;
  Arena arena_;
  SharedInputs* shared_inputs_ = nullptr;
  std::unique_ptr<Blas> blas_;
  Sample* samples_ = nullptr;
  ClockCount* clock_count_ = nullptr;  // in memory of the host
  void* flush_memory_ = nullptr;
};

}  // namespace assay::collect
