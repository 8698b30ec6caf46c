// CollNet Direct: every rank sends each head of its node that head's part, the head sums them, the
// network sums over the nodes (switch.h), and the head sends the result to each rank of its node.
#include "goal/lowering/switch.h"

namespace assay::goal {
namespace {

void lower_collnet_direct_all_reduce(const ChannelTask& task, Primitives& primitives) {
  all_reduce_through_heads(task, 0, whole_part, primitives);
}

void lower_collnet_direct_all_gather(const ChannelTask& task, Primitives& primitives) {
  all_gather_through_heads(task, whole_part, primitives);
}

void lower_collnet_direct_reduce_scatter(const ChannelTask& task, Primitives& primitives) {
  reduce_scatter_through_heads(task, whole_part, primitives);
}

const LoweringSpec kCollnetDirectAllReduce{.name = "collnet_direct_all_reduce",
                                           .function = model::NcclFunction::kAllReduce,
                                           .algorithm = model::NcclAlgorithm::kCollnetDirect,
                                           .lower = lower_collnet_direct_all_reduce};
ASSAY_REGISTER(LoweringSpec, kCollnetDirectAllReduce);

const LoweringSpec kCollnetDirectAllGather{.name = "collnet_direct_all_gather",
                                           .function = model::NcclFunction::kAllGather,
                                           .algorithm = model::NcclAlgorithm::kCollnetDirect,
                                           .lower = lower_collnet_direct_all_gather};
ASSAY_REGISTER(LoweringSpec, kCollnetDirectAllGather);

const LoweringSpec kCollnetDirectReduceScatter{.name = "collnet_direct_reduce_scatter",
                                               .function = model::NcclFunction::kReduceScatter,
                                               .algorithm = model::NcclAlgorithm::kCollnetDirect,
                                               .lower = lower_collnet_direct_reduce_scatter};
ASSAY_REGISTER(LoweringSpec, kCollnetDirectReduceScatter);

}  // namespace
}  // namespace assay::goal
