// Collective operations: NCCL's functions, algorithms and protocols, their spellings in NCCL,
// PyTorch and the performance tables, and the bus factors of nccl-tests.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace assay::model {

// Numbered as in NCCL's ncclFunc_t.
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
  kNone,  // send and receive have no algorithm, and some recordings do not name it
};

enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple, kNone };

// The spellings of NCCL's logs and profiler events: "AllReduce", "RING" and "SIMPLE". The readers
// ignore case and return std::nullopt for an unknown name.
std::string_view name_of(NcclFunction function);
std::string_view name_of(NcclAlgorithm algorithm);
std::string_view name_of(NcclProtocol protocol);
std::optional<NcclFunction> nccl_function(std::string_view name);
std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name);
std::optional<NcclProtocol> nccl_protocol(std::string_view name);

// The spellings of performance tables, which follow the programs of nccl-tests: "all_reduce",
// "alltoall".
std::string_view table_name_of(NcclFunction function);
std::optional<NcclFunction> nccl_function_of_table(std::string_view name);

// The function behind a "Collective name" of a PyTorch profile: "_allgather_base" runs AllGather.
struct TorchCollective {
  NcclFunction function = NcclFunction::kAllReduce;
  bool may_be_uneven = false;  // ranks may send parts of different sizes
};

// Returns std::nullopt for records that move no data, such as "wait" and "barrier".
std::optional<TorchCollective> torch_collective(std::string_view name);

// Return the bytes per element for NCCL's ncclDataType_t ("ncclFloat32" or its number 7) and for
// PyTorch's scalar type ("BFloat16"); 0 if unknown.
std::uint32_t nccl_element_bytes(std::string_view type_name);
std::uint32_t nccl_element_bytes(int type_number);
std::uint32_t torch_element_bytes(std::string_view type_name);

constexpr bool is_point_to_point(NcclFunction function) {
  return function == NcclFunction::kSend || function == NcclFunction::kRecv;
}

// Returns bus bandwidth divided by algorithm bandwidth, as in nccl-tests' doc/PERFORMANCE.md.
// Algorithm bandwidth is the message size divided by the time, where the size is that of a rank's
// largest buffer: the output of an all-gather or a gather, the input of a reduce-scatter, a scatter
// or an all-to-all, and the buffer of the others. NaN when the number of ranks is unknown (0 or
// less).
constexpr double bus_factor(NcclFunction function, int ranks) {
  if (ranks <= 0) return std::numeric_limits<double>::quiet_NaN();
  const double share_of_others = static_cast<double>(ranks - 1) / ranks;
  switch (function) {
    case NcclFunction::kAllReduce:
      return 2 * share_of_others;
    case NcclFunction::kAllGather:
    case NcclFunction::kReduceScatter:
    case NcclFunction::kAllToAll:
    case NcclFunction::kScatter:
    case NcclFunction::kGather:
      return share_of_others;
    case NcclFunction::kBroadcast:
    case NcclFunction::kReduce:
    case NcclFunction::kSendRecv:
    case NcclFunction::kSend:
    case NcclFunction::kRecv:
      break;
  }
  return 1;
}

}  // namespace assay::model
