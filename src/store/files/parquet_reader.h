// Reads Parquet files that hold a flat table, as pandas, pyarrow, DuckDB and write_parquet()
// write them. Our own, because no maintained C++ reader is packaged where assay is built (Arrow is
// absent from Debian 12); zstd and snappy do the unpacking.
//
// Read: BOOLEAN, INT32, INT64 (as whole numbers), FLOAT, DOUBLE, BYTE_ARRAY (as text); required or
// optional; PLAIN, RLE and dictionary encodings; pages of version 1 and 2; zstd, snappy or none;
// any number of row groups. Anything else is one error that names the column.
//
// The file is not trusted: its lengths, counts and offsets are compared with what is there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/result.h"
#include "store/files/frame.h"

namespace assay::store {

// A small file may claim a huge table; reading stops before it is made.
struct ParquetLimits {
  std::int64_t max_rows = 1 << 25;
  std::int64_t max_cells = 1 << 27;           // rows x columns
  std::int64_t max_page_bytes = 1 << 28;      // unpacked
  std::int64_t max_column_bytes = 1LL << 31;  // unpacked
  std::int64_t max_metadata_bytes = 16 << 20;
};

core::Result<Frame> read_parquet(std::string_view bytes, ParquetLimits limits = {});

// The error names the file.
core::Result<Frame> read_parquet_file(const std::filesystem::path& path);

}  // namespace assay::store
