#include "cases.h"
#include "simulate/schedules_test_util.h"
#include "simulate/simulate.h"

namespace assay::bench {
namespace {

namespace test = simulate::testing;

core::Result<Usage> simulate_one(const model::Schedule& schedule) {
  return measure_work([&]() -> core::Result<double> {
    const double start = cpu_seconds();
    const auto outcome = ASSAY_TRY(simulate::simulate(schedule, {}));
    if (!outcome.finished) return core::Error{"the schedule did not end"};
    return cpu_seconds() - start;
  });
}

core::Result<Usage> all_to_all(Inputs& /*inputs*/) {
  return simulate_one(test::all_to_all(1024, 1));
}

core::Result<Usage> dissemination(Inputs& /*inputs*/) {
  return simulate_one(test::dissemination(65536, 1));
}

core::Result<Usage> ring(Inputs& /*inputs*/) {
  return simulate_one(test::ring({.num_ranks = 512, .steps = 1022}));
}

core::Result<Usage> channels(Inputs& /*inputs*/) {
  return simulate_one(test::ring({.num_ranks = 32,
                                  .steps = 62,
                                  .bytes = 131072,
                                  .channels = 8,
                                  .calc_ns = 1000,
                                  .rounds = 74}));
}

}  // namespace

std::vector<Case> simulate_cases() {
  return {
      {"simulate all-to-all, 1024 ranks, 3.14 M events", all_to_all, Target{3.0}},
      {"simulate dissemination, 65536 ranks, 3.15 M events", dissemination, std::nullopt},
      {"simulate ring, 512 ranks, 1.57 M events", ring, std::nullopt},
      {"simulate rings of 8 channels, 32 ranks, 4.70 M events", channels, Target{1.0}},
  };
}

}  // namespace assay::bench
