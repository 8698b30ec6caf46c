// Makes binary schedules: the graph of one rank operation by operation, and the file rank by rank.
// schedule.h shows the layout.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/result.h"
#include "model/schedule.h"

namespace assay::model {

inline constexpr std::uint64_t kScheduleMagic = 4223;
// LogGOPSim leaves this number in a file that it has modified during its run.
inline constexpr std::uint64_t kSpoiltScheduleMagic = 2342;

#pragma pack(push, 1)

struct ScheduleStart {
  std::uint64_t magic = kScheduleMagic;
  std::uint32_t num_ranks = 0;
  std::uint8_t max_cpu = 0;
  std::uint8_t max_nic = 0;
};

struct RankExtent {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

#pragma pack(pop)

// Offsets in the file count from the end of the magic number.
inline constexpr std::uint64_t kOffsetOrigin = sizeof(std::uint64_t);

// The head of the file: the number of ranks, and the place of each one.
class ScheduleHeader {
 public:
  explicit ScheduleHeader(std::uint32_t num_ranks);

  // Ranks must be added in order and follow each other without gaps.
  void add(const RankImage& rank);

  [[nodiscard]] bool complete() const { return extents_.size() == start_.num_ranks; }

  // The head has its final size from the beginning, so that the ranks can be written after it
  // before it is complete.
  [[nodiscard]] std::vector<char> bytes() const;

 private:
  ScheduleStart start_;
  std::uint64_t next_;
  std::vector<RankExtent> extents_;
};

// The resources on which an operation runs.
struct Place {
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
};

class RankBuilder {
 public:
  // Each adds an operation and returns its number, counted from 0.
  std::uint32_t send(std::uint64_t size_bytes, std::uint32_t peer, std::uint32_t tag, Place place);
  std::uint32_t receive(std::uint64_t size_bytes,
                        std::uint32_t peer,
                        std::uint32_t tag,
                        Place place);
  std::uint32_t calc(std::uint64_t duration_ns, Place place);

  // `op` starts after `before` has ended (require_finish) or started.
  void require_finish(std::uint32_t op, std::uint32_t before) { finish_.push_back({before, op}); }

  void require_start(std::uint32_t op, std::uint32_t before) { start_.push_back({before, op}); }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }

  // Returns the rank's bytes and leaves the builder empty, with its memory ready for the next rank.
  // The memory of `spent`, an image that is no longer needed, is reused, because allocating new
  // memory for each rank would cost more than filling it.
  RankImage finish(RankImage spent = {});

 private:
  struct Edge {
    std::uint32_t before;
    std::uint32_t after;
  };

  std::uint32_t add(const ScheduleOp& op);
  void count_edges();
  void number_dependents();
  void place_dependents(PackedIndex* dependents);

  std::vector<ScheduleOp> ops_;
  std::vector<Edge> finish_;
  std::vector<Edge> start_;
  std::vector<std::uint32_t> next_;
  RankImage image_;
};

// Takes the ranks of a schedule, one after another from rank 0.
class RankSink {
 public:
  RankSink() = default;
  RankSink(const RankSink&) = delete;
  RankSink& operator=(const RankSink&) = delete;
  virtual ~RankSink() = default;

  virtual core::Status append(const RankImage& rank) = 0;
};

// Writes the file rank by rank: `ranks` must append num_ranks ranks. Needs memory only for the
// table of ranks. The file appears under its name only when everything has succeeded.
core::Status write_binary_schedule(const std::filesystem::path& path,
                                   std::uint32_t num_ranks,
                                   const std::function<core::Status(RankSink&)>& ranks);

// Returns the bytes of the same file in memory.
std::vector<char> binary_schedule(const std::vector<RankImage>& ranks);

}  // namespace assay::model
