// Columns of the collective sheets, each declared once: name, unit, meaning and how a row fills
// the cell.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "model/table.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {

// A column and the cell that a row has in it.
template <class Row>
struct Field {
  model::Column column;
  std::function<model::Cell(const Row&)> cell;
};

template <class Row>
using Fields = std::vector<Field<Row>>;

template <class Row>
void append(Fields<Row>& fields, Fields<Row> more) {
  for (Field<Row>& field : more)
    fields.push_back(std::move(field));
}

// The rows of a table that are made when they are read.
template <class Row>
class FieldRows final : public model::RowSource {
 public:
  FieldRows(Fields<Row> fields, std::vector<Row> rows)
      : fields_(std::move(fields)), rows_(std::move(rows)) {}

  [[nodiscard]] std::size_t row_count() const override { return rows_.size(); }

  void append_row(std::size_t row, std::vector<model::Cell>& cells) const override {
    for (const Field<Row>& field : fields_)
      cells.push_back(field.cell(rows_[row]));
  }

 private:
  Fields<Row> fields_;
  std::vector<Row> rows_;
};

template <class Row>
model::Table make_table(std::string name,
                        std::string title,
                        const Fields<Row>& fields,
                        const std::vector<Row>& rows) {
  model::Table table{std::move(name), std::move(title), {}};
  for (const Field<Row>& field : fields)
    table.columns.push_back(field.column);
  table.cells.reserve(fields.size() * rows.size());
  for (const Row& row : rows) {
    for (const Field<Row>& field : fields)
      table.cells.push_back(field.cell(row));
  }
  return table;
}

// A cell takes 40 bytes and its text, so those of a table take some 100 MB at most. Making them
// again for each format costs about a second of a processor for a million rows.
constexpr std::size_t kMostCellsInMemory = std::size_t{1} << 21;

// The same for tables that grow with the length of a profile. With more cells than `most_cells` the
// rows are made when they are read; what the fields point to must then outlive the table.
template <class Row>
model::Table make_long_table(std::string name,
                             std::string title,
                             const Fields<Row>& fields,
                             std::vector<Row> rows,
                             std::size_t most_cells = kMostCellsInMemory) {
  if (fields.size() * rows.size() <= most_cells)
    return make_table(std::move(name), std::move(title), fields, rows);
  model::Table table = make_table(std::move(name), std::move(title), fields, std::vector<Row>());
  table.source = std::make_shared<FieldRows<Row>>(fields, std::move(rows));
  return table;
}

// Returns the only table of a sheet. `{table}` would copy it, which of a million rows is a
// gigabyte.
inline std::vector<model::Table> single(model::Table table) {
  std::vector<model::Table> tables;
  tables.push_back(std::move(table));
  return tables;
}

constexpr double kGigabytesPerGibibyte = 1.073741824;

// Returns the value, or an empty cell for NaN, which stands for an unknown figure.
inline model::Cell real(double value) {
  return std::isnan(value) ? model::Cell{} : model::Cell{value};
}

// The cells of a collective's metadata. The public tool prints whole numbers as "8.0" if a single
// row of its table lacks the value; in compat mode so do these.
class Cells {
 public:
  explicit Cells(const Study& study);

  [[nodiscard]] model::Cell text(model::TextId id) const;
  [[nodiscard]] model::Cell group_name(const Metadata& metadata) const;
  [[nodiscard]] model::Cell group_size(const Metadata& metadata) const;
  [[nodiscard]] model::Cell in_elements(const Metadata& metadata) const;
  [[nodiscard]] model::Cell out_elements(const Metadata& metadata) const;
  [[nodiscard]] model::Cell node_span(const Metadata& metadata) const;
  // Shows a sum of elements; it has the type of its parts.
  [[nodiscard]] model::Cell elements(std::int64_t count) const;
  // Returns the name of a collective, "0_17": its group and its number in that.
  [[nodiscard]] std::string id(const Metadata& metadata, std::uint32_t number) const;

