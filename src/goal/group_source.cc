#include "goal/group_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "goal/launch_groups.h"
#include "goal/reshape_job.h"
#include "goal/resolve.h"
#include "goal/steps.h"

namespace assay::goal {
namespace {

using model::GroupCost;
using model::NcclAlgorithm;
using model::Operation;

// Rings of more ranks than this are learned from shorter ones, about as long and half as long.
constexpr std::uint32_t kLongRing = 96;
// Beyond this many members all are taken to wait for all.
constexpr std::size_t kMostMembers = 64;

// A kind of group.
struct GroupKind {
  model::Job job;                      // of one cell
  std::vector<std::uint32_t> members;  // GPUs, in the order of LaunchGroup::members
  std::string grows;                   // name of the communicator; empty: a group in each replica
};

class Learner {
 public:
  Learner(const JobFile& file,
          const GroupKind& kind,
          const SimulateLaunches& simulate,
          GroupJob& made)
      : file_(file), kind_(kind), simulate_(simulate), made_(made) {}

  core::Result<GroupCost> run() {
    const std::uint32_t replicas = kind_.grows.empty() ? 1 : file_.scale.replicas;
    GroupCost cost = ASSAY_TRY(measured(replicas));
    end_together(cost, replicas);
    return cost;
  }

 private:
  struct Sizes {
    std::uint32_t first;
    std::uint32_t second;
    std::uint32_t wanted;
  };

  core::Result<GroupCost> measured(std::uint32_t replicas) {
    const std::size_t members = kind_.members.size();
    GroupCost cost;
    cost.members = static_cast<std::uint32_t>(members);
    const auto ranks = static_cast<std::uint32_t>(replicas * members);
    const model::Job whole = ASSAY_TRY(job_at(replicas));
    const bool ring = is_ring(whole);
    if (replicas == 1 || (!ring && ranks > kMostMembers)) {
      set_together(ASSAY_TRY(together(whole, replicas)), ring, cost);
      cost.own_ns = replicas == 1 && members <= kMostMembers ? ASSAY_TRY(matrix(whole))
                                                             : all_wait(cost.together_ns);
      if (!kind_.grows.empty()) cost.far_ns = all_wait(cost.together_ns);
      return cost;
    }
    const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(2, kLongRing / members));
    const std::uint32_t second = ring ? std::min(replicas, std::max(4U, most)) : replicas;
    const std::uint32_t first = std::max(2U, second / 2);
    if (second < replicas) ++made_.extrapolated_groups;
    return ring_cost(std::move(cost), whole, {first, second, replicas});
  }

  // Messages pile up before a late rank, so that others may end later after its start than they do
  // when all start together. Most ranks do, so that no delay is taken to be longer than then.
  static void end_together(GroupCost& cost, std::uint32_t replicas) {
    const std::size_t members = cost.together_ns.size();
    const std::int64_t along =
        std::llround(std::max(cost.slope_ns, cost.slope_ns * (static_cast<double>(replicas) - 1)));
    for (std::size_t i = 0; i < cost.own_ns.size(); ++i)
      cost.own_ns[i] = std::min(cost.own_ns[i], cost.together_ns[i / members]);
    for (std::size_t i = 0; i < cost.far_ns.size(); ++i)
      cost.far_ns[i] = std::min(cost.far_ns[i], cost.together_ns[i / members] - along);
  }

  // A ring from a root or to it is a chain: its ranks end one after another, and a message does not
  // become smaller with more ranks.
  static bool is_chain(const Operation& operation) {
    return operation.function == model::NcclFunction::kBroadcast ||
           operation.function == model::NcclFunction::kReduce;
  }

  static bool is_ring(const model::Job& job) {
    bool ring = true;
    for (const model::JobGpu& gpu : job.gpus) {
      for (const Operation& operation : gpu.operations)
        ring = ring && operation.algorithm == NcclAlgorithm::kRing && !is_chain(operation);
    }
    return ring;
  }

  core::Result<model::Job> job_at(std::uint32_t replicas) {
    if (kind_.grows.empty() || replicas == 1) return kind_.job;
    model::Job job =
        ASSAY_TRY(scale(kind_.job, {.replicas = replicas, .communicator = kind_.grows}));
    const auto choices = choose_algorithms(kind_.job, file_.choices, job);
    if (replicas == file_.scale.replicas) {
      made_.choices.insert(made_.choices.end(), choices.begin(), choices.end());
    }
    return job;
  }

