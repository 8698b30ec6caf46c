// The schedulers of serving engines, beside a cost of steps that itself takes hardly any time.
#include <fmt/core.h>

#include <cmath>

#include "cases.h"
#include "plan/schedule/disaggregated.h"

namespace assay::bench {
namespace {

constexpr int kRepeats = 100;

// Takes about 30 ns, as a price from bound tables does: a logarithm for each of its three parts.
class SmoothCost : public plan::StepCost {
 public:
  [[nodiscard]] double ms(const plan::Step& step) const override {
    const auto prompt = static_cast<double>(step.prompt_tokens());
    const auto decodes = static_cast<double>(step.decodes);
    return 10 + 0.06 * prompt + 0.1 * std::log1p(prompt) + 0.02 * decodes +
           0.1 * std::log1p(decodes) + 2e-5 * decodes * step.decode_cached +
           0.01 * std::log1p(step.decode_cached);
  }
};

core::Result<plan::Workload> serving_benchmark(plan::Lengths::Kind kind) {
  return plan::make_workload({.requests = 640,
                              .prompt = {.kind = kind, .tokens = 4000, .ratio = 0.5},
                              .output = {.kind = kind, .tokens = 1000, .ratio = 0.5},
                              .arrivals = {.concurrency = 64}});
}

// The mean time of a simulation.
core::Result<Usage> simulate_engine(plan::Engine engine,
                                    const plan::Workload& workload,
                                    std::int64_t kv_tokens) {
  const plan::Policy& policy = plan::policy_of(engine);
  plan::Limits limits = policy.defaults();
  limits.kv_tokens = kv_tokens;
  return measure_work([&]() -> core::Result<double> {
    const double start = cpu_seconds();
    for (int i = 0; i < kRepeats; ++i) {
      const auto metrics = ASSAY_TRY(plan::simulate(SmoothCost(), policy, limits, workload));
      if (!(metrics.output_tokens_per_s > 0)) return core::Error{"no tokens"};
    }
    return (cpu_seconds() - start) / kRepeats;
  });
}

Case schedule_case(plan::Engine engine,
                   plan::Lengths::Kind kind,
                   std::int64_t kv_tokens,
                   const char* what) {
  return {fmt::format("640 requests at concurrency 64, {}, {}", plan::name_of(engine), what),
          [=](Inputs& /*inputs*/) -> core::Result<Usage> {
            return simulate_engine(engine, ASSAY_TRY(serving_benchmark(kind)), kv_tokens);
          },
          Target{0.005}};
}

// Three instances of prompts and two that decode.
core::Result<Usage> simulate_pools(Inputs& /*inputs*/) {
  const plan::Workload workload = ASSAY_TRY(serving_benchmark(plan::Lengths::Kind::kUniform));
  const plan::Policy& policy = plan::policy_of(plan::Engine::kVllm);
  plan::Limits limits = policy.defaults();
  limits.kv_tokens = 600'000;
  const SmoothCost cost;
  return measure_work([&]() -> core::Result<double> {
    const double start = cpu_seconds();
    for (int i = 0; i < kRepeats; ++i) {
      const auto metrics =
          ASSAY_TRY(plan::simulate_disaggregated(policy, {&cost, limits, 3}, {&cost, limits, 2},
                                                 {.bytes_per_token = 1e5, .gbps = 50}, workload));
      if (!(metrics.serving.output_tokens_per_s > 0)) return core::Error{"no tokens"};
    }
    return (cpu_seconds() - start) / kRepeats;
  });
}

}  // namespace

std::vector<Case> schedule_cases() {
  std::vector<Case> cases;
  for (const plan::Engine engine :
       {plan::Engine::kVllm, plan::Engine::kTrtllm, plan::Engine::kSglang}) {
    cases.push_back(schedule_case(engine, plan::Lengths::Kind::kFixed, 600'000, "equal lengths"));
    cases.push_back(
        schedule_case(engine, plan::Lengths::Kind::kUniform, 600'000, "lengths of a range"));
    cases.push_back(
        schedule_case(engine, plan::Lengths::Kind::kUniform, 120'000, "too small a cache"));
  }
  cases.push_back({"640 requests at concurrency 64, vllm, 3 instances of prompts, 2 that decode",
                   simulate_pools, std::nullopt});
  return cases;
}

}  // namespace assay::bench
