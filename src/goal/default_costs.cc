#include "goal/costs.h"
#include "goal/validate.h"

namespace assay::goal {

// Fitted by `assay simulate fit` to 255 kinds and sizes of operations on 4 H200 with NVLink (NCCL
// 2.28.9, 2026-11-21): docs/case-study-goal.md.
const LineCosts& default_costs() {
  static const LineCosts costs = {
      4026,
      {{
          {{{300, 0.031}, {9.2, 0.032}, {9.2, 0.032}}},          // LL
          {{{1791, 0.0019}, {2200, 0.00002}, {2200, 0.00002}}},  // LL128
          {{{3529, 0.018}, {2469, 0.042}, {2469, 0.042}}},       // SIMPLE
      }}};
  return costs;
}

const Links& default_links() {
  static const Links links = {
      .intra = {.latency_ns = 439,
                .overhead_ns = 1,
                .gap_ns = 10,
                .gap_ns_per_byte = 0.002973,
                .overhead_ns_per_byte = 0,
                .rendezvous_bytes = 1e12},
      .inter = {.latency_ns = 3700,
                .overhead_ns = 200,
                .gap_ns = 5,
                .gap_ns_per_byte = 0.04,
                .overhead_ns_per_byte = 0,
                .rendezvous_bytes = 1e12},
  };
  return links;
}

}  // namespace assay::goal
