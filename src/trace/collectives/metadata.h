// The metadata of collectives: the recorded fields and what follows from them, stored once for each
// distinct combination over all ranks.
#pragma once

#include <cstdint>
#include <limits>
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

// A process group. Groups of one name but different ranks are different groups.
struct Group {
  model::TextId name = 0;
  model::TextId ranks = 0;
  std::vector<int> members = {};  // the recorded global ranks; PyTorch shortens long lists
  NodeSpan span = NodeSpan::kUnknown;
};

// Stands for an unknown figure.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

using MetadataId = std::uint32_t;

// Texts are ids in the catalog, 0 when missing. Missing numbers are -1.
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

  // Catalog::intern derives these.
  std::optional<model::TorchCollective> collective = {};  // none for a barrier or an unknown name
  std::uint32_t group = 0;                                // index into Catalog::groups
  std::uint32_t signature = 0;  // equal for events that can be one collective
  double in_mib = 0;            // 2^20 bytes; NaN when unknown
  double out_mib = 0;
  double full_mib = 0;  // the gathered size of an all-gather, else the input size
};

// Returns the collective that PyTorch calls `name`. The public tool knows fewer names (kTraceLens).
std::optional<model::TorchCollective> collective_named(std::string_view name, Compat compat);

// Returns whether the events of all ranks are matched to each other. A rank may leave a broadcast,
// a reduce, a send or a receive before another rank arrives, so those are not matched.
bool is_matched(const Metadata& metadata);

// Returns whether neither its sizes nor how many ranks take part were recorded, so that only the
// kernel's name tells what it is.
bool is_unrecorded(const Metadata& metadata);

// Returns whether it is an all-to-all whose ranks may send different amounts.
bool is_uneven(const Metadata& metadata);

// Returns whether no rank can leave before the last one has arrived.
bool synchronises(const Metadata& metadata);

// Returns bus bandwidth over algorithm bandwidth, NaN for an unknown collective or group size.
double bus_factor(const Metadata& metadata, int group_size);

// Returns the bytes of one element, 0 for an unknown type. The public tool knows fewer types
// (kTraceLens).
int element_bytes(std::string_view dtype, Compat compat);

class Catalog {
 public:
  Catalog(Compat compat, int ranks_per_node) : compat_(compat), ranks_per_node_(ranks_per_node) {}

  model::TextId text_id(std::string_view text) { return texts_.intern(text); }

  // Returns the id of an entry with these recorded fields, after filling in the derived ones.
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

// Returns the integers of a recorded list such as "[0, 1, 2]". It skips all that is no number.
std::vector<std::int64_t> parse_integers(std::string_view list);

}  // namespace assay::trace::collectives
