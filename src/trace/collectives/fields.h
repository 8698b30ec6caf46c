// A table's columns declared once: name, meaning and how a row fills the cell.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/table.h"

namespace assay::trace::collectives {

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

// An unknown figure is an empty cell.
inline model::Cell real(double value) {
  return std::isnan(value) ? model::Cell{} : model::Cell{value};
}

}  // namespace assay::trace::collectives
