// Writes the graph of one GPU: its streams, their launches, and the operations of these.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "goal/compat_v2/collectives.h"
#include "goal/compat_v2/compat_v2.h"
#include "goal/compat_v2/gpu_plan.h"
#include "model/warnings.h"

namespace assay::goal::compat_v2 {

inline constexpr unsigned kMostTagDigits = 9;  // 31 bits

class RankWriter {
 public:
  RankWriter(const model::Job& job,
             std::uint32_t gpu,
             const Costs& costs,
             const CompatOptions& options,
             model::RankBuilder& graph);

  core::Status write(const GpuPlan& plan, model::Warnings& warnings);

 private:
  // These write from cpu next_cpu_ on, and set it to the first cpu that they do not use.
  Ends launch(const GpuPlan& plan, const Launch& launch);
  Ends operation(const GpuPlan& plan, std::uint32_t index);
  Ends channel(const ChannelWork& work);

  void stream(const GpuPlan& plan, const std::vector<Launch>& launches, model::Warnings& warnings);
  void use_cpu(std::uint32_t cpu);
  [[nodiscard]] bool all_unplanned(const GpuPlan& plan, const Launch& launch) const;
  [[nodiscard]] Neighbours neighbours(const model::Communicator& communicator,
                                      std::size_t channel,
                                      std::int32_t rank) const;
  [[nodiscard]] std::int32_t rank_in(const model::Communicator& communicator) const;
  [[nodiscard]] std::vector<model::ChannelPart> parts_of(const model::Operation& operation,
                                                         Slicing& slicing) const;
  [[nodiscard]] core::Status check(const model::Operation& operation) const;
  [[nodiscard]] core::Status check_links(const model::Operation& operation) const;
  [[nodiscard]] core::Status check_tags(const GpuPlan& plan) const;
  [[nodiscard]] std::string place() const;

  const model::Job& job_;
  std::uint32_t gpu_index_;
  const model::JobGpu& gpu_;
  const CompatOptions& options_;
  GraphWriter writer_;
  Peers peers_;
  std::uint32_t next_cpu_ = 0;
  std::uint32_t highest_cpu_ = 0;
};

}  // namespace assay::goal::compat_v2
