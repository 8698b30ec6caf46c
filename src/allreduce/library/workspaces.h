// The memory of one rank's strategies, and the other ranks' memory as this rank sees it.
#pragma once

#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allreduce/rank_agreement.h"
#include "allreduce/strategies/strategy_kernel.h"
#include "core/result.h"

namespace assay::allreduce {

// What a rank tells the others, as plain bytes.
struct RankHandle {
  RankFacts facts;
  std::uint64_t process;  // a random number for each process
  std::uint64_t base;     // address of the workspaces in the rank's own process
  std::int32_t device;    // device number in the rank's own process
  std::uint32_t nonce;    // another one in each handle, for Workspaces::hear_all(); a multiple of 4
  cudaIpcMemHandle_t memory;
  ncclUniqueId nccl;  // only rank 0's is used
};

// How much memory the strategies get: see assay_allreduce_options.
struct WorkspaceBudget {
  std::size_t halves_bytes = 0;
  std::size_t rings_bytes = 0;

  bool operator==(const WorkspaceBudget&) const = default;
};

// Divides what a communicator takes in all.
WorkspaceBudget divide_workspace(std::size_t total_bytes);

// Returns the budget with which messages of up to `message_bytes` can be pushed, at least `least`.
WorkspaceBudget budget_for_messages(std::size_t message_bytes, const WorkspaceBudget& least);

class Workspaces {
 public:
  // Takes memory on the current device.
  static core::Result<std::unique_ptr<Workspaces>> take(int world_size,
                                                        const WorkspaceBudget& budget);
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  ~Workspaces();

  // Fills in how other ranks find the memory.
  core::Status describe(RankHandle& handle) const;

  // Makes the memory of all ranks accessible. After a failure some of it may be: close() ends that.
  core::Status open(int own_rank, std::span<const RankHandle> handles);
  void close();

  // Tells the other ranks how a step of connecting went here, and waits until it is known how it
  // went on all. Fails when it failed on one of them, or one is not heard of for long.
  enum class Step { kMapped, kJoined };
  core::Status hear_all(int own_rank,
                        std::span<const RankHandle> handles,
                        Step step,
                        const core::Status& own);

  // Returns the memory of a strategy.
  [[nodiscard]] Workspace of(const StrategyKernel& kernel) const;

  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

  [[nodiscard]] const WorkspaceBudget& budget() const { return budget_; }

 private:
  Workspaces(int world_size, const WorkspaceBudget& budget)
      : world_size_(world_size), budget_(budget) {}

  [[nodiscard]] std::size_t offset_of(Area area) const;
  [[nodiscard]] static std::size_t offset_of(Step step);
  core::Status empty();
  core::Result<std::byte*> base_of(int own_device, const RankHandle& other);
  [[nodiscard]] core::Result<std::uint32_t> word_of(std::size_t rank, Step step) const;
  [[nodiscard]] core::Status tell(Step step, std::uint32_t word) const;
  // Returns the rank that did not come in time.
  [[nodiscard]] core::Result<std::optional<int>> wait_for_all(std::span<const RankHandle> handles,
                                                              Step step,
                                                              int seconds) const;

  int world_size_;
  WorkspaceBudget budget_;
  std::size_t size_bytes_ = 0;
  std::byte* base_ = nullptr;
  std::array<std::byte*, kMaxRanks> of_rank_{};
  std::vector<void*> opened_;  // opened by IPC
  cudaStream_t stream_ = nullptr;
};

}  // namespace assay::allreduce
