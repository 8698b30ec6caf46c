#include "trace/collectives/metadata.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace assay::trace::collectives {
namespace {

using model::NcclFunction;

constexpr double kBytesPerMib = 1024.0 * 1024.0;

// PyTorch's names of the collectives that the public tool knows. It treats others as unknown.
constexpr std::array<std::string_view, 12> kTraceLensNames = {
    "allreduce",
    "allreduce_coalesced",
    "reducescatter",
    "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced",
    "allgather",
    "all_gather",
    "_allgather_base",
    "all_gather_into_tensor_coalesced",
    "allgather_into_tensor_coalesced",
    "all_to_all",
    "all_to_allv",
};

constexpr std::array<std::string_view, 9> kTraceLensTypes = {
    "Float", "Int", "Long", "Half", "BFloat16", "Double", "Short", "Bool", "Byte"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

NodeSpan span_of(const std::vector<int>& members, int ranks_per_node) {
  if (members.empty() || ranks_per_node <= 0) return NodeSpan::kUnknown;
  const auto [low, high] = std::minmax_element(members.begin(), members.end());
  return *low / ranks_per_node == *high / ranks_per_node ? NodeSpan::kIntraNode
                                                         : NodeSpan::kInterNode;
}

}  // namespace

std::optional<model::TorchCollective> collective_named(std::string_view name, Compat compat) {
  if (compat == Compat::kTraceLens && !contains(kTraceLensNames, name)) return std::nullopt;
  return model::torch_collective(name);
}

bool is_matched(const Metadata& metadata) {
  if (!metadata.collective) return false;
  switch (metadata.collective->function) {
    case NcclFunction::kAllReduce:
    case NcclFunction::kAllGather:
    case NcclFunction::kReduceScatter:
    case NcclFunction::kAllToAll:
      return true;
    default:
      return false;
  }
}

bool is_unrecorded(const Metadata& metadata) {
  return metadata.group_size < 0 && metadata.in_elements < 0 && metadata.out_elements < 0;
}

bool is_uneven(const Metadata& metadata) {
  return metadata.collective && metadata.collective->may_be_uneven;
}

bool synchronises(const Metadata& metadata) {
  return is_matched(metadata) && !is_uneven(metadata);
}

double bus_factor(const Metadata& metadata, int group_size) {
  if (!metadata.collective) return kUnknown;
  return model::bus_factor(metadata.collective->function, group_size);
}

int element_bytes(std::string_view dtype, Compat compat) {
  if (compat == Compat::kTraceLens && !contains(kTraceLensTypes, dtype)) return 0;
  return static_cast<int>(model::torch_element_bytes(dtype));
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
  recorded.collective = collective_named(texts_.view(recorded.name), compat_);
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

// The ranks of an uneven exchange send different amounts, so the signature leaves the sizes out.
std::uint32_t Catalog::signature_id(const Metadata& metadata) {
  const bool sized = !is_uneven(metadata);
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
  const bool gathers =
      metadata.collective && metadata.collective->function == NcclFunction::kAllGather;
  metadata.full_mib = gathers ? metadata.out_mib : metadata.in_mib;
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
