#include "goal/launch_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/numbered.h"
#include "goal/reshape_job.h"
#include "goal/steps.h"
#include "model/schedule.h"

namespace assay::goal {
namespace {

constexpr std::uint8_t kMostBuffers = 8;

// The slices of a step: all of `bytes` but the last one.
struct StepCut {
  std::uint32_t slices = 0;
  std::uint64_t bytes = 0;
  std::uint64_t last_bytes = 0;
};

StepCut cut_step(const Part& part, const Step& step) {
  StepCut made;
  for_each_slice(part, step, [&](std::uint64_t slice) {
    const std::uint64_t bytes = slice * part.shape->cut.element_bytes;
    if (made.slices == 0) made.bytes = bytes;
    made.last_bytes = bytes;
    ++made.slices;
  });
  return made;
}

bool same_step(const Step& a, const Step& b) {
  return a.count == b.count && a.work == b.work && a.lane == b.lane && a.two_way == b.two_way &&
         a.whole == b.whole && a.is_free == b.is_free && a.num_from == b.num_from &&
         a.num_to == b.num_to &&
         std::equal(a.from.begin(), a.from.begin() + a.num_from, b.from.begin()) &&
         std::equal(a.to.begin(), a.to.begin() + a.num_to, b.to.begin());
}

// Lists the lanes of a launch's channels.
class Lister {
 public:
  Lister(const Costs& costs, model::LaunchWork& work) : costs_(costs), work_(work) {}

  void add_channel(const Part& part,
                   const model::ChannelPart& channel,
                   std::uint8_t cpu,
                   std::uint32_t key) {
    thread_local Primitives primitives;
    lower_channel(part, channel, primitives);
    for (std::vector<model::StepRun>& runs : runs_)
      runs.clear();
    ways_.clear();
    const std::vector<Step>& steps = primitives.steps();
    for (std::size_t i = 0; i < steps.size();) {
      std::size_t end = i + 1;
      while (end < steps.size() && same_step(steps[i], steps[end]))
        ++end;
      add_steps(part, steps[i], static_cast<std::uint32_t>(end - i));
      i = end;
    }
    for (std::vector<model::StepRun>& runs : runs_) {
      if (runs.empty()) continue;
      work_.lanes.push_back({.key = key,
                             .cpu = cpu,
                             .slots = static_cast<std::uint8_t>(
                                 std::min<std::uint32_t>(part.shape->cut.slots, kMostBuffers)),
                             .first_run = static_cast<std::uint32_t>(work_.runs.size()),
                             .num_runs = static_cast<std::uint32_t>(runs.size())});
      work_.runs.insert(work_.runs.end(), runs.begin(), runs.end());
    }
  }

  void finish() { work_.end_op = next_op_; }

 private:
  void add_steps(const Part& part, const Step& step, std::uint32_t steps) {
    const StepCut cut = cut_step(part, step);
    if (cut.slices == 0) return;
    const model::NcclProtocol protocol = part.shape->protocol;
    const auto work_ns = [&](std::uint64_t bytes) -> std::uint64_t {
      if (step.is_free) return 0;
      return costs_.following_ns(protocol, step, part.shape->cut.slices_wait, bytes, 0);
    };
    model::StepRun run{
        .steps = steps,
        .slices = cut.slices,
        .first_op = next_op_,
        .first_peer = static_cast<std::uint32_t>(work_.peers.size()),
        .num_from = step.num_from,
        .num_to = step.num_to,
        .bytes = wire_bytes(protocol, cut.bytes),
        .last_bytes = wire_bytes(protocol, cut.last_bytes),
        .first_work_ns = step.is_free ? 0 : costs_.duration_ns(protocol, step, cut.bytes, 0),
        .work_ns = work_ns(cut.bytes),
        .last_work_ns = work_ns(cut.last_bytes)};
    for (std::uint8_t i = 0; i < step.num_from; ++i)
      work_.peers.push_back({part.gpu(step.from[i]), way_of(step.from[i], kReceives, step.lane)});
    for (std::uint8_t i = 0; i < step.num_to; ++i)
      work_.peers.push_back({part.gpu(step.to[i]), way_of(step.to[i], kSends, step.lane)});
    next_op_ += run.num_slices() * run.ops_per_slice();
    runs_[step.lane].push_back(run);
  }

