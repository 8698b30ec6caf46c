#include "goal/launch_job.h"

#include <algorithm>

#include "goal/generate.h"

namespace assay::goal {
namespace {

std::vector<MeasuredTime> measured_times(const Resolved& resolved) {
  constexpr std::uint32_t kNoClock = 0xFFFFFFFF;
  std::vector<MeasuredTime> times(resolved.exchanges.size());
  std::vector<std::uint32_t> clocks(times.size(), kNoClock);
  for (std::uint32_t gpu = 0; gpu < resolved.gpus.size(); ++gpu) {
    const model::JobGpu& from = resolved.job->gpus[gpu];
    for (const Call& call : resolved.gpus[gpu].calls) {
      const model::Operation& operation = from.operations[call.operation];
      MeasuredTime& time = times[call.exchange];
      const bool is_first = clocks[call.exchange] == kNoClock;
      const bool fits = is_first || (time.known && clocks[call.exchange] == from.clock);
      clocks[call.exchange] = from.clock;
      time.start_ns = is_first ? operation.start_ns : std::min(time.start_ns, operation.start_ns);
      time.end_ns = std::max(time.end_ns, operation.end_ns);
      time.known = fits && !from.states_waits && operation.end_ns > operation.start_ns;
    }
  }
  return times;
}

}  // namespace

core::Result<std::unique_ptr<const LaunchJob>> make_launch_job(const JobFile& file) {
  auto made = std::make_unique<LaunchJob>();
  made->job = ASSAY_TRY(scale(file.job, file.scale));
  made->choices = choose_algorithms(file.job, file.choices, made->job);
  made->costs = file.costs;
  made->resolved = ASSAY_TRY(resolve(made->job, Misfits::kLeaveOut));
  made->warnings = made->resolved.warnings;
  const StreamPlan streams = plan_streams(made->resolved, file.streams, made->warnings);
  made->schedule =
      std::make_unique<const LaunchSource>(made->resolved, made->costs, streams, made->warnings);
  made->notes = notes_of(made->resolved);
  made->measured = measured_times(made->resolved);
  return std::unique_ptr<const LaunchJob>(std::move(made));
}

}  // namespace assay::goal
