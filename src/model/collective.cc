#include "model/collective.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace assay::model {
namespace {

// The names below are in the order of the enumerations.
constexpr std::array<std::string_view, 11> kFunctions = {
    "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv",
    "Send",      "Recv",   "AlltoAll",  "Scatter",       "Gather"};
// The names are in the order of NcclFunction.
constexpr std::array<std::string_view, 11> kTableNames = {
    "broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce", "send_recv",
    "send",      "recv",   "alltoall",   "scatter",        "gather"};
constexpr std::array<std::string_view, 8> kAlgorithms = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT", "NONE"};
constexpr std::array<std::string_view, 4> kProtocols = {"LL", "LL128", "SIMPLE", "NONE"};

// The types are in the order of ncclDataType_t.
constexpr std::array<std::pair<std::string_view, std::uint32_t>, 12> kNcclTypes = {{
    {"ncclInt8", 1},
    {"ncclUint8", 1},
    {"ncclInt32", 4},
    {"ncclUint32", 4},
    {"ncclInt64", 8},
    {"ncclUint64", 8},
    {"ncclFloat16", 2},
    {"ncclFloat32", 4},
    {"ncclFloat64", 8},
    {"ncclBfloat16", 2},
    {"ncclFloat8e4m3", 1},
    {"ncclFloat8e5m2", 1},
}};

struct NamedCollective {
  std::string_view name;
  TorchCollective collective;
};

// PyTorch's ProcessGroupNCCL.cpp gives these names to RECORD_PARAM_COMMS. An all_to_all_single with
// equal parts is also recorded as "all_to_allv".
constexpr std::array<NamedCollective, 22> kTorchCollectives = {{
    {"allreduce", {NcclFunction::kAllReduce}},
    {"allreduce_coalesced", {NcclFunction::kAllReduce}},
    {"broadcast", {NcclFunction::kBroadcast}},
    {"_broadcast_oop", {NcclFunction::kBroadcast}},
    {"reduce", {NcclFunction::kReduce}},
    {"_reduce_oop", {NcclFunction::kReduce}},
    {"allgather", {NcclFunction::kAllGather}},
    {"all_gather", {NcclFunction::kAllGather}},
    {"_allgather_base", {NcclFunction::kAllGather}},
    {"all_gather_into_tensor_coalesced", {NcclFunction::kAllGather}},
    {"allgather_into_tensor_coalesced", {NcclFunction::kAllGather}},
    {"reduce_scatter", {NcclFunction::kReduceScatter}},
    {"reducescatter", {NcclFunction::kReduceScatter}},
    {"_reduce_scatter_base", {NcclFunction::kReduceScatter}},
    {"reduce_scatter_tensor_coalesced", {NcclFunction::kReduceScatter}},
    {"all_to_all", {NcclFunction::kAllToAll}},
    {"alltoall", {NcclFunction::kAllToAll}},
    {"all_to_allv", {NcclFunction::kAllToAll, true}},
    {"alltoall_base", {NcclFunction::kAllToAll, true}},
    {"send", {NcclFunction::kSend}},
    {"recv", {NcclFunction::kRecv}},
    {"recvAnySource", {NcclFunction::kRecv}},
}};

constexpr std::array<std::pair<std::string_view, std::uint32_t>, 16> kTorchTypes = {{
    {"Byte", 1},
    {"Char", 1},
    {"Bool", 1},
    {"Short", 2},
    {"Half", 2},
    {"BFloat16", 2},
    {"Int", 4},
    {"Float", 4},
    {"Long", 8},
    {"Double", 8},
    {"UInt16", 2},
    {"UInt32", 4},
    {"UInt64", 8},
    {"ComplexHalf", 4},
    {"ComplexFloat", 8},
    {"ComplexDouble", 16},
}};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

template <class Enum, std::size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (equal_ignoring_case(names[i], name)) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(NcclFunction function) {
  return kFunctions.at(static_cast<std::size_t>(function));
}

std::string_view name_of(NcclAlgorithm algorithm) {
  return kAlgorithms.at(static_cast<std::size_t>(algorithm));
}

std::string_view name_of(NcclProtocol protocol) {
  return kProtocols.at(static_cast<std::size_t>(protocol));
}

std::optional<NcclFunction> nccl_function(std::string_view name) {
  return find_name<NcclFunction>(kFunctions, name);
}

std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name) {
  return find_name<NcclAlgorithm>(kAlgorithms, name);
}

std::optional<NcclProtocol> nccl_protocol(std::string_view name) {
  return find_name<NcclProtocol>(kProtocols, name);
}

std::string_view table_name_of(NcclFunction function) {
  return kTableNames.at(static_cast<std::size_t>(function));
}

std::optional<NcclFunction> nccl_function_of_table(std::string_view name) {
  return find_name<NcclFunction>(kTableNames, name);
}

std::optional<TorchCollective> torch_collective(std::string_view name) {
  for (const NamedCollective& known : kTorchCollectives) {
    if (known.name == name) return known.collective;
  }
  return std::nullopt;
}

std::uint32_t nccl_element_bytes(std::string_view type_name) {
  for (const auto& [name, bytes] : kNcclTypes) {
    if (equal_ignoring_case(name, type_name)) return bytes;
  }
  return 0;
}

std::uint32_t nccl_element_bytes(int type_number) {
  const auto index = static_cast<std::size_t>(type_number);
  return type_number >= 0 && index < kNcclTypes.size() ? kNcclTypes[index].second : 0;
}

std::uint32_t torch_element_bytes(std::string_view type_name) {
  if (type_name.starts_with("Float8")) return 1;
  for (const auto& [name, bytes] : kTorchTypes) {
    if (name == type_name) return bytes;
  }
  return 0;
}

}  // namespace assay::model
