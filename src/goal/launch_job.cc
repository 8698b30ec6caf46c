#include "goal/launch_job.h"

#include <algorithm>
#include <set>

#include "goal/generate.h"

namespace assay::goal {
namespace {

// Adds what one GPU's launch says of a group.
void add_part(const Resolved& resolved, const LaunchId& id, JobLaunch& made) {
  const model::JobGpu& gpu = resolved.job->gpus[id.gpu];
  const GpuCalls& calls = resolved.gpus[id.gpu];
  const Launch& launch = calls.launches[id.launch];
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < launch.num_calls; ++i) {
    const Call& call = calls.calls[launch.first_call + i];
    made.operations.push_back(call.exchange);
    bytes += gpu.operations[call.operation].bytes;
  }
  const bool is_first = made.parts.empty();
  const auto earlier = [&](std::int64_t& ns) {
    ns = is_first ? launch.start_ns : std::min(ns, launch.start_ns);
  };
  earlier(made.measured_start_ns);
  made.measured_last_start_ns =
      is_first ? launch.start_ns : std::max(made.measured_last_start_ns, launch.start_ns);
  made.measured_end_ns = std::max(made.measured_end_ns, launch.end_ns);
  made.bytes = std::max(made.bytes, bytes);
  made.timed = made.timed && !gpu.states_waits && launch.end_ns > launch.start_ns;
}

std::vector<JobLaunch> launches_of(const Resolved& resolved, const LaunchSource& schedule) {
  std::vector<JobLaunch> launches;
  for (const std::vector<LaunchId>& group : launch_groups(resolved)) {
    const LaunchId& one = group.front();
    if (resolved.gpus[one.gpu].launches[one.launch].num_calls == 0) continue;
    JobLaunch& made = launches.emplace_back();
    std::set<std::uint32_t> clocks;
    for (const LaunchId& id : group) {
      add_part(resolved, id, made);
      clocks.insert(resolved.job->gpus[id.gpu].clock);
      const std::uint32_t first_call = resolved.gpus[id.gpu].launches[id.launch].first_call;
      made.parts.push_back({id.gpu, schedule.launch_of(id.gpu, first_call)});
    }
    made.clocks = clocks.size();
    std::sort(made.operations.begin(), made.operations.end());
    made.operations.erase(std::unique(made.operations.begin(), made.operations.end()),
                          made.operations.end());
    const Exchange& exchange = resolved.exchanges[made.operations.front()];
    if (made.operations.size() > 1 || exchange.function != model::NcclFunction::kSendRecv) continue;
    const auto& gpus = resolved.job->communicators[exchange.communicator].gpus;
    made.source = gpus[static_cast<std::size_t>(exchange.source)];
    made.destination = gpus[static_cast<std::size_t>(exchange.destination)];
  }
  std::sort(launches.begin(), launches.end(), [](const JobLaunch& a, const JobLaunch& b) {
    return a.operations.front() < b.operations.front();
  });
  return launches;
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
  made->launches = launches_of(made->resolved, *made->schedule);
  return std::unique_ptr<const LaunchJob>(std::move(made));
}

}  // namespace assay::goal
