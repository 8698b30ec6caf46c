// NVLS Tree: the NVSwitch of a node sums and spreads for the heads (switch.h), and the heads of a
// rail are a tree over the nodes, in which sums go up and come down again.
#include <string>

#include "goal/lowering/switch.h"

namespace assay::goal {
namespace {

class NvlsTree {
 public:
  NvlsTree(const ChannelTask& task, Primitives& primitives)
      : place_(task),
        parts_{task.count, task.chunk_count, static_cast<std::uint64_t>(place_.num_heads()),
               std::max<std::uint64_t>(16 / task.element_bytes, 1)},
        primitives_(primitives) {
    // Even channels take the first tree of each pair, odd ones the second.
    const BinaryTree tree = task.channel % 2 == 0 ? BinaryTree::kFirst : BinaryTree::kSecond;
    if (!place_.is_head()) return;
    const TreePlace in_tree = binary_tree_of(place_.node(), place_.num_nodes(), tree);
    up_ = place_.on_rail(in_tree.up);
    for (std::size_t i = 0; i < down_.size(); ++i)
      down_.at(i) = place_.on_rail(in_tree.down.at(i));
  }

  void run() {
    for (std::uint64_t loop = 0; loop < parts_.loops(); ++loop) {
      to_heads(loop);
      if (place_.is_head()) through_tree(loop);
      from_heads(loop);
    }
  }

 private:
  std::uint64_t message(std::uint64_t loop, std::int32_t head) const {
    return switched_all_reduce(parts_.part(loop, head), place_.node_size());
  }

  void to_heads(std::uint64_t loop) {
    primitives_.lane(kScatterLane);
    place_.for_heads(
        [&](std::int32_t head) { return message(loop, head); },
        [&](Peers peers, std::uint64_t count) { primitives_.add({}, peers, Work::kCopy, count); });
  }

  void through_tree(std::uint64_t loop) {
    const std::uint64_t part = parts_.part(loop, place_.place());
    const std::uint64_t switched = message(loop, place_.place());
    const Peers down = down_;
    const Peers up(&up_, 1);
    primitives_.lane(kHeadLane);
    place_.receive_from_others(switched, Work::kReduce, primitives_);
    if (up_ < 0) {
      const bool alone = std::all_of(down.begin(), down.end(), [](auto rank) { return rank < 0; });
      if (!alone) primitives_.add(down, down, Work::kReduceCopy, part);
      place_.send_to_others(switched, primitives_);
      return;
    }
    primitives_.add(down, up, Work::kReduce, part);
    primitives_.lane(kSpreadLane);
    primitives_.add(up, down, Work::kCopy, part);
    place_.send_to_others(switched, primitives_);
  }

  void from_heads(std::uint64_t loop) {
    primitives_.lane(kGatherLane);
    place_.for_heads(
        [&](std::int32_t head) { return message(loop, head); },
        [&](Peers peers, std::uint64_t count) { primitives_.add(peers, {}, Work::kCopy, count); });
  }

  const SwitchPlace place_;
  const HeadParts parts_;
  std::int32_t up_ = -1;
  std::array<std::int32_t, 2> down_ = {-1, -1};
  Primitives& primitives_;
};

void lower_nvls_tree(const ChannelTask& task, Primitives& primitives) {
  NvlsTree(task, primitives).run();
}

const LoweringSpec kNvlsTree{.name = "nvls_tree_all_reduce",
                             .function = model::NcclFunction::kAllReduce,
                             .algorithm = model::NcclAlgorithm::kNvlsTree,
                             .lower = lower_nvls_tree};
ASSAY_REGISTER(LoweringSpec, kNvlsTree);

}  // namespace
}  // namespace assay::goal
