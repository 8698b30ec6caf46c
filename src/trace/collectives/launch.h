// Launch settings of collectives, the very knobs that NCCL and RCCL sweeps turn.
#pragma once

#include <vector>

#include "model/table.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {

inline const model::Column kChannelsColumn{"channels", "", model::Better::kNeither,
                                           "thread blocks of the launch, one a channel"};
inline const model::Column kThreadsColumn{"threads", "", model::Better::kNeither,
                                          "threads a block of the launch"};

// Adds the setting of each member, runs of equal values once.
inline void collect_launch(const Study& study,
                           const Collective& collective,
                           std::uint32_t Event::*setting,
                           std::vector<std::uint32_t>& values) {
  for (const Member& member : study.matching.members_of(collective)) {
    const std::uint32_t value = event_of(study.recording, member).*setting;
    if (values.empty() || values.back() != value) values.push_back(value);
  }
}

}  // namespace assay::trace::collectives
