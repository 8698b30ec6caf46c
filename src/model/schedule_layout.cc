#include "model/schedule_layout.h"

#include <algorithm>
#include <cstring>

namespace assay::model {

ScheduleHeader::ScheduleHeader(std::uint32_t num_ranks)
    : start_{.num_ranks = num_ranks},
      next_(sizeof(ScheduleStart) - kOffsetOrigin + num_ranks * sizeof(RankExtent)) {}

void ScheduleHeader::add(const RankImage& rank) {
  start_.max_cpu = static_cast<std::uint8_t>(std::max<unsigned>(start_.max_cpu, rank.max_cpu));
  start_.max_nic = static_cast<std::uint8_t>(std::max<unsigned>(start_.max_nic, rank.max_nic));
  extents_.push_back({next_, next_ + rank.bytes.size()});
  next_ += rank.bytes.size();
}

std::vector<char> ScheduleHeader::bytes() const {
  std::vector<char> bytes(sizeof(start_) + start_.num_ranks * sizeof(RankExtent));
  std::memcpy(bytes.data(), &start_, sizeof(start_));
  if (!extents_.empty()) {
    std::memcpy(bytes.data() + sizeof(start_), extents_.data(),
                extents_.size() * sizeof(RankExtent));
  }
  return bytes;
}

}  // namespace assay::model
