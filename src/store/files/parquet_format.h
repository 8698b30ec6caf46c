// The parts of Parquet's format that a flat table needs, by the names and numbers of
// parquet.thrift, and the steps between a file's bytes and its columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/files/frame.h"
#include "store/files/parquet.h"

namespace assay::store::parquet {

constexpr std::string_view kMagic = "PAR1";

enum class Type : std::uint8_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixedLengthByteArray = 7,
};

// The number of values that a column may have in a row.
enum class Repetition : std::uint8_t { kRequired = 0, kOptional = 1, kRepeated = 2 };

enum class Codec : std::uint8_t { kUncompressed = 0, kSnappy = 1, kZstd = 6 };

enum class Encoding : std::uint8_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRunLength = 3,
  kRunLengthDictionary = 8,
};

enum class PageType : std::uint8_t { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3 };

enum class ConvertedType : std::uint8_t { kUtf8 = 0, kDecimal = 5, kUint32 = 13, kUint64 = 14 };

// Returns whether a number of the file names this value. Numbers are kept as they are in the file,
// so that an unknown codec or encoding is an error only where it is used.
template <class Enum>
bool is(std::int64_t number, Enum value) {
  return number == static_cast<std::int64_t>(value);
}

struct SchemaColumn {
  std::string name;
  std::int64_t type = 0;
  bool optional = false;
  std::int64_t converted_type = -1;
};

struct ColumnChunk {
  std::int64_t codec = 0;
  std::int64_t num_values = 0;
  std::int64_t packed_bytes = 0;
  std::int64_t data_page_at = 0;
  std::int64_t dictionary_page_at = -1;  // -1: it has no dictionary
  bool in_another_file = false;
};

struct RowGroup {
  std::int64_t num_rows = 0;
  std::vector<ColumnChunk> columns;
};

struct FileMetadata {
  std::vector<SchemaColumn> columns;
  std::int64_t num_rows = 0;
  std::vector<RowGroup> row_groups;
};

struct PageHeader {
  std::int64_t type = -1;
  std::int64_t unpacked_bytes = -1;
  std::int64_t packed_bytes = -1;
  std::int64_t num_values = -1;
  std::int64_t encoding = -1;
  std::int64_t definition_level_encoding = static_cast<std::int64_t>(Encoding::kRunLength);
  // Only pages of version 2 have these; their levels stand before the values, never compressed.
  std::int64_t definition_level_bytes = 0;
  std::int64_t repetition_level_bytes = 0;
  bool values_packed = true;
};

struct LocatedPageHeader {
  PageHeader header;
  std::size_t size_bytes = 0;  // of the header itself
};

// The header at the beginning of `bytes`. Its numbers have not been compared with the file yet.
core::Result<LocatedPageHeader> read_page_header(std::string_view bytes);

// Unpacks a page. `size_bytes` is the size that the page claims, which the caller has bounded. The
// result lies in `packed` or `buffer`. Errors: an unknown codec, damaged bytes, another size.
core::Result<std::string_view> unpack(std::int64_t codec,
                                      std::string_view packed,
                                      std::size_t size_bytes,
                                      std::string& buffer);

std::string pack_zstd(std::string_view bytes);

// Parquet's mix of runs and bit-packed groups (RLE), which holds levels, dictionary indices and
// booleans: `count` numbers of `bit_width` bits (0 to 32). Fewer numbers are an error.
core::Result<std::vector<std::uint32_t>> read_runs(std::string_view bytes,
                                                   int bit_width,
                                                   std::size_t count);

// Packs short runs bit by bit, and counts long ones.
std::string write_runs(const std::vector<std::uint32_t>& numbers, int bit_width);

// The values of a column in all row groups. Errors do not name the column: the caller does.
core::Result<FrameColumn> read_column(std::string_view file,
                                      const FileMetadata& metadata,
                                      std::size_t index,
                                      ParquetLimits limits);

}  // namespace assay::store::parquet
