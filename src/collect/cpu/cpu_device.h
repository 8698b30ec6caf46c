// The CPUs as a device, with oneDNN's kernels on all cores. It needs no GPU, so that every part of
// a collection except CUDA can be used and tested everywhere.
#pragma once

#include <cstdint>
#include <memory>

#include "collect/kernels/device.h"
#include "collect/worker/mpi_team.h"
#include "collect/worker/team.h"
#include "core/result.h"

namespace assay::collect {

DeviceFacts cpu_facts();

class CpuDevice final : public Device {
 public:
  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }

  core::Result<MadeWork> make(const KernelSpec& spec, model::L2State l2) override;
  // Only kEager: CPUs have no graphs of launches.
  core::Result<std::unique_ptr<Stopwatch>> stopwatch(Work& work,
                                                     const StopwatchRequest& request) override;

  core::Status finish() override { return {}; }

 private:
  [[nodiscard]] std::int64_t copies(const KernelSpec& spec, model::L2State l2) const;

  DeviceFacts facts_ = cpu_facts();
};

// The number of copies of everything that is read; launches use them in turn.
using Copies = std::int64_t;

// Each maker has a file of its own, and no exception of oneDNN leaves it.
core::Result<MadeWork> make_gemm(const GemmSpec& spec, Copies copies);
core::Result<MadeWork> make_attention(const AttentionSpec& spec, Copies copies);
core::Result<MadeWork> make_memory_op(const MemorySpec& spec, Copies copies);

// A rank of an MPI job, which measures MPI's own collectives on buffers in the CPUs' memory.
std::unique_ptr<TeamRank> make_cpu_mpi_rank(const MpiRank& job);

}  // namespace assay::collect
