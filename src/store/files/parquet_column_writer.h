// Encodes one column of a Parquet file into pages.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "store/files/frame.h"

namespace assay::store::parquet {

struct WrittenColumn {
  std::int64_t dictionary_page_at = -1;
  std::int64_t data_page_at = 0;
  std::int64_t packed_bytes = 0;
  std::int64_t unpacked_bytes = 0;
};

// Appends the pages to `file`. Errors: texts that take more than a dictionary may hold.
core::Result<WrittenColumn> write_column(const FrameColumn& column, std::string& file);

}  // namespace assay::store::parquet
