// Reads and writes Parquet files that hold a flat table, as pandas, pyarrow and DuckDB read and
// write them. Our own code, because no maintained C++ library for Parquet is packaged where assay
// is built (Arrow is absent from Debian 12); zstd and snappy pack and unpack the pages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/files/frame.h"

namespace assay::store {

// A small file may claim to hold a huge table; reading stops before memory is taken for it.
struct ParquetLimits {
  std::int64_t max_rows = 1 << 25;
  std::int64_t max_cells = 1 << 27;           // rows x columns
  std::int64_t max_page_bytes = 1 << 28;      // unpacked
  std::int64_t max_column_bytes = 1LL << 31;  // unpacked
  std::int64_t max_metadata_bytes = 16 << 20;
};

// Understands the types BOOLEAN, INT32, INT64 (as whole numbers), FLOAT, DOUBLE and BYTE_ARRAY (as
// text), required or optional; PLAIN, RLE and dictionary encodings; pages of version 1 and 2; zstd,
// snappy or no compression; any number of row groups. Anything else is an error that names the
// column. The file is not trusted: its lengths, counts and offsets are compared with what is there.
core::Result<Frame> read_parquet(std::string_view bytes, ParquetLimits limits = {});

// The error names the file.
core::Result<Frame> read_parquet_file(const std::filesystem::path& path);

// Writes one row group of optional columns, packed by zstd: whole numbers as INT64, doubles as
// DOUBLE, texts as BYTE_ARRAY (UTF8); texts and numbers that repeat go into dictionaries. Errors:
// columns of different lengths, no column, a column too large for the format.
core::Result<std::string> write_parquet(const Frame& frame);

}  // namespace assay::store
