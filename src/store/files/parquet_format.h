// What of Parquet's metadata a flat table needs, by the names and numbers of parquet.thrift.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

enum class Codec : std::uint8_t { kUncompressed = 0, kSnappy = 1, kZstd = 6 };

enum class Encoding : std::uint8_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRunLength = 3,
  kRunLengthDictionary = 8,
};

enum class PageType : std::uint8_t { kData = 0, kIndex = 1, kDictionary = 2, kDataV2 = 3 };

enum class ConvertedType : std::uint8_t { kUtf8 = 0, kDecimal = 5, kUint32 = 13, kUint64 = 14 };

// Numbers are kept as the file has them: one that is no Codec or Encoding is an error only where
// it is used.
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
  std::int64_t dictionary_page_at = -1;  // -1: none
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
  // Version 2 only: its levels stand before the values and are never compressed.
  std::int64_t definition_level_bytes = 0;
  std::int64_t repetition_level_bytes = 0;
  bool values_packed = true;
};

}  // namespace assay::store::parquet
