// collective_comparison: the collectives of two configurations and what changed.
#pragma once

#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/change.h"
#include "trace/compare/configuration.h"
#include "trace/compare/repetitions.h"

namespace assay::trace {

// By default, first:
//   nccl_implicit_sync_cmp  one row a collective, size and group, of either side: latency over
//                           its instances (over runs, where both sides have several) with a
//                           confidence interval and a verdict, its total in a run, bandwidth
//                           (1e9 bytes a second), channels and threads of both sides
//   nccl_all2allv_cmp       the same for all_to_allv, where there is any
//   nccl_long_cmp           summed, mean and extreme durations over ranks
// then the combined summary sheets. For kTraceLens: its sheets in its order.
model::Book collective_comparison(const Sides& sides);

// The latency of one kind of synchronising collective, compared.
struct CollectiveChange {
  std::string name;                               // "_allgather_base BFloat16 25167872"
  Repetition repetition = Repetition::kInstance;  // of the changes
  Change latency_us;
  double baseline_total_ms = 0;  // of a run
  double test_total_ms = 0;
  Change bus_gbps;
  std::string baseline_channels;
  std::string test_channels;
};

// Those with most time first.
std::vector<CollectiveChange> compare_collectives(const Sides& sides);

}  // namespace assay::trace