  // The node columns exist only where the traces name their devices.
  [[nodiscard]] bool knows_nodes() const { return study_->recording.ranks_per_node > 0; }

  [[nodiscard]] bool is_compat() const { return study_->is_compat(); }

 private:
  const Study* study_;
  std::string missing_group_name_;
  bool real_group_size_ = false;
  bool real_in_elements_ = false;
  bool real_out_elements_ = false;
};

// Shows one launch setting as a number, several as "16|24", more than four as "8..32", and an
// unknown one as an empty cell.
model::Cell launch_cell(std::vector<std::uint32_t> values);

// The metadata columns of any kind of row for which `metadata_of` returns the metadata.
template <class Row>
class MetadataFields {
 public:
  using MetadataOf = std::function<const Metadata&(const Row&)>;

  MetadataFields(const Study& study, MetadataOf metadata_of)
      : cells_(study), metadata_of_(std::move(metadata_of)) {}

  [[nodiscard]] Field<Row> group_name() const {
    return field("Process Group Name", &Cells::group_name);
  }

  [[nodiscard]] Field<Row> group_ranks() const {
    return text("Process Group Ranks", &Metadata::group_ranks);
  }

  [[nodiscard]] Field<Row> name() const { return text("Collective name", &Metadata::name); }

  [[nodiscard]] Field<Row> dtype() const { return text("dtype", &Metadata::dtype); }

  [[nodiscard]] Field<Row> group_size() const { return field("Group size", &Cells::group_size); }

  [[nodiscard]] Field<Row> in_elements() const {
    return field("In msg nelems", &Cells::in_elements);
  }

  [[nodiscard]] Field<Row> out_elements() const {
    return field("Out msg nelems", &Cells::out_elements);
  }

  [[nodiscard]] Field<Row> in_split() const { return text("In split size", &Metadata::in_split); }

  [[nodiscard]] Field<Row> out_split() const {
    return text("Out split size", &Metadata::out_split);
  }

  [[nodiscard]] Field<Row> node_span() const { return field("node_span", &Cells::node_span); }

  [[nodiscard]] Field<Row> size(const char* column, double Metadata::*mib) const {
    return {{column, "MiB"}, [metadata_of = metadata_of_, mib](const Row& row) {
              return real(metadata_of(row).*mib);
            }};
  }

  [[nodiscard]] const Cells& cells() const { return cells_; }

 private:
  Field<Row> field(const char* column, model::Cell (Cells::*cell)(const Metadata&) const) const {
    return {{column}, [cells = cells_, metadata_of = metadata_of_, cell](const Row& row) {
              return (cells.*cell)(metadata_of(row));
            }};
  }

  Field<Row> text(const char* column, model::TextId Metadata::*id) const {
    return {{column}, [cells = cells_, metadata_of = metadata_of_, id](const Row& row) {
              return cells.text(metadata_of(row).*id);
            }};
  }

  Cells cells_;
  MetadataOf metadata_of_;
};

// The launch settings of collectives, which are what NCCL and RCCL sweeps vary.
inline const model::Column kChannelsColumn{"channels", "", model::Better::kNeither,
                                           "thread blocks of the launch, one a channel"};
inline const model::Column kKernelBusColumn{"bus bw (GB/s)", "GB/s", model::Better::kHigher,
                                            "over the kernel's own time, waiting included"};
inline const model::Column kThreadsColumn{"threads", "", model::Better::kNeither,
                                          "threads a block of the launch"};

// Appends the setting of each member, but only the first of a run of equal values.
inline void collect_launch(const Study& study,
                           const Collective& collective,
                           std::uint32_t Event::*setting,
                           std::vector<std::uint32_t>& values) {
  for (const Member& member : study.matching.members_of(collective)) {
    const std::uint32_t value = event_of(study.recording, member).*setting;
    if (values.empty() || values.back() != value) values.push_back(value);
  }
}

