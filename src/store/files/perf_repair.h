// The steps that bring a table of any era to the columns and labels of the last era (perf_file.h
// says which these are). Each changes a Frame and counts what it did.
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

// `power_law` with alpha 1.2 becomes `power_law_1.2`, and the
// columns of first_allreduce_header() get the names of today. Returns whether the columns are of
// era A.
bool rename_old_columns(Frame& rows, model::Warnings& warnings);

// Takes framework and version from the folders `<backend>/<version>/` that the file lies in.
// Returns whether a common column was missing.
bool add_common_columns(Frame& rows,
                        const TableSpec& spec,
                        const std::filesystem::path& path,
                        model::Warnings& warnings);

// Names the column of times of a table as the table has it, in its unit: "latency_us" of gemm_perf.
// It takes the first of several, and texts in it ("OOM") for missing values. `stem` is the file's
// name.
void read_times(Frame& rows, const std::string& stem, model::Warnings& warnings);

// Takes away power that nobody measured, which placed tables have, and the columns that tell so.
void keep_measured_power(Frame& rows, model::Warnings& warnings);

// Converts columns of another kind where nothing is lost. The error names column and row.
core::Status convert_kinds(Frame& rows, const TableSpec& spec);

// Gives types that are labelled `from` the label `to`. Returns the number of rows.
std::int64_t relabel_types(Frame& rows,
                           const TableSpec& spec,
                           const std::string& from,
                           const std::string& to);

// Makes the column of times `latency` in ms, and back.
void to_latency_ms(Frame& rows, const TableSpec& spec);
void from_latency_ms(Frame& rows, const TableSpec& spec);

// Puts the common columns first, then the table's, then power, then others as they came.
void order_columns(Frame& rows, const TableSpec& spec);

}  // namespace assay::store
