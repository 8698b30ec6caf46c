// A resolved job as a launch schedule: the graph of goal/expand.h, made launch by launch while it
// runs.
#pragma once

#include <cstdint>
#include <vector>

#include "goal/costs.h"
#include "goal/resolve.h"
#include "goal/timeline.h"
#include "model/launch_schedule.h"
#include "model/warnings.h"

namespace assay::goal {

class LaunchSource final : public model::LaunchSchedule {
 public:
  // Refers to the job's exchanges and the costs, which must not be drawn at random. Counts in
  // `warnings` what Expander does.
  LaunchSource(const Resolved& resolved,
               const Costs& costs,
               const StreamPlan& plan,
               model::Warnings& warnings);

  [[nodiscard]] std::uint32_t num_ranks() const override {
    return static_cast<std::uint32_t>(ranks_.size());
  }

  [[nodiscard]] const model::RankLaunches& rank(std::uint32_t rank) const override {
    return ranks_[rank].launches;
  }

  [[nodiscard]] bool same_node(std::uint32_t a, std::uint32_t b) const override {
    return node_of_rank_[a] == node_of_rank_[b];
  }

  void list(std::uint32_t rank, std::uint32_t launch, model::LaunchWork& work) const override;

  // Returns the launch that begins with this call of the GPU.
  [[nodiscard]] std::uint32_t launch_of(std::uint32_t gpu, std::uint32_t first_call) const;

  [[nodiscard]] const std::vector<std::uint32_t>& node_of_rank() const { return node_of_rank_; }

 private:
  struct RankPlan {
    model::RankLaunches launches;
    // By launch: its calls, and the CPUs of its channels.
    std::vector<Launch> calls;
    std::vector<ChannelCpus> cpus;
  };

  const Resolved& resolved_;
  const Costs& costs_;
  std::vector<RankPlan> ranks_;
  // By exchange: the key of its first channel.
  std::vector<std::uint32_t> first_key_;
  std::vector<std::uint32_t> node_of_rank_;
};

}  // namespace assay::goal
