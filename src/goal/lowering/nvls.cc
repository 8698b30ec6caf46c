// NVLS: the NVSwitch sums and spreads (switch.h). AllReduce: every rank scatters to the heads, each
// head reduces its part and spreads it, every rank gathers. Over several nodes, which needs a
// network that reduces, the heads exchange their parts between the two. AllGather only spreads, and
// ReduceScatter only reduces, the parts that belong to the ranks.
#include "goal/lowering/switch.h"

namespace assay::goal {
namespace {

void lower_nvls_all_reduce(const ChannelTask& task, Primitives& primitives) {
  // On one node NCCL makes the chunks of the last loop multiples of 16 KiB.
  constexpr std::uint64_t kGrainBytes = 16384;
  const bool one_node = task.nodes->ranks.size() == 1;
  const std::uint64_t grain = std::max<std::uint64_t>(kGrainBytes / task.element_bytes, 1);
  all_reduce_through_heads(task, one_node ? grain : 0, switched_all_reduce, primitives);
}

void lower_nvls_all_gather(const ChannelTask& task, Primitives& primitives) {
  all_gather_through_heads(task, switched_one_way, primitives);
}

void lower_nvls_reduce_scatter(const ChannelTask& task, Primitives& primitives) {
  reduce_scatter_through_heads(task, switched_one_way, primitives);
}

const LoweringSpec kNvlsAllReduce{.name = "nvls_all_reduce",
                                  .function = model::NcclFunction::kAllReduce,
                                  .algorithm = model::NcclAlgorithm::kNvls,
                                  .lower = lower_nvls_all_reduce};
ASSAY_REGISTER(LoweringSpec, kNvlsAllReduce);

const LoweringSpec kNvlsAllGather{.name = "nvls_all_gather",
                                  .function = model::NcclFunction::kAllGather,
                                  .algorithm = model::NcclAlgorithm::kNvls,
                                  .lower = lower_nvls_all_gather};
ASSAY_REGISTER(LoweringSpec, kNvlsAllGather);

const LoweringSpec kNvlsReduceScatter{.name = "nvls_reduce_scatter",
                                      .function = model::NcclFunction::kReduceScatter,
                                      .algorithm = model::NcclAlgorithm::kNvls,
                                      .lower = lower_nvls_reduce_scatter};
ASSAY_REGISTER(LoweringSpec, kNvlsReduceScatter);

}  // namespace
}  // namespace assay::goal
