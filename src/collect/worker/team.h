// Several ranks as one device for collectives: a leader gives an order, every rank carries out its
// part, the leader reads what all of them have to say. Ranks are threads of a process with a GPU
// each, or the processes of an MPI job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

// Plain bytes: it crosses processes.
struct TeamOrder {
  enum class Kind : std::int32_t {
    kMake,    // buffers for `spec`, filled
    kLaunch,  // once
    kFinish,  // wait for all launches
    kCheck,   // launch once and compare: answer.accuracy
    kWatch,   // make ready for samples of `launches` launches
    kSample,  // `count` of them: answer.times_ms
    kForget,  // what kMake and kWatch made
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
  double worst = 0;  // of kCheck
  std::int64_t compared = 0;
  char text[400] = {};  // of kCheck: where; otherwise what is wrong
  double times_ms[kMostTeamSamples] = {};
};

// One rank's part of collectives. Ranks that a spec does not count are never asked.
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

// What a rank answers to an order; never kQuit.
TeamAnswer carry_out(TeamRank& rank, const TeamOrder& order);

class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  [[nodiscard]] virtual int size() const = 0;
  // Rank 0, for what all ranks would answer alike.
  [[nodiscard]] virtual const TeamRank& leader() const = 0;
  // Has the first `order.spec.ranks` ranks carry it out and waits for all. Error: one is gone.
  virtual core::Result<std::vector<TeamAnswer>> ask(const TeamOrder& order) = 0;
};

// Ranks as threads of this process, one each.
std::unique_ptr<Team> make_thread_team(std::vector<std::unique_ptr<TeamRank>> ranks);

// `facts.count` becomes the size of the team. Only CollectiveSpecs can be made.
std::unique_ptr<Device> make_team_device(std::unique_ptr<Team> team, DeviceFacts facts);

}  // namespace assay::collect
