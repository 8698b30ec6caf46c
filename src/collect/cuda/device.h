// The GPUs of a worker. Kernels other than collectives run on the first GPU.
#pragma once

#include <memory>
#include <vector>

#include "collect/cuda/gpu.h"
#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

class CudaDevice : public Device {
 public:
  // Fails if there is no driver, a GPU does not exist, or the GPUs differ.
  static core::Result<std::unique_ptr<CudaDevice>> open(const std::vector<int>& gpus);

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }

  void expect(const KernelSpec& spec) override;
  core::Result<MadeWork> make(const KernelSpec& spec, model::L2State l2) override;
  core::Result<MadeWork> make_sequence(const std::vector<KernelSpec>& specs,
                                       model::L2State l2) override;
  core::Result<std::unique_ptr<Stopwatch>> stopwatch(Work& work,
                                                     const StopwatchRequest& request) override;
  core::Status finish() override;
  core::Result<std::optional<ClockSeen>> clock() override;
  [[nodiscard]] bool is_lost() const override;

 private:
  explicit CudaDevice(std::vector<std::unique_ptr<Gpu>> gpus) : gpus_(std::move(gpus)) {}

  core::Status choose_first();

  std::vector<std::unique_ptr<Gpu>> gpus_;
  DeviceFacts facts_;
  double highest_mhz_ = 0;
};

}  // namespace assay::collect
