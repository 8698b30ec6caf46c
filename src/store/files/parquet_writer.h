// Writes a Frame as a Parquet file that pandas, pyarrow and DuckDB read: one row group, optional
// columns, zstd; texts, and whole numbers that repeat, in dictionaries. Our own for the reason that
// parquet_reader.h gives.
#pragma once

#include <string>

#include "core/result.h"
#include "store/files/frame.h"

namespace assay::store {

// Whole numbers become INT64, doubles DOUBLE, texts BYTE_ARRAY (UTF8). Errors: columns of different
// lengths, no column, a column too large for the format.
core::Result<std::string> write_parquet(const Frame& frame);

}  // namespace assay::store
