// One rank's side of the all-reduce: its own workspaces, the other ranks' workspaces as it sees
// them, and NCCL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allreduce/library/nccl_library.h"
#include "allreduce/strategies/strategy_kernel.h"
#include "allreduce/strategy_table.h"
#include "core/result.h"

namespace assay::allreduce {

struct CommunicatorOptions {
  std::size_t workspace_bytes = std::size_t{128} << 20U;
  bool use_nccl = true;
  bool deterministic = false;
  double deadline_seconds = 0;  // 0: none
};

// What a rank tells the others, as plain bytes.
struct RankHandle {
  std::uint32_t magic;
  std::uint32_t rank;
  std::uint32_t world_size;
  std::int32_t device;       // device number in the rank's own process
  std::uint64_t process;     // a random number for each process
  std::uint64_t base;        // address of the workspaces in the rank's own process
  std::uint64_t size_bytes;  // size of the workspaces
  cudaIpcMemHandle_t memory;
  ncclUniqueId nccl;  // only rank 0's is used
  std::uint32_t has_nccl;
};

class Communicator {
 public:
  // Returns what create() would refuse; empty when it would refuse nothing.
  static std::string argument_problem(int rank, int world_size, const CommunicatorOptions& options);

  // Takes memory on the current device.
  static core::Result<std::unique_ptr<Communicator>> create(int rank,
                                                            int world_size,
                                                            const CommunicatorOptions& options);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  [[nodiscard]] core::Result<RankHandle> handle() const;

  // Collective. `handles` has one handle for each rank, in the order of the ranks.
  core::Status connect(std::span<const RankHandle> handles);

  // Collective, for NCCL_SYMMETRIC: all ranks allocate and register memory alike.
  core::Result<void*> allocate(std::size_t size_bytes);
  core::Status register_buffer(void* buffer, std::size_t size_bytes);

  void set_table(StrategyTable table) { table_ = std::move(table); }

  // Returns what the table says; nothing without a table.
  [[nodiscard]] std::optional<Strategy> table_choice(Fusion fusion,
                                                     DataType data_type,
                                                     std::int64_t hidden_size,
                                                     std::int64_t num_tokens) const;

  // Returns why the communicator cannot do a call; empty when it can. The caller has resolved AUTO.
  [[nodiscard]] std::string refusal(Strategy strategy, const Arguments& a, Fusion fusion) const;
  core::Status run(Strategy strategy, const Arguments& a, const Request& request);

  [[nodiscard]] bool is_connected() const { return is_connected_; }

  [[nodiscard]] const CommunicatorOptions& options() const { return options_; }

  [[nodiscard]] int rank() const { return rank_; }

  [[nodiscard]] int world_size() const { return world_size_; }

  [[nodiscard]] int nccl_version() const;

 private:
  struct Region {
    const StrategyKernel* kernel;
    std::size_t offset_bytes;  // start of the control words
    WorkspaceSize size;
  };

  Communicator(int rank, int world_size, int device, const CommunicatorOptions& options)
      : rank_(rank), world_size_(world_size), device_(device), options_(options) {}

  core::Status take_memory(std::size_t budget_bytes);
  core::Result<std::byte*> base_of(const RankHandle& other);
  core::Status start_nccl(const RankHandle& first);
  core::Status load_kernels() const;
  [[nodiscard]] Device device_for(const Region& region) const;
  [[nodiscard]] const Region* region_of(Strategy strategy) const;

  int rank_;
  int world_size_;
  int device_;
  CommunicatorOptions options_;
  bool is_connected_ = false;
  int multiprocessors_ = 0;
  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::vector<Region> regions_;
  std::array<std::byte*, kMaxRanks> of_rank_{};
  std::vector<void*> opened_;  // opened by IPC
  const NcclLibrary* nccl_ = nullptr;
  std::string no_nccl_ = "NCCL was switched off";
  ncclComm_t nccl_comm_ = nullptr;
  ncclUniqueId nccl_id_{};
  std::vector<ncclWindow_t> windows_;
  std::vector<void*> allocated_;
  std::optional<StrategyTable> table_;
};

}  // namespace assay::allreduce
