#include "goal/costs.h"

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

}  // namespace assay::goal
