// Benchmarks under mpirun or srun, with one `assay` for each GPU. Rank 0 supervises; the other
// ranks start and end a worker when rank 0 tells them to. The ranks communicate through a small
// file in shared memory, which only the ranks of one host share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "allreduce/bench/worker.h"
#include "core/launched_rank.h"
#include "core/result.h"

namespace assay::allreduce {

using core::LaunchedRank;

// Does what core::launched_rank does, and fails when the ranks are on several hosts.
core::Result<std::optional<LaunchedRank>> launched_rank(const core::Variables& variables);

std::filesystem::path default_rendezvous(const LaunchedRank& rank);

struct RankControl;  // the state in shared memory

// The side of rank 0. When it is destroyed or its process dies, all other ranks end too.
class RankLeader {
 public:
  // Errors: the file cannot be made, or another run uses it.
  static core::Result<RankLeader> create(const std::filesystem::path& rendezvous);

  RankLeader(RankLeader&& other) noexcept;
  RankLeader& operator=(RankLeader&&) = delete;
  RankLeader(const RankLeader&) = delete;
  RankLeader& operator=(const RankLeader&) = delete;
  ~RankLeader();

  // Tells all other ranks to end their workers, and ranks 1 to world_size - 1 to start new ones.
  // Returns the path where those workers and the one of rank 0 meet.
  std::filesystem::path begin(int world_size);
  // Tells all other ranks to end their workers.
  void rest();

  // Describes how the worker of another rank failed since begin(); std::nullopt if none did.
  [[nodiscard]] std::optional<std::string> problem() const;

 private:
  RankLeader(std::filesystem::path path, int descriptor, RankControl* control);

  void remove_meeting_place();

  std::filesystem::path path_;
  int descriptor_;
  RankControl* control_;
  std::uint64_t generation_ = 0;
};

// Runs a rank other than 0, and returns when rank 0 is done or gone. The world size and the rank of
// `launch` are ignored. Errors: rank 0 does not appear; interrupted.
core::Status follow_leader(const std::filesystem::path& rendezvous,
                           int rank,
                           const WorkerLaunch& launch);

}  // namespace assay::allreduce
