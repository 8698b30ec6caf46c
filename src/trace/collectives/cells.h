// How metadata is shown: missing values, number types, labels.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trace/collectives/fields.h"
#include "trace/collectives/study.h"

namespace assay::trace::collectives {

// The public tool prints whole numbers as "8.0" once a single row of its table lacks the value.
class Cells {
 public:
  explicit Cells(const Study& study);

  [[nodiscard]] model::Cell text(model::TextId id) const;
  [[nodiscard]] model::Cell group_name(const Metadata& metadata) const;
  [[nodiscard]] model::Cell group_size(const Metadata& metadata) const;
  [[nodiscard]] model::Cell in_elements(const Metadata& metadata) const;
  [[nodiscard]] model::Cell out_elements(const Metadata& metadata) const;
  [[nodiscard]] model::Cell node_span(const Metadata& metadata) const;
  // A sum of elements has the type of its parts.
  [[nodiscard]] model::Cell elements(std::int64_t count) const;
  // "0_17"
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

// One launch setting as a number, several as "16|24", many as "8..32"; unknown is empty.
model::Cell launch_cell(std::vector<std::uint32_t> values);

// The metadata columns of any row from which metadata can be had.
template <class Row>
class MetadataFields {
 public:
  using MetadataOf = std::function<const Metadata&(const Row&)>;

  MetadataFields(const Study& study, MetadataOf of)
      : study_(&study), cells_(study), of_(std::move(of)) {}

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
    return {{column, "MiB"}, [of = of_, mib](const Row& row) { return real(of(row).*mib); }};
  }

  [[nodiscard]] const Cells& cells() const { return cells_; }

 private:
  Field<Row> field(const char* column, model::Cell (Cells::*cell)(const Metadata&) const) const {
    return {{column},
            [cells = cells_, of = of_, cell](const Row& row) { return (cells.*cell)(of(row)); }};
  }

  Field<Row> text(const char* column, model::TextId Metadata::*id) const {
    return {{column},
            [cells = cells_, of = of_, id](const Row& row) { return cells.text(of(row).*id); }};
  }

  const Study* study_;
  Cells cells_;
  MetadataOf of_;
};

}  // namespace assay::trace::collectives
