#include "plan/schedule/simulate.h"

#include <optional>

#include "plan/schedule/check_inputs.h"
#include "plan/schedule/clients.h"
#include "plan/schedule/engine_instance.h"

namespace assay::plan {
namespace {

class Simulation {
 public:
  Simulation(const StepCost& cost,
             const Policy& policy,
             const Limits& limits,
             const Workload& workload,
             const SimulationOptions& options)
      : workload_(workload),
        limits_(limits),
        options_(options),
        recorder_(workload, options.warm_up_requests),
        worker_(cost, policy, limits, workload, options.stepping, &recorder_),
        clients_(workload, limits) {}

  core::Result<ServingMetrics> run() {
    send();
    while (ended_ < workload_.requests.size()) {
      ASSAY_TRY(worker_.advance());
      for (const EndedRequest& one : worker_.ended()) {
        recorder_.found(one.request, one.found_tokens);
        recorder_.ended(one.request, worker_.now_ms());
        clients_.ended(one.request, worker_.now_ms());
        ++ended_;
      }
      send();
    }
    ServingMetrics metrics;
    recorder_.write(options_.level, metrics);
    worker_.work_done().write(limits_.groups, metrics);
    return metrics;
  }

 private:
  void send() {
    while (const std::optional<Sent> sent = clients_.next()) {
      recorder_.arrived(sent->request, sent->sent_ms);
      worker_.send(sent->request, sent->at_ms);
    }
  }

  const Workload& workload_;
  const Limits& limits_;
  const SimulationOptions& options_;
  MetricsRecorder recorder_;
  EngineInstance worker_;
  Clients clients_;
  std::size_t ended_ = 0;
};

}  // namespace

core::Result<ServingMetrics> simulate(const StepCost& cost,
                                      const Policy& policy,
                                      const Limits& limits,
                                      const Workload& workload,
                                      const SimulationOptions& options) {
  ASSAY_TRY(check_workload(workload));
  ASSAY_TRY(check_inputs(limits, workload));
  ASSAY_TRY(check_warm_up(options.warm_up_requests, workload));
  return Simulation(cost, policy, limits, workload, options).run();
}

}  // namespace assay::plan