// Returns the position of a rank's part of a collective in Matching::members, whose entries are in
// rank order. std::nullopt: the rank is not in the group of the collective.
inline std::optional<std::uint32_t> member_of_rank(const Study& study,
                                                   const Collective& collective,
                                                   std::uint32_t rank_position) {
  const auto members = study.matching.members_of(collective);
  const auto found = std::lower_bound(
      members.begin(), members.end(), rank_position,
      [](const Member& member, std::uint32_t position) { return member.rank < position; });
  if (found == members.end() || found->rank != rank_position) return std::nullopt;
  return collective.first + static_cast<std::uint32_t>(found - members.begin());
}

// The column "rank_<i>_…" of a sheet with one row per collective. `Item` must have a member
// `collective`; `value` turns a position in Matching::members into a cell.
template <class Item, class Value>
Field<Item> rank_field(const Study& study,
                       std::uint32_t rank_position,
                       model::Column column,
                       Value value) {
  column.name =
      "rank_" + std::to_string(study.recording.ranks[rank_position].rank) + "_" + column.name;
  return {std::move(column), [&study, rank_position, value](const Item& item) {
            const auto member =
                member_of_rank(study, study.collective(item.collective), rank_position);
            return member ? value(*member) : model::Cell{};
          }};
}

inline const model::Column kPresentColumn{
    "ranks present", "", model::Better::kNeither,
    "of the group; where some are missing, nobody knows skew, bandwidth and who came last"};

// The column that tells how many ranks of its group a collective has. `Item` must have a member
// `collective`.
template <class Item>
Field<Item> present_field(const Study& study) {
  return {kPresentColumn, [&study](const Item& item) {
            return std::int64_t{study.collective(item.collective).size};
          }};
}

// The same of groups, which is that of the first item.
template <class Group>
Field<Group> group_present_field(const Study& study) {
  return {kPresentColumn, [&study](const Group& group) {
            return std::int64_t{study.collective(group.items.front()->collective).size};
          }};
}

// The columns with the launch settings of all members. `Item` must have a member `collective`.
template <class Item>
Fields<Item> launch_fields(const Study& study) {
  const auto field = [&study](const model::Column& column, std::uint32_t Event::*setting) {
    return Field<Item>{column, [&study, setting](const Item& item) {
                         std::vector<std::uint32_t> values;
                         collect_launch(study, study.collective(item.collective), setting, values);
                         return launch_cell(std::move(values));
                       }};
  };
  return {field(kChannelsColumn, &Event::channels), field(kThreadsColumn, &Event::threads)};
}

// The metadata columns of items with a member `collective`.
template <class Item>
MetadataFields<Item> item_metadata(const Study& study) {
  return {study, [&study](const Item& item) -> const Metadata& {
            return study.metadata(item.collective);
          }};
}

// The metadata columns of groups, which are those of the first item.
template <class Group>
MetadataFields<Group> group_metadata(const Study& study) {
  return {study, [&study](const Group& group) -> const Metadata& {
            return study.metadata(group.items.front()->collective);
          }};
}

// The recorded start and the duration of the rank's kernel, in microseconds.
template <class Item>
Fields<Item> rank_time_fields(const Study& study, std::uint32_t rank_position) {
  const auto event = [&study](std::uint32_t member) -> const Event& {
    return event_of(study.recording, study.matching.members[member]);
  };
  return {rank_field<Item>(study, rank_position, {"ts", "us"},
                           [event](std::uint32_t member) -> model::Cell {
                             return static_cast<double>(event(member).start_ns) / 1e3;
                           }),
          rank_field<Item>(
              study, rank_position, {"dur", "us", model::Better::kLower},
              [event](std::uint32_t member) -> model::Cell { return event(member).duration_us; })};
}

// The name of the whole collective: see Cells::id.
template <class Item>
Field<Item> id_field(const Study& study) {
  return {{"collective_id"}, [&study, cells = Cells(study)](const Item& item) {
            const Collective& collective = study.collective(item.collective);
            return cells.id(study.catalog()[collective.metadata], collective.number);
          }};
}

enum class Statistic { kMean, kMedian, kMinimum, kMaximum };

