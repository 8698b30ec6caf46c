// What PyTorch calls the collectives of NCCL and the types of their elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/nccl.h"

namespace assay::goal {

// The function behind "Collective name" of a record_param_comms event: "_allgather_base" is
// AllGather; nothing for "wait" and other records that move no data.
std::optional<model::NcclFunction> torch_collective(std::string_view name);

// Bytes of an element: "BFloat16" has 2; 0 if unknown.
std::uint32_t torch_element_bytes(std::string_view type);

}  // namespace assay::goal
