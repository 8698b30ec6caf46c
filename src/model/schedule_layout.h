// The head of a binary schedule; schedule.h shows the whole layout.
#pragma once

#include <cstdint>
#include <vector>

#include "model/schedule.h"

namespace assay::model {

inline constexpr std::uint64_t kScheduleMagic = 4223;
// What LogGOPSim leaves after a run that worked on the file itself.
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

// Offsets in the file count from behind the magic number.
inline constexpr std::uint64_t kOffsetOrigin = sizeof(std::uint64_t);

class ScheduleHeader {
 public:
  explicit ScheduleHeader(std::uint32_t num_ranks);

  // Ranks follow each other without gaps, in order.
  void add(const RankImage& rank);

  [[nodiscard]] bool complete() const { return extents_.size() == start_.num_ranks; }

  // Of full size from the beginning, so that the ranks can be written behind it first.
  [[nodiscard]] std::vector<char> bytes() const;

 private:
  ScheduleStart start_;
  std::uint64_t next_;
  std::vector<RankExtent> extents_;
};

}  // namespace assay::model
