// The ranks of a worker in step: rank 0 gives an order, all ranks carry it out, rank 0 reads what
// each of them has to say. Ranks are threads of one process, or processes that map the same file.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "allreduce/strategies/arguments.h"
#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

// Plain bytes: it crosses processes.
struct Order {
  enum class Kind : std::uint32_t {
    kExport,   // answer.handle: what the others connect to
    kConnect,  // handles[] of all
    kPrepare,  // room for the cell
    kCheck,    // run `strategy` on fresh data and compare
    kBuild,    // make `strategy` ready to be timed, `calls` at a time
    kSample,   // answer.value: microseconds of a call of `strategy`
    kVerify,   // after timing: the outputs are still those that were checked
    kQuit,
  };

  Kind kind = Kind::kQuit;
  Cell cell;
  Launch launch = Launch::kGraph;
  Strategy strategy = Strategy::kNccl;
  std::uint64_t seed = 0;
  std::int64_t calls = 1;
  std::int64_t memory_limit_bytes = 0;
};

struct Answer {
  enum class Kind : std::uint32_t { kOk, kUnsupported, kIncorrect, kError };

  Kind kind = Kind::kOk;
  double value = 0;
  std::uint64_t checksum = 0;  // of the outputs
  std::int64_t memory_bytes = 0;
  char message[400] = {};
  unsigned char handle[256] = {};

  static Answer error(const std::string& message);
  void say(Kind what, const std::string& text);
};

class Team {
 public:
  // For threads.
  explicit Team(int world_size);
  // For processes: `path` is made by rank 0 and awaited by the others.
  static core::Result<std::unique_ptr<Team>> join(const std::filesystem::path& path,
                                                  int rank,
                                                  int world_size);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  // Rank 0: has the other ranks begin. Then it carries the order out itself and calls collect().
  void give(const Order& order);
  // Rank 0: all answers, its own among them.
  std::vector<Answer> collect(const Answer& own);

  // The others: the next order; then its answer.
  Order await();
  void answer(int rank, const Answer& answer);

  // For Order::Kind::kConnect: written by rank 0 before give().
  unsigned char (*handles())[256];

 private:
  struct Shared;
  Team() = default;

  int world_size_ = 0;
  Shared* shared_ = nullptr;
  std::size_t mapped_bytes_ = 0;  // 0: of threads
};

}  // namespace assay::allreduce
