// One instance of an engine: groups whose steps end together, and their clock.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "plan/schedule/group.h"
#include "plan/schedule/metrics.h"
#include "plan/schedule/step_log.h"
#include "plan/schedule/step_time.h"
#include "plan/schedule/stepping.h"

namespace assay::plan {

// What an instance did.
struct WorkDone {
  std::int64_t steps = 0;
  double batch_sum = 0;  // requests of all steps
  double computing_ms = 0;
  double mixed_ms = 0;
  double prompt_ms = 0;
  double eager_ms = 0;
  double kv_token_ms = 0;
  double peak_kv_tokens = 0;
  std::int64_t prompt_tokens_computed = 0;
  std::int64_t preemptions = 0;

  void add(const WorkDone& other);
  // Fills the fields that are about steps; `groups` is the number of caches.
  void write(std::int64_t groups, ServingMetrics& metrics) const;
};

struct EndedRequest {
  std::size_t request = 0;
  std::int64_t found_tokens = 0;  // of its prompt, that were in the prefix cache
};

class EngineInstance {
 public:
  // `workload` has the lengths of the requests. The recorder, which may be nullptr, hears of
  // tokens.
  EngineInstance(const StepCost& cost,
                 const Policy& policy,
                 const Limits& limits,
                 const Workload& workload,
                 Stepping stepping,
                 MetricsRecorder* recorder);

  // Writes all steps that it takes from now on into a log.
  void log_to(StepLog* log) { log_ = log; }

  // The scheduler sees a request at that time, which is not before now_ms() if others run. kCached:
  // its prompt is in the cache of this instance and its first token is out.
  enum class Prompt : std::uint8_t { kToCompute, kCached };
  void send(std::size_t request, double at_ms, Prompt prompt = Prompt::kToCompute);

  // When it goes on: now, or when its next request comes; infinity where it has nothing to do.
  [[nodiscard]] double next_ms() const;

  // Takes the next step, or as many as are alike, none of which begins behind `until_ms` but the
  // first. Error: nothing that waits can ever run.
  core::Status advance(double until_ms = std::numeric_limits<double>::infinity());

  // Requests that ended in it, at now_ms(); the others' order is that in which they ran.
  [[nodiscard]] const std::vector<EndedRequest>& ended() const { return ended_; }

  [[nodiscard]] double now_ms() const { return now_ms_; }

  [[nodiscard]] WorkDone work_done() const;

  // Tokens that came out so far of requests whose prompts it computed, and all that followed a
  // first one.
  [[nodiscard]] std::int64_t first_tokens() const;
  [[nodiscard]] std::int64_t further_tokens() const;

 private:
  struct Arrival {
    std::size_t request = 0;
    double at_ms = 0;
    Prompt prompt = Prompt::kToCompute;
  };

  void deliver();
  Group& group_of(std::size_t request);
  bool choose();
  void meet();
  [[nodiscard]] core::Error stuck() const;
  [[nodiscard]] std::int64_t steady_steps() const;
  [[nodiscard]] double step_ms(double further) const;
  [[nodiscard]] StepRun run_of(std::int64_t steps) const;
  [[nodiscard]] std::int64_t steps_until(double at_ms,
                                         const StepRun& times,
                                         std::int64_t most) const;
  void take(std::int64_t steps, const StepRun& times);
  void count_step(std::int64_t steps, double ms);
  void log_step(std::int64_t steps) const;
  void count_tokens(Group& group, std::int64_t steps, const StepRun& times);

  const Workload* workload_;
  const Limits* limits_;
  Stepping stepping_;
  StepTime step_time_;
  std::vector<Group> groups_;
  std::unordered_map<std::size_t, std::size_t> group_of_client_;  // where turns follow each other
  std::vector<Step> steps_;                                       // of each group, in this step
  MetricsRecorder* recorder_;
  StepLog* log_ = nullptr;

  std::vector<Arrival> arrivals_;  // known ones, by time
  std::size_t delivered_ = 0;
  std::vector<EndedRequest> ended_;
  double now_ms_ = 0;
  // What arrived before is known to the next decision, where steps follow each other.
  double decided_ms_ = 0;
  bool busy_ = false;  // a step has just ended
  WorkDone done_;
};

}  // namespace assay::plan
