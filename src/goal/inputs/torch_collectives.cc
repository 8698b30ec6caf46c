#include "goal/inputs/torch_collectives.h"

#include <array>
#include <utility>

namespace assay::goal {
namespace {

using model::NcclFunction;

constexpr std::array<std::pair<std::string_view, NcclFunction>, 21> kCollectives = {{
    {"allreduce", NcclFunction::kAllReduce},
    {"allreduce_coalesced", NcclFunction::kAllReduce},
    {"barrier", NcclFunction::kAllReduce},
    {"broadcast", NcclFunction::kBroadcast},
    {"_broadcast_oop", NcclFunction::kBroadcast},
    {"reduce", NcclFunction::kReduce},
    {"_reduce_oop", NcclFunction::kReduce},
    {"allgather", NcclFunction::kAllGather},
    {"all_gather", NcclFunction::kAllGather},
    {"_allgather_base", NcclFunction::kAllGather},
    {"allgather_into_tensor_coalesced", NcclFunction::kAllGather},
    {"reduce_scatter", NcclFunction::kReduceScatter},
    {"_reduce_scatter_base", NcclFunction::kReduceScatter},
    {"reduce_scatter_tensor_coalesced", NcclFunction::kReduceScatter},
    {"all_to_all", NcclFunction::kAllToAll},
    {"all_to_allv", NcclFunction::kAllToAll},
    {"alltoall", NcclFunction::kAllToAll},
    {"alltoall_base", NcclFunction::kAllToAll},
    {"send", NcclFunction::kSend},
    {"recv", NcclFunction::kRecv},
    {"recvAnySource", NcclFunction::kRecv},
}};

constexpr std::array<std::pair<std::string_view, std::uint32_t>, 15> kTypes = {{
    {"Byte", 1},
    {"Char", 1},
    {"Bool", 1},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2", 1},
    {"Float8_e4m3fnuz", 1},
    {"Float8_e5m2fnuz", 1},
    {"Short", 2},
    {"Half", 2},
    {"BFloat16", 2},
    {"Int", 4},
    {"Float", 4},
    {"Long", 8},
    {"Double", 8},
    {"ComplexFloat", 8},
}};

}  // namespace

std::optional<NcclFunction> torch_collective(std::string_view name) {
  for (const auto& [known, function] : kCollectives) {
    if (known == name) return function;
  }
  return std::nullopt;
}

std::uint32_t torch_element_bytes(std::string_view type) {
  for (const auto& [known, bytes] : kTypes) {
    if (known == type) return bytes;
  }
  return 0;
}

}  // namespace assay::goal