inline const char* suffix(Statistic statistic) {
  switch (statistic) {
    case Statistic::kMean:
      return "_mean";
    case Statistic::kMedian:
      return "_median";
    case Statistic::kMinimum:
      return "_min";
    case Statistic::kMaximum:
      break;
  }
  return "_max";
}

// Returns a statistic of the values that are not NaN.
inline double statistic_of(Statistic statistic, std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  switch (statistic) {
    case Statistic::kMean:
      return core::mean(values);
    case Statistic::kMedian:
      return core::median(values);
    case Statistic::kMinimum:
      return core::minimum(values);
    case Statistic::kMaximum:
      break;
  }
  return core::maximum(values);
}

// A figure of single rows which a summary condenses.
template <class Item>
struct Metric {
  model::Column column;
  double Item::*value;
  double scale = 1;
};

// The columns with the mean, median, minimum and maximum of a figure over a group of rows. `Group`
// must have a member `items`: the rows that it condenses.
template <class Group, class Item>
Fields<Group> spread_fields(const Metric<Item>& metric, const std::vector<Statistic>& statistics) {
  Fields<Group> fields;
  for (const Statistic statistic : statistics) {
    model::Column column = metric.column;
    column.name += suffix(statistic);
    fields.push_back({std::move(column), [metric, statistic](const Group& group) {
                        std::vector<double> values;
                        values.reserve(group.items.size());
                        for (const Item* item : group.items)
                          values.push_back(item->*metric.value * metric.scale);
                        return real(statistic_of(statistic, std::move(values)));
                      }});
  }
  return fields;
}

// A bandwidth and its name. The public tool names 2^30 bytes per second GB/s, and so does the
// compat mode. Otherwise the figure is named GiB/s, and one in real GB/s follows it.
template <class Item>
std::vector<Metric<Item>> bandwidth_metrics(const std::string& name,
                                            double Item::*gibps,
                                            bool is_compat) {
  const auto higher = model::Better::kHigher;
  if (is_compat) return {{{name + " (GB/s)", "GiB/s", higher}, gibps}};
  return {{{name + " (GiB/s)", "GiB/s", higher}, gibps},
          {{name + " (GB/s)", "GB/s", higher}, gibps, kGigabytesPerGibibyte}};
}

// The bandwidths of an uneven exchange that compare with those of other collectives: a rank's mean
// amount over the time of the exchange. The public tool only has the sum over ranks.
inline std::vector<Metric<Exchange>> rank_bandwidth_metrics() {
  std::vector<Metric<Exchange>> metrics =
      bandwidth_metrics("algo bw", &Exchange::algorithm_gibps, false);
  for (Metric<Exchange>& metric : bandwidth_metrics("bus bw", &Exchange::bus_gibps, false))
    metrics.push_back(std::move(metric));
  return metrics;
}

template <class Item>
Fields<Item> metric_fields(const std::vector<Metric<Item>>& metrics) {
  Fields<Item> fields;
  for (const Metric<Item>& metric : metrics) {
    fields.push_back({metric.column, [metric](const Item& item) {
                        return real(item.*metric.value * metric.scale);
                      }});
  }
  return fields;
}

inline const std::vector<Statistic> kAllStatistics = {Statistic::kMean, Statistic::kMedian,
                                                      Statistic::kMinimum, Statistic::kMaximum};
inline const std::vector<Statistic> kMeanAndMaximum = {Statistic::kMean, Statistic::kMaximum};

// Groups the rows with equal keys, in the order in which the keys first appear. `Group` must have a
// member `items` of pointers to rows.
template <class Group, class Row, class KeyOf>
std::vector<Group> group_by(const std::vector<Row>& rows, const KeyOf& key_of) {
  std::vector<Group> groups;
  std::map<decltype(key_of(rows.front())), std::size_t> places;
  for (const Row& row : rows) {
    const auto [place, is_new] = places.emplace(key_of(row), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].items.push_back(&row);
  }
  return groups;
}

}  // namespace assay::trace::collectives
