// CPUs as a device: oneDNN's kernels on all cores, so that every part of a collection but CUDA can
// be used and tested without a GPU.
#pragma once

#include "collect/kernels/device.h"

namespace assay::collect {

DeviceFacts cpu_facts();

class CpuDevice final : public Device {
 public:
  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }

  core::Result<MadeWork> make(const KernelSpec& spec, model::L2State l2) override;
  // There are no graphs of launches on CPUs: kEager only.
  core::Result<std::unique_ptr<Stopwatch>> stopwatch(Work& work,
                                                     const StopwatchRequest& request) override;

  core::Status finish() override { return {}; }

 private:
  [[nodiscard]] std::int64_t copies(const KernelSpec& spec, model::L2State l2) const;

  DeviceFacts facts_ = cpu_facts();
};

}  // namespace assay::collect
