// Several ranks as one device for collectives. A leader sends an order, every rank executes its
// part, and the leader reads the answers of all ranks. The ranks are threads of one process, each
// with its GPU, or the processes of an MPI job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

// It is sent to other processes as plain bytes.
struct TeamOrder {
  enum class Kind : std::int32_t {
    kMake,    // take and fill the buffers of `spec`
    kLaunch,  // launch once
    kFinish,  // wait for all launches
    kCheck,   // launch once and compare the output
    kWatch,   // prepare samples of `launches` launches
    kSample,  // take `count` samples: TeamAnswer::times_ms
    kForget,  // release what kMake and kWatch made
    kQuit,
  } kind = Kind::kQuit;

  CollectiveSpec spec = {};
  model::Launch launch = model::Launch::kGraph;
  std::int64_t launches = 1;
  std::int64_t count = 0;
};

inline constexpr std::int64_t kMostTeamSamples = 64;  // in one answer

struct TeamAnswer {
  enum class Kind : std::int32_t { kOk, kUnsupported, kError } kind = Kind::kOk;
  std::int32_t is_lost = 0;
  double worst = 0;  // for kCheck: Accuracy::worst
  std::int64_t compared = 0;
  char text[400] = {};  // for kCheck: where the worst is; otherwise the error
  double times_ms[kMostTeamSamples] = {};
};

// One rank's part of collectives. Orders go only to the ranks that CollectiveSpec::ranks counts.
class TeamRank {
 public:
  TeamRank() = default;
  TeamRank(const TeamRank&) = delete;
  TeamRank& operator=(const TeamRank&) = delete;
  virtual ~TeamRank() = default;

  virtual core::Result<std::optional<Unsupported>> make(const CollectiveSpec& spec) = 0;
  virtual core::Status launch() = 0;
  virtual core::Status finish() = 0;
  virtual core::Result<Accuracy> check() = 0;
  virtual core::Status watch(const StopwatchRequest& request) = 0;
  // All ranks begin a sample together.
  virtual core::Result<std::vector<double>> sample(std::int64_t count) = 0;
  virtual void forget() = 0;
  // "nccl", "mpi".
  [[nodiscard]] virtual std::string kernel_source(const CollectiveSpec& spec) const = 0;

  [[nodiscard]] virtual bool is_lost() const { return false; }
};

// Returns the answer of a rank to an order other than kQuit.
TeamAnswer carry_out(TeamRank& rank, const TeamOrder& order);

class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  [[nodiscard]] virtual int size() const = 0;
  // Rank 0, for questions to which all ranks have the same answer.
  [[nodiscard]] virtual const TeamRank& leader() const = 0;
  // Sends an order to the first `order.spec.ranks` ranks and waits for their answers. Error: a rank
  // has ended.
  virtual core::Result<std::vector<TeamAnswer>> ask(const TeamOrder& order) = 0;
};

// A team whose ranks are threads of this process.
std::unique_ptr<Team> make_thread_team(std::vector<std::unique_ptr<TeamRank>> ranks);

// Makes only CollectiveSpecs. `facts.count` becomes the size of the team.
std::unique_ptr<Device> make_team_device(std::unique_ptr<Team> team, DeviceFacts facts);

}  // namespace assay::collect
