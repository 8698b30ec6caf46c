// Files of measurements as users have them, of any version of the public collector, and as assay
// writes them.
//
// Three generations of files are read ("eras"):
//   A  the first release: custom_allreduce without a line of names (dtype, GPUs, size, strategy,
//      layer, latency), NCCL tables without framework, version and device, MoE with distribution
//      and alpha in two columns
//   B  CSV that labels bfloat16 as float16
//   C  Parquet, or CSV that labels it bfloat16
// The content alone tells the era: the marks of A are looked for first; then Parquet is C, and CSV
// is C unless a type column holds "float16". A table without any 16-bit type reads the same either
// way. The name of the file tells the table where the columns fit it; else the columns and op_name
// do.
//
// Whatever the era, the rows come out with the names, labels and order of era C with these
// additions: the time is `latency` in ms (also where a table calls it avg_ms or counts in us), the
// last column of custom_allreduce_perf, which has two names, is `backend`, and window_size stands
// behind head_dim.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.h"
#include "model/warnings.h"
#include "store/files/frame.h"

namespace assay::store {

enum class Era : std::uint8_t { kA, kB, kC };

struct PerfFile {
  std::string table;  // "gemm_perf"
  Era era = Era::kC;
  Frame rows;  // framework, version, device, op_name, kernel_source, key, latency, power
  std::int64_t unread = 0;  // rows that were left out, because they have no usable time or size
};

// `warnings` counts repairs and doubts: labels and columns that were renamed, rows without a usable
// time or size (not read), times of 0 and rows with the key of another (read). A size is no usable
// one if it is negative, or missing in a table that always has it. The error names the file,
// which may not exist, hold no table, be a Git LFS pointer or damaged, lack a column, or have a
// column of another kind or a line with too few fields.
core::Result<PerfFile> read_perf_file(const std::filesystem::path& path, model::Warnings& warnings);

// Does the same with the content of a file called `path`.
core::Result<PerfFile> parse_perf_file(std::string_view bytes,
                                       const std::filesystem::path& path,
                                       model::Warnings& warnings);

enum class FileFormat : std::uint8_t { kCsv, kParquet };

// kOld writes float16 for bfloat16, as programs of eras A and B expect it.
enum class Labels : std::uint8_t { kNew, kOld };

struct PerfFileStyle {
  FileFormat format = FileFormat::kCsv;
  Labels labels = Labels::kNew;
};

// Gives the table in the public names, units and order; columns that the public table does not have
// come last. A column that the table must have and `rows` lacks is an error.
core::Result<std::string> format_perf_file(const std::string& table,
                                           const Frame& rows,
                                           PerfFileStyle style);

// The file is written whole or not at all.
core::Status write_perf_file(const std::string& table,
                             const Frame& rows,
                             PerfFileStyle style,
                             const std::filesystem::path& path);

}  // namespace assay::store
