// PyTorch's names of NCCL's collectives and of element types.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "model/nccl.h"

namespace assay::goal {

inline constexpr std::array<std::pair<std::string_view, model::NcclFunction>, 21>
    kTorchCollectives = {{
        {"allreduce", model::NcclFunction::kAllReduce},
        {"allreduce_coalesced", model::NcclFunction::kAllReduce},
        {"barrier", model::NcclFunction::kAllReduce},
        {"broadcast", model::NcclFunction::kBroadcast},
        {"_broadcast_oop", model::NcclFunction::kBroadcast},
        {"reduce", model::NcclFunction::kReduce},
        {"_reduce_oop", model::NcclFunction::kReduce},
        {"allgather", model::NcclFunction::kAllGather},
        {"all_gather", model::NcclFunction::kAllGather},
        {"_allgather_base", model::NcclFunction::kAllGather},
        {"allgather_into_tensor_coalesced", model::NcclFunction::kAllGather},
        {"reduce_scatter", model::NcclFunction::kReduceScatter},
        {"_reduce_scatter_base", model::NcclFunction::kReduceScatter},
        {"reduce_scatter_tensor_coalesced", model::NcclFunction::kReduceScatter},
        {"all_to_all", model::NcclFunction::kAllToAll},
        {"all_to_allv", model::NcclFunction::kAllToAll},
        {"alltoall", model::NcclFunction::kAllToAll},
        {"alltoall_base", model::NcclFunction::kAllToAll},
        {"send", model::NcclFunction::kSend},
        {"recv", model::NcclFunction::kRecv},
        {"recvAnySource", model::NcclFunction::kRecv},
    }};

inline constexpr std::array<std::pair<std::string_view, std::uint32_t>, 15> kTorchTypes = {{
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

// Returns the function behind the "Collective name" of a record_param_comms event: AllGather for
// "_allgather_base", std::nullopt for "wait" and other records that move no data.
inline std::optional<model::NcclFunction> torch_collective(std::string_view name) {
  for (const auto& [known, function] : kTorchCollectives) {
    if (known == name) return function;
  }
  return std::nullopt;
}

// Returns the bytes of an element: 2 for "BFloat16", 0 if the type is unknown.
inline std::uint32_t torch_element_bytes(std::string_view type) {
  for (const auto& [known, bytes] : kTorchTypes) {
    if (known == type) return bytes;
  }
  return 0;
}

}  // namespace assay::goal