  // A shorter ring with the algorithms of the whole job, and with messages of the same size.
  core::Result<model::Job> shorter(const model::Job& whole,
                                   const Sizes& sizes,
                                   std::uint32_t replicas) {
    if (replicas == sizes.wanted) return whole;
    model::Job job = ASSAY_TRY(job_at(replicas));
    for (std::size_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
      const auto& like = whole.gpus[gpu].operations;
      auto& operations = job.gpus[gpu].operations;
      for (std::size_t i = 0; i < operations.size(); ++i) {
        Operation& operation = operations[i];
        const std::int32_t peer = operation.peer;
        const std::uint32_t communicator = operation.communicator;
        operation = like[i];
        operation.peer = peer;
        operation.communicator = communicator;
        const bool whole_buffer = operation.function != model::NcclFunction::kAllGather &&
                                  operation.function != model::NcclFunction::kReduceScatter;
        if (!whole_buffer) continue;
        const std::uint64_t elements = operation.bytes / operation.element_bytes;
        operation.bytes = std::max<std::uint64_t>(elements * replicas / sizes.wanted, 1) *
                          operation.element_bytes;
      }
    }
    return job;
  }

  // Simulates the group with one GPU starting late.
  core::Result<SimulatedRanks> simulated(model::Job job,
                                         std::optional<std::uint32_t> late_gpu,
                                         std::int64_t late_ns) {
    for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
      job.gpus[gpu].clock = 0;
      const std::int64_t start = gpu == late_gpu ? late_ns : 0;
      for (Operation& operation : job.gpus[gpu].operations)
        operation.start_ns = operation.end_ns = start;
    }
    ++made_.simulations;
    const Resolved resolved = ASSAY_TRY(resolve(job, Misfits::kLeaveOut));
    model::Warnings unused;
    const LaunchSource source(resolved, file_.costs, {}, unused);
    return simulate_(source);
  }

  core::Result<std::vector<std::int64_t>> ends(const model::Job& job,
                                               std::optional<std::uint32_t> late_gpu,
                                               std::int64_t late_ns) {
    return ASSAY_TRY(simulated(job, late_gpu, late_ns)).finish_ns;
  }

  // All members start together: of each, the mean over replicas, and its ends in each.
  struct Together {
    std::vector<std::int64_t> end_ns;
    std::vector<std::int64_t> each_ns;
    std::vector<std::array<model::NicUse, model::kNics>> sending;
  };

