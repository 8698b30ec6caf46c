// Reading a table row by row, by column name, without minding columns that are not there.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"

namespace assay::trace {

// The values of the key columns of a row. Whole numbers are integers, however they were written,
// so that 8 and 8.0 are one key.
using RowKey = std::vector<model::Cell>;

// Row numbers of each key, keys in order.
using RowGroups = std::map<RowKey, std::vector<std::size_t>>;

// kKeep: a row without one of its key values is a row of its own group "no value".
enum class MissingKeys { kKeep, kDrop };

// `table` may be null: no rows. A key column that the table lacks is empty in every row.
RowGroups group_rows(const model::Table* table,
                     const std::vector<std::string>& key_columns,
                     MissingKeys missing);

// A whole double as an integer, NaN as an empty cell, all else as it is.
model::Cell normalized(const model::Cell& cell);

using model::cell_of;

// NaN when there is no such column, or no number in it.
double number_at(const model::Table& table, std::size_t row, std::string_view column);

// The numbers of a column in these rows, cells without a number left out.
std::vector<double> numbers(const model::Table& table,
                            const std::vector<std::size_t>& rows,
                            std::string_view column);

}  // namespace assay::trace
