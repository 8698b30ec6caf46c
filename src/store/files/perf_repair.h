// Steps that bring a table of any era to the columns and labels of the last (perf_file.h says which
// these are). Each changes a Frame and counts what it did.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "store/files/frame.h"
#include "store/files/table_spec.h"

namespace assay::store {

// The columns of a custom_allreduce table of era A, which has no line of names.
std::vector<std::string> first_allreduce_header();

// `implementation` becomes `backend`; `power_law` with alpha 1.2 becomes `power_law_1.2`; what
// first_allreduce_header() names gets the names of today. True: the columns are of era A.
bool rename_old_columns(Frame& rows, model::Warnings& warnings);

// framework and version are taken from the folders `<backend>/<version>/` that the file lies in.
// True: some were missing.
bool add_common_columns(Frame& rows,
                        const TableSpec& spec,
                        const std::filesystem::path& path,
                        model::Warnings& warnings);

// Columns of another kind are converted where nothing is lost. The error names column and row.
core::Status convert_kinds(Frame& rows, const TableSpec& spec);

// Types labelled `from` in the columns of that kind get the label `to`. Gives how many rows.
std::int64_t relabel_types(Frame& rows,
                           const TableSpec& spec,
                           const std::string& from,
                           const std::string& to);

// The column of times becomes `latency` in ms, and back.
void to_latency_ms(Frame& rows, const TableSpec& spec);
void from_latency_ms(Frame& rows, const TableSpec& spec);

// Rows without a usable time are dropped; times of 0 and repeated keys are only counted.
void check_rows(Frame& rows, const TableSpec& spec, model::Warnings& warnings);

// Common columns, the table's, power, then others as they came.
void order_columns(Frame& rows, const TableSpec& spec);

}  // namespace assay::store
