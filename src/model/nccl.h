// NCCL's own vocabulary: functions, algorithms and protocols, numbered as NCCL numbers them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::model {

enum class NcclFunction : std::uint8_t {
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kSendRecv,
  kSend,
  kRecv,
  kAllToAll,
  kScatter,
  kGather,
};

enum class NcclAlgorithm : std::uint8_t {
  kTree,
  kRing,
  kCollnetDirect,
  kCollnetChain,
  kNvls,
  kNvlsTree,
  kPat,
  kNone,  // send and receive have none; a recording that does not say
};

enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple, kNone };

// "AllReduce", "RING", "SIMPLE": the names of NCCL's logs and profiler events. The second group
// reads them without regard to case; nothing for an unknown name.
std::string_view name_of(NcclFunction function);
std::string_view name_of(NcclAlgorithm algorithm);
std::string_view name_of(NcclProtocol protocol);
std::optional<NcclFunction> nccl_function(std::string_view name);
std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name);
std::optional<NcclProtocol> nccl_protocol(std::string_view name);

// Bytes of an element by NCCL's ncclDataType_t ("ncclFloat32" or its number 7); 0 if unknown.
std::uint32_t nccl_element_bytes(std::string_view type_name);
std::uint32_t nccl_element_bytes(int type_number);

inline bool is_point_to_point(NcclFunction function) {
  return function == NcclFunction::kSend || function == NcclFunction::kRecv;
}

}  // namespace assay::model
