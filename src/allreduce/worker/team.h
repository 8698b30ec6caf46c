// Keeps the ranks of a worker in step: rank 0 gives an order, all ranks carry it out, and rank 0
// reads their answers. Ranks are threads of one process, or processes that map the same file.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "allreduce/strategies/arguments.h"
#include "allreduce/timings.h"
#include "allreduce/worker/reference.h"
#include "core/result.h"

namespace assay::allreduce {

// It consists of plain bytes, because it crosses processes.
struct Order {
  enum class Kind : std::uint32_t {
    kExport,   // answer.handle is what the others connect to
    kConnect,  // connect to handles[] of all ranks
    kPrepare,  // make room for the cell
    kCheck,    // run `strategy` on fresh data and compare
    kBuild,    // make `strategy` ready to be timed, `calls` at a time
    kSample,   // answer.value is the time of a call of `strategy` in microseconds
    kMix,      // make calls of all kinds ready, chosen by `seed`
    kMixed,    // make `calls` of them, each on other data and checked
    kVerify,   // after timing, check that the outputs are still those that were checked
    kQuit,
  };

  Kind kind = Kind::kQuit;
  Cell cell;
  Variant variant;
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
  std::uint64_t checksum = 0;  // checksum of the outputs
  std::uint64_t checksum_without_residual = 0;
  std::int64_t memory_bytes = 0;
  char message[400] = {};
  unsigned char handle[256] = {};

  static Answer error(const std::string& message);
  void say(Kind what, const std::string& text);
};

class Team {
 public:
  // For ranks that are threads.
  explicit Team(int world_size);
  // For ranks that are processes. Rank 0 creates `path`, and the others wait for it.
  static core::Result<std::unique_ptr<Team>> join(const std::filesystem::path& path,
                                                  int rank,
                                                  int world_size);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  // Rank 0 has the other ranks begin. Then it carries the order out itself and calls collect().
  void give(const Order& order);
  // Returns all answers to rank 0, its own among them.
  std::vector<Answer> collect(const Answer& own);

  // The other ranks await the next order, then give their answer.
  Order await();
  void answer(int rank, const Answer& answer);

  // For Order::Kind::kConnect; rank 0 writes them before give().
  unsigned char (*handles())[256];

 private:
  struct Shared;
  Team() = default;

  int world_size_ = 0;
  Shared* shared_ = nullptr;
  std::size_t mapped_bytes_ = 0;  // 0 if the ranks are threads
};

}  // namespace assay::allreduce
