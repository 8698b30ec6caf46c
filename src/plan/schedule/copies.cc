#include "plan/schedule/copies.h"

#include <algorithm>

#include "plan/schedule/check_inputs.h"
#include "plan/schedule/engine_instance.h"

namespace assay::plan {
namespace {

// Runs the requests whose client is `first` among every `copies`, on one instance.
core::Status run_copy(std::size_t first,
                      std::size_t copies,
                      const Workload& workload,
                      const Limits& limits,
                      EngineInstance& instance,
                      MetricsRecorder& recorder) {
  double front_end_free_ms = 0;
  std::size_t left = 0;
  const auto send = [&](std::size_t request, double at_ms) {
    front_end_free_ms = std::max(front_end_free_ms, at_ms) + limits.request_ms;
    recorder.arrived(request, at_ms);
    const double seen_ms = limits.request_ms > 0 ? front_end_free_ms : at_ms;
    instance.send(request, seen_ms + limits.client_ms);
    ++left;
  };
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    if (workload.client_of(i) % copies == first && !workload.follows(i))
      send(i, workload.requests[i].arrival_ms);
  }
  while (left > 0) {
    ASSAY_TRY(instance.advance());
    for (const EndedRequest& one : instance.ended()) {
      recorder.found(one.request, one.found_tokens);
      recorder.ended(one.request, instance.now_ms());
      --left;
      if (workload.turns.empty()) continue;
      const std::size_t next = workload.turns[one.request].next;
      if (next != Turn::kNone) send(next, instance.now_ms() + workload.turns[next].delay_ms);
    }
  }
  return {};
}

}  // namespace

core::Result<ServingMetrics> simulate_copies(const StepCost& cost,
                                             const Policy& policy,
                                             const Limits& limits,
                                             const Workload& workload,
                                             const CopiesOptions& options) {
  ASSAY_TRY(check_workload(workload));
  ASSAY_TRY(check_inputs(limits, workload));
  if (workload.concurrency > 0)
    return core::Error{"requests of a closed loop have no times by which copies could share them"};
  MetricsRecorder recorder(workload, 0);
  WorkDone done;
  for (std::int64_t copy = 0; copy < options.copies; ++copy) {
    EngineInstance instance(cost, policy, limits, workload, Stepping::kManyAtOnce, &recorder);
    instance.log_to(options.log);
    ASSAY_TRY(run_copy(static_cast<std::size_t>(copy), static_cast<std::size_t>(options.copies),
                       workload, limits, instance, recorder));
    done.add(instance.work_done());
  }
  ServingMetrics metrics;
  recorder.write(options.level, metrics);
  done.write(limits.groups * options.copies, metrics);
  return metrics;
}

}  // namespace assay::plan
