#include "goal/lowering/pat.h"

#include "core/check.h"

namespace assay::goal {
namespace {

constexpr std::uint64_t kBuffers = 8;  // NCCL_STEPS

// Appends the trees below the ranks at distance `first` + i * `stride`, far ones first, each
// followed by everything below it.
void add_trees(std::uint64_t first,
               std::uint64_t stride,
               std::uint64_t num_ranks,
               std::vector<PatStep>& steps) {
  const std::uint64_t lowest_bit = first == 0 ? stride : first & (~first + 1);
  for (std::uint64_t bit = lowest_bit / 2; bit > 0; bit /= 2) {
    const std::uint64_t rank = first + bit;
    if (rank >= num_ranks) continue;
    const std::uint64_t parts = (num_ranks - rank + stride - 1) / stride;
    steps.push_back({static_cast<std::int32_t>(bit), parts});
    add_trees(rank, stride, num_ranks, steps);
  }
}

}  // namespace

PatPlan plan_pat(const ChannelTask& task) {
  const auto num_ranks = static_cast<std::uint64_t>(task.num_ranks);
  std::uint64_t stride = 1;  // the distance between trees whose parts travel together
  while (stride < num_ranks)
    stride *= 2;
  PatPlan plan;
  std::uint64_t trees = 1;
  const auto may_join = [&] { return trees < num_ranks / 2; };
  const auto join = [&] {
    trees *= 2;
    stride /= 2;
  };
  while (may_join() && 2 * trees * task.count <= task.chunk_count)
    join();
  plan.message_parts = trees;
  for (std::uint64_t buffers = kBuffers; buffers > 1 && may_join(); buffers /= 2)
    join();
  // The roots of the trees that go together come first, …
  for (std::uint64_t distance = trees / 2 * stride; distance >= stride; distance /= 2) {
    ASSAY_CHECK(distance > 0, "PAT joins at most half of the trees");
    const std::uint64_t parts = (num_ranks + distance - 1) / (2 * distance);
    plan.steps.push_back({static_cast<std::int32_t>(distance), parts});
  }
  // … followed by what is below them.
  add_trees(0, stride, num_ranks, plan.steps);
  return plan;
}

namespace {

void lower_pat_all_gather(const ChannelTask& task, Primitives& primitives) {
  const std::int32_t n = task.num_ranks;
  const PatPlan plan = plan_pat(task);
  for_each_chunk(task, [&](std::uint64_t count) {
    for (const PatStep& step : plan.steps) {
      const std::int32_t to = (task.rank + n - step.distance) % n;
      const std::int32_t from = (task.rank + step.distance) % n;
      for_each_message(plan, step,
                       [&](std::uint64_t parts) { primitives.send(to, parts * count); });
      for_each_message(plan, step,
                       [&](std::uint64_t parts) { primitives.recv(from, parts * count); });
    }
  });
}

const LoweringSpec kPatAllGather{.name = "pat_all_gather",
                                 .function = model::NcclFunction::kAllGather,
                                 .algorithm = model::NcclAlgorithm::kPat,
                                 .lower = lower_pat_all_gather};
ASSAY_REGISTER(LoweringSpec, kPatAllGather);

// AllGather backwards, with sums.
void lower_pat_reduce_scatter(const ChannelTask& task, Primitives& primitives) {
  const std::int32_t n = task.num_ranks;
  PatPlan plan = plan_pat(task);
  std::reverse(plan.steps.begin(), plan.steps.end());
  for_each_chunk(task, [&](std::uint64_t count) {
    for (const PatStep& step : plan.steps) {
      const std::int32_t to = (task.rank + step.distance) % n;
      const std::int32_t from = (task.rank + n - step.distance) % n;
      for_each_message(plan, step,
                       [&](std::uint64_t parts) { primitives.send(to, parts * count); });
      for_each_message(plan, step, [&](std::uint64_t parts) {
        primitives.recv_reduce_copy(from, parts * count);
      });
    }
  });
}

const LoweringSpec kPatReduceScatter{.name = "pat_reduce_scatter",
                                     .function = model::NcclFunction::kReduceScatter,
                                     .algorithm = model::NcclAlgorithm::kPat,
                                     .lower = lower_pat_reduce_scatter};
ASSAY_REGISTER(LoweringSpec, kPatReduceScatter);

}  // namespace

}  // namespace assay::goal