  core::Result<Together> together(const model::Job& job, std::uint32_t replicas) {
    const SimulatedRanks all = ASSAY_TRY(simulated(job, std::nullopt, 0));
    const std::size_t cell = kind_.job.gpus.size();
    Together mean;
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      for (const std::uint32_t gpu : kind_.members)
        mean.each_ns.push_back(all.finish_ns[replica * cell + gpu]);
    }
    for (const std::uint32_t gpu : kind_.members) {
      double end = 0;
      std::array<model::NicUse, model::kNics> sending{};
      for (std::size_t rank = gpu; rank < replicas * cell; rank += cell) {
        const auto end_ns = static_cast<double>(all.finish_ns[rank]);
        end += end_ns;
        for (std::size_t nic = 0; nic < model::kNics; ++nic) {
          const model::NicUse use = use_of(all.nic_work[rank][nic], end_ns);
          sending[nic].share += use.share / replicas;
          sending[nic].turn_ns += use.turn_ns / replicas;
        }
      }
      mean.end_ns.push_back(std::llround(end / replicas));
      mean.sending.push_back(sending);
    }
    return mean;
  }

  // A NIC may send the rank's last message beyond the rank's end, for which nobody waits when the
  // group is alone: until then it cannot send for more than all of the time.
  static model::NicUse use_of(const model::NicWork& work, double end_ns) {
    if (work.messages == 0 || end_ns <= 0) return {};
    return {.share = std::min(1.0, static_cast<double>(work.sending_ns) / end_ns),
            .turn_ns = end_ns * work.most_at_once / static_cast<double>(work.messages)};
  }

  // Ranks of a ring are alike, those of a tree or chain end one after another from its root on.
  static void set_together(Together together, bool is_ring, GroupCost& cost) {
    if (!is_ring) cost.each_ns = std::move(together.each_ns);
    cost.together_ns = std::move(together.end_ns);
    cost.sending = std::move(together.sending);
  }

  static std::vector<std::int64_t> all_wait(const std::vector<std::int64_t>& together_ns) {
    std::vector<std::int64_t> matrix;
    for (const std::int64_t ns : together_ns)
      matrix.insert(matrix.end(), together_ns.size(), ns);
    return matrix;
  }

  // Late enough that all which waits for the late rank ends after its start, and nothing else.
  core::Result<std::int64_t> lateness(const model::Job& job) {
    const auto all = ASSAY_TRY(ends(job, std::nullopt, 0));
    return 2 * *std::max_element(all.begin(), all.end()) + 1;
  }

  core::Result<std::vector<std::int64_t>> matrix(const model::Job& job) {
    const std::size_t members = kind_.members.size();
    const std::int64_t late_ns = ASSAY_TRY(lateness(job));
    std::vector<std::int64_t> after(members * members);
    for (std::size_t j = 0; j < members; ++j) {
      const auto all = ASSAY_TRY(ends(job, kind_.members[j], late_ns));
      for (std::size_t i = 0; i < members; ++i)
        after[i * members + j] = after_start(all[kind_.members[i]], late_ns);
    }
    return after;
  }

  static std::int64_t after_start(std::int64_t end_ns, std::int64_t late_ns) {
    return end_ns > late_ns ? end_ns - late_ns : model::kNotAfter;
  }

  // The ends of a ring of one size after a late member of replica 0: in its own replica, in the
  // next one, and in the one before.
  struct RingTimes {
    Together together;
    std::vector<std::int64_t> own;
    std::vector<std::int64_t> next;
    std::vector<std::int64_t> last;
  };

  core::Result<RingTimes> ring_times(const model::Job& job, std::uint32_t replicas) {
    const std::size_t members = kind_.members.size();
    const std::size_t cell = kind_.job.gpus.size();
    RingTimes times;
    times.together = ASSAY_TRY(together(job, replicas));
    times.own.resize(members * members);
    times.next = times.last = times.own;
    const std::int64_t late_ns = ASSAY_TRY(lateness(job));
    for (std::size_t j = 0; j < members; ++j) {
      const auto all = ASSAY_TRY(ends(job, kind_.members[j], late_ns));
      for (std::size_t i = 0; i < members; ++i) {
        const auto end_in = [&](std::size_t replica) {
          return after_start(all[replica * cell + kind_.members[i]], late_ns);
        };
        times.own[i * members + j] = end_in(0);
        times.next[i * members + j] = end_in(1);
        times.last[i * members + j] = end_in(replicas - 1);
      }
    }
    return times;
  }

  core::Result<GroupCost> ring_cost(GroupCost cost, const model::Job& whole, const Sizes& sizes) {
    const RingTimes second =
        ASSAY_TRY(ring_times(ASSAY_TRY(shorter(whole, sizes, sizes.second)), sizes.second));
    const bool all_there = sizes.second == sizes.wanted;
    const RingTimes first =
        all_there
            ? second
            : ASSAY_TRY(ring_times(ASSAY_TRY(shorter(whole, sizes, sizes.first)), sizes.first));
    const double more = all_there ? 0
                                  : static_cast<double>(sizes.wanted - sizes.second) /
                                        static_cast<double>(sizes.second - sizes.first);
    const auto grown = [&](std::int64_t a, std::int64_t b) -> std::int64_t {
      if (a == model::kNotAfter || b == model::kNotAfter) return b;
      return b + std::llround(static_cast<double>(b - a) * more);
    };
    double slope = 0;
    set_together(second.together, is_ring(whole), cost);
    for (std::size_t i = 0; i < cost.together_ns.size(); ++i)
      cost.together_ns[i] = grown(first.together.end_ns[i], second.together.end_ns[i]);
    for (std::size_t i = 0; i < second.own.size(); ++i) {
      cost.own_ns.push_back(grown(first.own[i], second.own[i]));
      if (sizes.second > 2) {
        slope += static_cast<double>(second.last[i] - second.next[i]) / (sizes.second - 2);
      }
    }
    cost.slope_ns = slope / static_cast<double>(second.own.size());
    for (std::size_t i = 0; i < second.next.size(); ++i) {
      cost.far_ns.push_back(grown(first.next[i], second.next[i]) - std::llround(cost.slope_ns));
    }
    return cost;
  }

  const JobFile& file_;
  const GroupKind& kind_;
  const SimulateLaunches& simulate_;
  GroupJob& made_;
};

