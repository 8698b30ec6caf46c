// Reads the structures that describe a Parquet file. Bytes that are none give an error; no number
// in what is returned has been compared with the file yet.
#pragma once

#include <string_view>

#include "core/result.h"
#include "store/files/parquet_format.h"
#include "store/files/parquet_reader.h"

namespace assay::store::parquet {

// Of a whole file. Errors: no Parquet file, cut off, encrypted, nested columns.
core::Result<FileMetadata> read_file_metadata(std::string_view file, ParquetLimits limits);

struct LocatedPageHeader {
  PageHeader header;
  std::size_t size_bytes = 0;  // of the header itself
};

core::Result<LocatedPageHeader> read_page_header(std::string_view bytes);

}  // namespace assay::store::parquet
