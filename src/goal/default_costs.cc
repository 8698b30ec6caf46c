#include "goal/costs.h"
#include "goal/validate.h"

namespace assay::goal {

const LineCosts& default_costs() {
  static const LineCosts costs = {5000,
                                  {{
                                      {{{300, 0.05}, {300, 0.05}, {300, 0.05}}},     // LL
                                      {{{600, 0.05}, {600, 0.05}, {600, 0.05}}},     // LL128
                                      {{{1500, 0.04}, {1500, 0.05}, {1500, 0.05}}},  // SIMPLE
                                  }}};
  return costs;
}

const Links& default_links() {
  static const Links links = {
      .intra = {.latency_ns = 1000,
                .overhead_ns = 20,
                .gap_ns = 5,
                .gap_ns_per_byte = 0.0025,
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
