// What a collective is: its recorded fields, each distinct combination once for all ranks, with
// the figures that follow from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/collective.h"
#include "model/string_pool.h"
#include "trace/options.h"

namespace assay::trace::collectives {

enum class NodeSpan : std::uint8_t { kUnknown, kIntraNode, kInterNode };

std::string_view label(NodeSpan span);

// A process group: the same name may stand for different ranks, then it is two groups.
struct Group {
  model::TextId name = 0;
  model::TextId ranks = 0;
  std::vector<int> members = {};  // global ranks as far as recorded; PyTorch shortens long lists
  NodeSpan span = NodeSpan::kUnknown;
};

using MetadataId = std::uint32_t;

// Texts are ids in Catalog::texts, 0 when missing; missing numbers are -1.
struct Metadata {
  model::TextId name = 0;
  model::TextId dtype = 0;
  model::TextId group_name = 0;
  model::TextId group_ranks = 0;
  model::TextId in_split = 0;
  model::TextId out_split = 0;
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int32_t group_size = -1;

  // Derived when interned.
  std::optional<model::TorchCollective> collective = {};  // none: barrier, unknown
  std::uint32_t group = 0;                                // index into Catalog::groups
  std::uint32_t signature = 0;  // equal for events that can be one collective
  double in_mib = 0;            // 2^20 bytes; NaN when unknown
  double out_mib = 0;
  double full_mib = 0;  // gathered size for all-gather, input size otherwise
};

// What PyTorch's name of a collective means. The public tool knows fewer names (kTraceLens).
std::optional<model::TorchCollective> collective_named(std::string_view name, Compat compat);

// Whether the events of all ranks are put together. A rank may leave a broadcast, a reduce, a send
// or a receive before another arrives, so those are not.
bool is_matched(const Metadata& metadata);

// An all-to-all whose ranks may send different amounts.
bool is_uneven(const Metadata& metadata);

// No rank leaves before the last one has arrived.
bool synchronises(const Metadata& metadata);

// Bus bandwidth over algorithm bandwidth; NaN for an unknown collective or group.
double bus_factor(const Metadata& metadata, int group_size);

// Bytes of one element; 0 when unknown. The public tool knows fewer types (kTraceLens).
int element_bytes(std::string_view dtype, Compat compat);

class Catalog {
 public:
  Catalog(Compat compat, int ranks_per_node) : compat_(compat), ranks_per_node_(ranks_per_node) {}

  model::TextId text_id(std::string_view text) { return texts_.intern(text); }

  // Takes the recorded fields, fills in the derived ones.
  MetadataId intern(Metadata recorded);

  [[nodiscard]] const Metadata& operator[](MetadataId id) const { return entries_[id]; }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }

  [[nodiscard]] const Group& group(const Metadata& metadata) const {
    return groups_[metadata.group];
  }

  [[nodiscard]] std::size_t signature_count() const { return signatures_.size(); }

  [[nodiscard]] std::string_view text(model::TextId id) const { return texts_.view(id); }

 private:
  using Fields = std::tuple<model::TextId,
                            model::TextId,
                            model::TextId,
                            model::TextId,
                            model::TextId,
                            model::TextId,
                            std::int64_t,
                            std::int64_t,
                            std::int32_t>;

  std::uint32_t group_id(const Metadata& metadata);
  std::uint32_t signature_id(const Metadata& metadata);
  void set_sizes(Metadata& metadata) const;

  Compat compat_;
  int ranks_per_node_;
  model::StringPool texts_;
  std::vector<Metadata> entries_;
  std::vector<Group> groups_;
  std::map<Fields, MetadataId> ids_;
  std::map<std::pair<model::TextId, model::TextId>, std::uint32_t> group_ids_;
  std::map<Fields, std::uint32_t> signatures_;
};

// The integers of a recorded list: "[0, 1, 2]"; what is not a number is passed over.
std::vector<std::int64_t> parse_integers(std::string_view list);

}  // namespace assay::trace::collectives
