// What a collective is: its recorded fields, each distinct combination once for all ranks, with
// the figures that follow from it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/string_pool.h"
#include "trace/options.h"

namespace assay::trace::collectives {

// What a collective does to data; decides its full size, bandwidth factor and whether every rank
// must arrive before any can leave.
enum class Family : std::uint8_t {
  kOther,  // broadcast, reduce, send, recv, barrier, unknown
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kAllToAllV,  // also what equal all_to_all_single records
};

Family family_of(std::string_view collective_name);

// No rank leaves before the last one has arrived.
bool synchronises(Family family);

// Bytes of one element; 0 when unknown. The public tool knows fewer types (kTraceLens).
int element_bytes(std::string_view dtype, Compat compat);

// Bus bandwidth over algorithm bandwidth (nccl-tests, PERFORMANCE.md).
double bus_factor(Family family, int group_size);

enum class NodeSpan : std::uint8_t { kUnknown, kIntraNode, kInterNode };

std::string_view label(NodeSpan span);

// A process group: the same name may stand for different ranks, then it is two groups.
struct Group {
  model::TextId name = 0;
  model::TextId ranks = 0;
  std::vector<int> members = {};  // global ranks as far as recorded; PyTorch shortens long lists
  NodeSpan span = NodeSpan::kUnknown;
};

// Stands for an unknown figure.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

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
  Family family = Family::kOther;
  std::uint32_t group = 0;      // index into Catalog::groups
  std::uint32_t signature = 0;  // equal for events that can be one collective
  double in_mib = 0;            // 2^20 bytes; NaN when unknown
  double out_mib = 0;
  double full_mib = 0;  // gathered size for all-gather, input size otherwise
};

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