class GroupMaker {
 public:
  GroupMaker(const JobFile& file, const SimulateLaunches& simulate)
      : file_(file), simulate_(simulate) {}

  core::Result<GroupJob> run() {
    grows_.assign(file_.job.communicators.size(), false);
    if (file_.scale.replicas > 1) {
      grows_ = ASSAY_TRY(growing_communicators(file_.job, file_.scale.communicator));
    }
    const Resolved resolved = ASSAY_TRY(resolve(file_.job, Misfits::kLeaveOut));
    made_.warnings = resolved.warnings;
    const StreamPlan streams = plan_streams(resolved, file_.streams, made_.warnings);
    const LaunchSource source(resolved, file_.costs, streams, made_.warnings);
    model::GroupSchedule& schedule = made_.schedule;
    schedule.replicas = file_.scale.replicas;
    for (std::uint32_t gpu = 0; gpu < source.num_ranks(); ++gpu) {
      schedule.cell.push_back(source.rank(gpu));
      schedule.places.emplace_back(source.rank(gpu).launches.size());
    }
    for (const std::vector<LaunchId>& launches : launch_groups(resolved)) {
      const LaunchId& one = launches.front();
      if (resolved.gpus[one.gpu].launches[one.launch].num_calls == 0) continue;
      ASSAY_TRY(add_group(resolved, source, launches));
    }
    return std::move(made_);
  }

 private:
  core::Status add_group(const Resolved& resolved,
                         const LaunchSource& source,
                         const std::vector<LaunchId>& launches) {
    model::GroupSchedule& schedule = made_.schedule;
    const auto number = static_cast<std::uint32_t>(schedule.groups.size());
    model::LaunchGroup group;
    for (const LaunchId& id : launches) {
      const std::uint32_t first_call = resolved.gpus[id.gpu].launches[id.launch].first_call;
      const std::uint32_t launch = source.launch_of(id.gpu, first_call);
      schedule.places[id.gpu][launch] = {
          number, static_cast<std::uint32_t>(group.members.size()),
          launch_ns(resolved, id.gpu, resolved.gpus[id.gpu].launches[id.launch], file_.costs)};
      group.members.push_back({id.gpu, launch});
    }
    const std::string grows = ASSAY_TRY(growing_in(resolved, launches));
    group.all_replicas = !grows.empty();
    const auto next = static_cast<std::uint32_t>(schedule.costs.size());
    const auto [found, is_new] = known_.emplace(signature(resolved, launches), next);
    group.cost = found->second;
    schedule.groups.push_back(std::move(group));
    if (!is_new) return {};
    GroupKind kind{.job = job_of(resolved, launches), .members = {}, .grows = grows};
    for (const LaunchId& id : launches)
      kind.members.push_back(id.gpu);
    schedule.costs.push_back(ASSAY_TRY(Learner(file_, kind, simulate_, made_).run()));
    return {};
  }

  // Returns the name of the communicator that grows; none for a group in each replica.
  core::Result<std::string> growing_in(const Resolved& resolved,
                                       const std::vector<LaunchId>& launches) const {
    std::optional<std::uint32_t> grows;
    for (const LaunchId& id : launches) {
      const GpuCalls& calls = resolved.gpus[id.gpu];
      const Launch& launch = calls.launches[id.launch];
      for (std::uint32_t i = 0; i < launch.num_calls; ++i) {
        const Call& call = calls.calls[launch.first_call + i];
        const Operation& operation = resolved.job->gpus[id.gpu].operations[call.operation];
        if (!grows_[operation.communicator] || is_point_to_point(operation.function)) continue;
        if (grows && *grows != operation.communicator) {
          return core::Error{
              "operations of two communicators that grow are in one group: --collectives exact"};
        }
        grows = operation.communicator;
      }
    }
    return grows ? resolved.job->communicators[*grows].name : std::string();
  }

  const JobFile& file_;
  const SimulateLaunches& simulate_;
  std::vector<bool> grows_;  // by communicator
  std::map<std::vector<std::uint64_t>, std::uint32_t> known_;
  GroupJob made_;
};

}  // namespace

core::Result<GroupJob> make_group_job(const JobFile& file, const SimulateLaunches& simulate) {
  return GroupMaker(file, simulate).run();
}

}  // namespace assay::goal
