// collective_comparison: the collectives of two configurations and their changes.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/configuration.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {

// By default, these sheets come first:
//   nccl_implicit_sync_cmp  One row for each collective, size and group of either side: the latency
//                           over its instances (or over runs, where both sides have several) with a
//                           confidence interval and a verdict, its total per run, the bandwidth
//                           (1e9 bytes per second), and the channels and threads of both sides.
//   nccl_all2allv_cmp       The same for all_to_allv, where there is any.
//   nccl_long_cmp           Total, mean and extreme durations over ranks.
// The combined summary sheets follow. For kTraceLens, the sheets and their order are those of the
// public tool.
model::Book collective_comparison(const Sides& sides);

// The change in latency of one kind of synchronising collective.
struct CollectiveChange {
  std::string name;                               // "_allgather_base BFloat16 25167872"
  Repetition repetition = Repetition::kInstance;  // repetitions behind the changes
  Change latency_us;
  double baseline_total_ms = 0;  // per run
  double test_total_ms = 0;
  Change bus_gbps;
  std::string baseline_channels;
  std::string test_channels;
};

// Sorted by time, the longest first.
std::vector<CollectiveChange> compare_collectives(const Sides& sides);

}  // namespace assay::trace
