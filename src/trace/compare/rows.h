// Reads a table row by row and by column name; columns may be missing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/table.h"

namespace assay::trace {

// The values of a row's key columns. Whole numbers become integers however they were written, so
// that 8 and 8.0 are one key.
using RowKey = std::vector<model::Cell>;

// The row numbers of each key, with keys in order.
using RowGroups = std::map<RowKey, std::vector<std::size_t>>;

// kKeep: a row with a missing key value belongs to a group with an empty cell in its place.
enum class MissingKeys { kKeep, kDrop };

// A null `table` has no rows. A key column that the table lacks is empty in every row.
RowGroups group_rows(const model::Table* table,
                     const std::vector<std::string>& key_columns,
                     MissingKeys missing);

// Turns a whole double into an integer and NaN into an empty cell; leaves all other cells as they
// are.
model::Cell normalized(const model::Cell& cell);

using model::cell_of;

// Returns NaN when the column does not exist or holds no number in this row.
double number_at(const model::Table& table, std::size_t row, std::string_view column);

// Returns the numbers of a column in these rows, skipping cells without a number.
std::vector<double> numbers(const model::Table& table,
                            const std::vector<std::size_t>& rows,
                            std::string_view column);

}  // namespace assay::trace
