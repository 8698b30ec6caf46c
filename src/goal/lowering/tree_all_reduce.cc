// Tree AllReduce: sums go up the tree and come down again. NCCL gives half of the threads to each
// direction, so that the chunks that a rank sends up do not wait for those that come down. The root
// does both in one step.
#include "goal/lowering.h"

namespace assay::goal {
namespace {

constexpr std::uint8_t kUp = 0;
constexpr std::uint8_t kDown = 1;

void lower_tree_all_reduce(const ChannelTask& task, Primitives& primitives) {
  const Peers down = task.tree_down;
  const Peers up(&task.tree_up, 1);
  const bool is_leaf = std::all_of(down.begin(), down.end(), [](auto rank) { return rank < 0; });
  if (task.tree_up < 0) {
    for_each_chunk(
        task, [&](std::uint64_t count) { primitives.add(down, down, Work::kReduceCopy, count); });
    return;
  }
  primitives.lane(kUp, true);
  for_each_chunk(task, [&](std::uint64_t count) {
    primitives.add(down, up, is_leaf ? Work::kCopy : Work::kReduce, count);
  });
  primitives.lane(kDown, true);
  for_each_chunk(task, [&](std::uint64_t count) { primitives.add(up, down, Work::kCopy, count); });
}

const LoweringSpec kTreeAllReduce{.name = "tree_all_reduce",
                                  .function = model::NcclFunction::kAllReduce,
                                  .algorithm = model::NcclAlgorithm::kTree,
                                  .lower = lower_tree_all_reduce};
ASSAY_REGISTER(LoweringSpec, kTreeAllReduce);

}  // namespace
}  // namespace assay::goal