  // The lanes of the channel that have sent to a rank or received from it, in the order of their
  // first message. A rank receives in this order what another one sends in it, so that both number
  // the ways between them alike.
  struct Ways {
    std::int32_t peer;
    bool sends;
    std::vector<std::uint8_t> lanes;
  };

  static constexpr bool kSends = true;
  static constexpr bool kReceives = false;

  std::uint32_t way_of(std::int32_t peer, bool sends, std::uint8_t lane) {
    auto found = std::find_if(ways_.begin(), ways_.end(), [&](const Ways& ways) {
      return ways.peer == peer && ways.sends == sends;
    });
    if (found == ways_.end()) found = ways_.insert(found, {peer, sends, {}});
    const auto known = std::find(found->lanes.begin(), found->lanes.end(), lane);
    const auto way = static_cast<std::uint32_t>(known - found->lanes.begin());
    if (known == found->lanes.end()) found->lanes.push_back(lane);
    return way;
  }

  const Costs& costs_;
  model::LaunchWork& work_;
  std::vector<Ways> ways_;
  std::array<std::vector<model::StepRun>, kMostLanes> runs_;  // by lane of the channel
  std::uint32_t next_op_ = 1;                                 // the start is number 0
};

}  // namespace

LaunchSource::LaunchSource(const Resolved& resolved,
                           const Costs& costs,
                           const StreamPlan& plan,
                           model::Warnings& warnings)
    : resolved_(resolved), costs_(costs) {
  std::uint32_t keys = 0;
  for (const Exchange& exchange : resolved.exchanges) {
    first_key_.push_back(keys);
    const std::size_t parts = resolved.shapes[exchange.shape].cut.parts.size();
    keys += static_cast<std::uint32_t>(parts * kMostLanes);
  }
  const model::Job& job = *resolved.job;
  const std::vector<std::int64_t> clock_start_ns = clock_starts(job);
  node_of_rank_ = core::numbered(job.gpus, &model::JobGpu::node);
  for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
    GpuTimeline timeline =
        make_timeline(resolved, gpu, plan, clock_start_ns[job.gpus[gpu].clock], warnings);
    const unsigned cpus = std::clamp(timeline.num_cpus, 1U, model::kMostCpu);
    RankPlan& made = ranks_.emplace_back();
    made.launches.num_cpus = cpus;
    for (TimedLaunch& timed : timeline.launches) {
      made.launches.launches.push_back(
          {.start_ns = timed.gap_ns + launch_ns(resolved, gpu, timed.launch, costs),
           .after = std::move(timed.after),
           .cpu = static_cast<std::uint8_t>(timed.cpus.first % cpus),
           .message_cpu = static_cast<std::uint8_t>(timed.message_cpu % cpus)});
      made.calls.push_back(timed.launch);
      made.cpus.push_back(timed.cpus);
    }
    if (timeline.tail_ns == 0 || timeline.launches.empty()) continue;
    made.launches.tail_ns = timeline.tail_ns;
    made.launches.tail_after = std::move(timeline.last);
  }
}

std::uint32_t LaunchSource::launch_of(std::uint32_t gpu, std::uint32_t first_call) const {
  const std::vector<Launch>& calls = ranks_[gpu].calls;
  const auto found = std::find_if(calls.begin(), calls.end(), [&](const Launch& launch) {
    return launch.num_calls > 0 && launch.first_call == first_call;
  });
  return static_cast<std::uint32_t>(found - calls.begin());
}

void LaunchSource::list(std::uint32_t rank, std::uint32_t launch, model::LaunchWork& work) const {
  const RankPlan& plan = ranks_[rank];
  const Launch& calls = plan.calls[launch];
  Lister lister(costs_, work);
  for (std::uint32_t i = 0; i < calls.num_calls; ++i) {
    const Call& call = resolved_.gpus[rank].calls[calls.first_call + i];
    const Part part = part_of(resolved_, rank, call);
    std::uint32_t key = first_key_[part.exchange];
    for (const model::ChannelPart& channel : part.shape->cut.parts) {
      const std::uint32_t cpu =
          plan.cpus[launch].of(part.operation->function, channel.channel) % plan.launches.num_cpus;
      lister.add_channel(part, channel, static_cast<std::uint8_t>(cpu), key);
      key += static_cast<std::uint32_t>(kMostLanes);
    }
  }
  lister.finish();
}

}  // namespace assay::goal
