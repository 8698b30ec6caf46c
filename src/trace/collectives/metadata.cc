#include "trace/collectives/metadata.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace assay::trace::collectives {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;

struct NamedFamily {
  std::string_view name;
  Family family;
};

constexpr std::array kFamilies = {
    NamedFamily{"allreduce", Family::kAllReduce},
    NamedFamily{"allreduce_coalesced", Family::kAllReduce},
    NamedFamily{"reducescatter", Family::kReduceScatter},
    NamedFamily{"_reduce_scatter_base", Family::kReduceScatter},
    NamedFamily{"reduce_scatter_tensor_coalesced", Family::kReduceScatter},
    NamedFamily{"allgather", Family::kAllGather},
    NamedFamily{"all_gather", Family::kAllGather},
    NamedFamily{"_allgather_base", Family::kAllGather},
    NamedFamily{"all_gather_into_tensor_coalesced", Family::kAllGather},
    NamedFamily{"allgather_into_tensor_coalesced", Family::kAllGather},
    NamedFamily{"all_to_all", Family::kAllToAll},
    NamedFamily{"all_to_allv", Family::kAllToAllV},
};

struct ElementType {
  std::string_view dtype;
  int bytes;
};

constexpr std::array kPublicTypes = {
    ElementType{"Float", 4}, ElementType{"Int", 4},      ElementType{"Long", 8},
    ElementType{"Half", 2},  ElementType{"BFloat16", 2}, ElementType{"Double", 8},
    ElementType{"Short", 2}, ElementType{"Bool", 1},     ElementType{"Byte", 1},
};

constexpr std::array kFurtherTypes = {
    ElementType{"Char", 1},           ElementType{"ComplexHalf", 4}, ElementType{"ComplexFloat", 8},
    ElementType{"ComplexDouble", 16}, ElementType{"UInt16", 2},      ElementType{"UInt32", 4},
    ElementType{"UInt64", 8},
};

template <std::size_t N>
int find_bytes(const std::array<ElementType, N>& types, std::string_view dtype) {
  const auto found =
      std::find_if(types.begin(), types.end(), [&](auto& type) { return type.dtype == dtype; });
  return found == types.end() ? 0 : found->bytes;
}

NodeSpan span_of(const std::vector<int>& members, int ranks_per_node) {
  if (members.empty() || ranks_per_node <= 0) return NodeSpan::kUnknown;
  const auto [low, high] = std::minmax_element(members.begin(), members.end());
  return *low / ranks_per_node == *high / ranks_per_node ? NodeSpan::kIntraNode
                                                         : NodeSpan::kInterNode;
}

}  // namespace

Family family_of(std::string_view collective_name) {
  const auto found =
      std::find_if(kFamilies.begin(), kFamilies.end(),
                   [&](const NamedFamily& entry) { return entry.name == collective_name; });
  return found == kFamilies.end() ? Family::kOther : found->family;
}

bool synchronises(Family family) {
  return family != Family::kOther && family != Family::kAllToAllV;
}

int element_bytes(std::string_view dtype, Compat compat) {
  const int bytes = find_bytes(kPublicTypes, dtype);
  if (bytes > 0 || compat == Compat::kTraceLens) return bytes;
  if (dtype.substr(0, 6) == "Float8") return 1;
  return find_bytes(kFurtherTypes, dtype);
}

double bus_factor(Family family, int group_size) {
  if (family == Family::kOther || group_size <= 0) return kUnknown;
  const double others = static_cast<double>(group_size - 1) / group_size;
  return family == Family::kAllReduce ? 2 * others : others;
}

std::string_view label(NodeSpan span) {
  switch (span) {
    case NodeSpan::kIntraNode:
      return "intra_node";
    case NodeSpan::kInterNode:
      return "inter_node";
    case NodeSpan::kUnknown:
      break;
  }
  return "unknown";
}

MetadataId Catalog::intern(Metadata recorded) {
  const Fields fields{recorded.name,        recorded.dtype,        recorded.group_name,
                      recorded.group_ranks, recorded.in_split,     recorded.out_split,
                      recorded.in_elements, recorded.out_elements, recorded.group_size};
  const auto [place, is_new] = ids_.emplace(fields, static_cast<MetadataId>(entries_.size()));
  if (!is_new) return place->second;
  recorded.family = family_of(texts_.view(recorded.name));
  recorded.group = group_id(recorded);
  recorded.signature = signature_id(recorded);
  set_sizes(recorded);
  entries_.push_back(recorded);
  return place->second;
}

std::uint32_t Catalog::group_id(const Metadata& metadata) {
  const auto [place, is_new] =
      group_ids_.emplace(std::pair(metadata.group_name, metadata.group_ranks),
                         static_cast<std::uint32_t>(groups_.size()));
  if (!is_new) return place->second;
  Group group{metadata.group_name, metadata.group_ranks};
  for (const std::int64_t rank : parse_integers(texts_.view(metadata.group_ranks)))
    group.members.push_back(static_cast<int>(rank));
  group.span = span_of(group.members, ranks_per_node_);
  groups_.push_back(std::move(group));
  return place->second;
}

// Ranks of an uneven exchange send different amounts, so size is not part of its signature.
std::uint32_t Catalog::signature_id(const Metadata& metadata) {
  const bool sized = metadata.family != Family::kAllToAllV;
  const Fields fields{metadata.name,
                      metadata.dtype,
                      metadata.group_name,
                      metadata.group_ranks,
                      0,
                      0,
                      sized ? metadata.in_elements : -1,
                      sized ? metadata.out_elements : -1,
                      metadata.group_size};
  return signatures_.emplace(fields, static_cast<std::uint32_t>(signatures_.size())).first->second;
}

void Catalog::set_sizes(Metadata& metadata) const {
  const int bytes = element_bytes(texts_.view(metadata.dtype), compat_);
  const auto mib = [bytes](std::int64_t elements) {
    if (bytes == 0 || elements < 0) return kUnknown;
    return static_cast<double>(elements) * bytes / kBytesPerMib;
  };
  metadata.in_mib = mib(metadata.in_elements);
  metadata.out_mib = mib(metadata.out_elements);
  metadata.full_mib = metadata.family == Family::kAllGather ? metadata.out_mib : metadata.in_mib;
}

std::vector<std::int64_t> parse_integers(std::string_view list) {
  std::vector<std::int64_t> result;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc()) result.push_back(value);
    at = next > at ? next : at + 1;
  }
  return result;
}

}  // namespace assay::trace::collectives
