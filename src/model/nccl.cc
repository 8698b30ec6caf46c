#include "model/nccl.h"

#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace assay::model {
namespace {

constexpr std::array<std::string_view, 11> kFunctions = {
    "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv",
    "Send",      "Recv",   "AlltoAll",  "Scatter",       "Gather"};
constexpr std::array<std::string_view, 8> kAlgorithms = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT", "NONE"};
constexpr std::array<std::string_view, 4> kProtocols = {"LL", "LL128", "SIMPLE", "NONE"};

// In the order of ncclDataType_t.
constexpr std::array<std::pair<std::string_view, std::uint32_t>, 12> kTypes = {{
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

bool equal_without_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) !=
        std::tolower(static_cast<unsigned char>(b[i]))) {
      return false;
    }
  }
  return true;
}

template <class Enum, std::size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (equal_without_case(names[i], name)) return static_cast<Enum>(i);
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

std::uint32_t nccl_element_bytes(std::string_view type_name) {
  for (const auto& [name, bytes] : kTypes) {
    if (equal_without_case(name, type_name)) return bytes;
  }
  return 0;
}

std::uint32_t nccl_element_bytes(int type_number) {
  const auto index = static_cast<std::size_t>(type_number);
  return type_number >= 0 && index < kTypes.size() ? kTypes[index].second : 0;
}

}  // namespace assay::model
