// One rank's side of the all-reduce: its own workspaces, the other ranks' workspaces as it sees
// them, and NCCL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allreduce/library/nccl_library.h"
#include "allreduce/library/workspaces.h"
#include "allreduce/strategies/strategy_kernel.h"
#include "allreduce/strategy_table.h"
#include "core/result.h"

namespace assay::allreduce {

struct CommunicatorOptions {
  std::size_t workspace_bytes = std::size_t{64} << 20U;  // in all
  bool use_nccl = true;
  bool deterministic = false;
  double deadline_seconds = 0;  // 0: none
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

  // Makes a handle for one attempt to connect.
  core::Result<RankHandle> handle();

  // Collective. `handles` has one handle for each rank, in the order of the ranks. After a failure
  // the communicator is not connected, and may be connected with new handles.
  core::Status connect(std::span<const RankHandle> handles);

  // Collective. Takes the memory with which messages of so many bytes can be pushed. Where that is
  // more than before, the communicator must be connected again.
  core::Status reserve(std::size_t message_bytes);

  // Collective, for NCCL_SYMMETRIC: all ranks allocate and register memory alike.
  core::Result<void*> allocate(std::size_t size_bytes);
  core::Status register_buffer(void* buffer, std::size_t size_bytes);

  void set_table(StrategyTable table);

  // Returns a number that differs between tables that differ; 0 without a table.
  [[nodiscard]] std::uint64_t table_hash() const { return table_hash_; }

  // Returns null without a table.
  [[nodiscard]] const StrategyTable* table() const { return table_ ? &*table_ : nullptr; }

  // Returns the rank that did not come before the deadline; nothing while all did.
  [[nodiscard]] std::optional<int> missing_rank() const;

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

  [[nodiscard]] int sm_version() const { return sm_version_; }

 private:
  Communicator(int rank, int world_size, int device, const CommunicatorOptions& options)
      : rank_(rank), world_size_(world_size), device_(device), options_(options) {}

  core::Status start();
  core::Status ask_device();
  core::Status take_missing_word();
  void find_nccl();
  [[nodiscard]] RankFacts facts() const;
  core::Status join(std::span<const RankHandle> handles, const Agreement& agreement);
  core::Status start_nccl(const RankHandle& first, const Agreement& agreement);
  core::Status load_kernels() const;
  [[nodiscard]] Device device_for(const StrategyKernel& kernel) const;

  int rank_;
  int world_size_;
  int device_;
  CommunicatorOptions options_;
  bool is_connected_ = false;
  int own_multiprocessors_ = 0;
  int sm_version_ = 0;
  std::uint32_t pci_place_ = 0;
  int multiprocessors_ = 0;  // of the smallest GPU, or a rank's part of them
  bool shares_gpus_ = false;
  std::unique_ptr<Workspaces> workspaces_;
  bool has_run_ = false;  // with these workspaces
  // Those before a reserve(). Graphs that were captured then go on using them.
  std::vector<std::unique_ptr<Workspaces>> used_before_;
  // They are given back when all ranks have closed them, which connect() knows.
  std::vector<std::unique_ptr<Workspaces>> unused_;
  std::uint32_t* missing_ = nullptr;  // see Patience; null without a deadline
  const NcclLibrary* nccl_ = nullptr;
  std::string no_nccl_ = "NCCL was switched off";
  ncclComm_t nccl_comm_ = nullptr;
  std::vector<ncclWindow_t> windows_;
  std::vector<void*> allocated_;
  std::optional<StrategyTable> table_;
  std::uint64_t table_hash_ = 0;
};

}  // namespace assay::allreduce
