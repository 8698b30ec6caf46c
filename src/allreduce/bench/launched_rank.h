// Benchmarks under mpirun or srun: one `assay` a GPU. Rank 0 supervises; the others start a worker
// when told and end it when told. They talk through a small file in shared memory, which only the
// ranks of one host share.
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

// As core::launched_rank. Error: ranks on several hosts.
core::Result<std::optional<LaunchedRank>> launched_rank(const core::Variables& variables);

std::filesystem::path default_rendezvous(const LaunchedRank& rank);

struct RankControl;  // what the ranks share

// Rank 0's side. Its end is the end of all ranks, however it comes.
class RankLeader {
 public:
  // Error: the file cannot be made, or another run uses it.
  static core::Result<RankLeader> create(const std::filesystem::path& rendezvous);

  RankLeader(RankLeader&& other) noexcept;
  RankLeader& operator=(RankLeader&&) = delete;
  RankLeader(const RankLeader&) = delete;
  RankLeader& operator=(const RankLeader&) = delete;
  ~RankLeader();

  // Has ranks 1 to world_size - 1 end their workers and start new ones. Returns where those, and
  // rank 0's own, meet.
  std::filesystem::path begin(int world_size);
  // Has them end their workers.
  void rest();

  // What happened to another rank's worker since begin().
  [[nodiscard]] std::optional<std::string> problem() const;

 private:
  RankLeader(std::filesystem::path path, int descriptor, RankControl* control);

  void remove_meeting_place();

  std::filesystem::path path_;
  int descriptor_;
  RankControl* control_;
  std::uint64_t generation_ = 0;
};

// What the ranks but 0 do: returns when rank 0 is done or gone. `launch` has no rank yet. Errors:
// rank 0 does not appear; interrupted.
core::Status follow_leader(const std::filesystem::path& rendezvous,
                           int rank,
                           const WorkerLaunch& launch);

}  // namespace assay::allreduce
