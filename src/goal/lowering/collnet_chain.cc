// CollNet Chain: sums go up a chain through the ranks of a node to its head, the network sums over
// the nodes (switch.h), and the result comes down the chain.
#include "goal/lowering/switch.h"

namespace assay::goal {
namespace {

class CollnetChain {
 public:
  CollnetChain(const ChannelTask& task, Primitives& primitives)
      : task_(task), place_(task), rounds_(place_), primitives_(primitives) {
    const std::int32_t place = place_.place();
    if (place > 0) up_ = place_.local(place - 1);
    if (place + 1 < place_.node_size()) down_ = place_.local(place + 1);
  }

  void run() {
    if (up_ < 0) return through_network();
    for_each_chunk(task_, [&](std::uint64_t count) {
      primitives_.lane(kScatterLane);
      primitives_.add({&down_, 1}, {&up_, 1}, down_ < 0 ? Work::kCopy : Work::kReduce, count);
      primitives_.lane(kGatherLane);
      primitives_.add({&up_, 1}, {&down_, 1}, Work::kCopy, count);
    });
  }

 private:
  void through_network() {
    const std::uint64_t loops = (task_.count + task_.chunk_count - 1) / task_.chunk_count;
    primitives_.lane(kHeadLane);
    for_each_stage(loops, rounds_.number() + 1, [&](std::uint64_t loop, int stage) {
      const std::uint64_t offset = loop * task_.chunk_count;
      const std::uint64_t count = std::min(task_.chunk_count, task_.count - offset);
      if (stage == 0 && down_ >= 0) primitives_.recv_reduce_copy(down_, count);
      rounds_.stage(stage, count, Work::kReduce, primitives_);
      if (stage == rounds_.number() && down_ >= 0) primitives_.send(down_, count);
    });
  }

  const ChannelTask& task_;
  const SwitchPlace place_;
  const Rounds rounds_;
  std::int32_t up_ = -1;
  std::int32_t down_ = -1;
  Primitives& primitives_;
};

void lower_collnet_chain(const ChannelTask& task, Primitives& primitives) {
  CollnetChain(task, primitives).run();
}

const LoweringSpec kCollnetChain{.name = "collnet_chain_all_reduce",
                                 .function = model::NcclFunction::kAllReduce,
                                 .algorithm = model::NcclAlgorithm::kCollnetChain,
                                 .lower = lower_collnet_chain};
ASSAY_REGISTER(LoweringSpec, kCollnetChain);

}  // namespace
}  // namespace assay::goal
