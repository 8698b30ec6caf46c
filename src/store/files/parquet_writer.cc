#include "store/files/parquet_writer.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "store/files/parquet_column_writer.h"
#include "store/files/parquet_format.h"
#include "store/files/thrift_compact.h"

namespace assay::store {
namespace {

using namespace parquet;  // NOLINT(google-build-using-namespace): this file is part of it

constexpr std::string_view kCreatedBy = "assay";

template <class Enum>
std::int32_t number(Enum value) {
  return static_cast<std::int32_t>(value);
}

Type type_of(const FrameColumn& column) {
  if (std::holds_alternative<TextColumn>(column.values)) return Type::kByteArray;
  return std::holds_alternative<std::vector<double>>(column.values) ? Type::kDouble : Type::kInt64;
}

void write_schema(ThriftWriter& metadata, const Frame& frame) {
  constexpr std::int32_t kOptional = 1;
  metadata.list(2, ThriftType::kStruct, frame.columns.size() + 1);
  metadata.begin();
  metadata.binary(4, "schema");
  metadata.integer(5, static_cast<std::int32_t>(frame.columns.size()));
  metadata.end();
  for (const FrameColumn& column : frame.columns) {
    const Type type = type_of(column);
    metadata.begin();
    metadata.integer(1, number(type));
    metadata.integer(3, kOptional);
    metadata.binary(4, column.name);
    if (type == Type::kByteArray) {
      metadata.integer(6, number(ConvertedType::kUtf8));
      metadata.begin(10);  // the same as a logical type: STRING
      metadata.begin(1);
      metadata.end();
      metadata.end();
    }
    metadata.end();
  }
}

void write_chunk(ThriftWriter& metadata, const FrameColumn& column, const WrittenColumn& written) {
  const bool has_dictionary = written.dictionary_page_at >= 0;
  const Encoding encoding = has_dictionary ? Encoding::kRunLengthDictionary : Encoding::kPlain;
  metadata.begin();
  metadata.integer(2, std::int64_t{0});  // no second copy of the metadata beside the pages
  metadata.begin(3);
  metadata.integer(1, number(type_of(column)));
  metadata.list(2, ThriftType::kInt32, has_dictionary ? 3 : 2);
  if (has_dictionary) metadata.integer_element(number(Encoding::kPlain));
  metadata.integer_element(number(Encoding::kRunLength));
  metadata.integer_element(number(encoding));
  metadata.list(3, ThriftType::kBinary, 1);
  metadata.binary_element(column.name);
  metadata.integer(4, number(Codec::kZstd));
  metadata.integer(5, static_cast<std::int64_t>(column.size()));
  metadata.integer(6, written.unpacked_bytes);
  metadata.integer(7, written.packed_bytes);
  metadata.integer(9, written.data_page_at);
  if (has_dictionary) metadata.integer(11, written.dictionary_page_at);
  metadata.end();
  metadata.end();
}

std::string file_metadata(const Frame& frame, const std::vector<WrittenColumn>& written) {
  const auto num_rows = static_cast<std::int64_t>(frame.num_rows());
  ThriftWriter metadata;
  metadata.begin();
  metadata.integer(1, std::int32_t{2});  // of the format
  write_schema(metadata, frame);
  metadata.integer(3, num_rows);
  metadata.list(4, ThriftType::kStruct, 1);
  metadata.begin();
  metadata.list(1, ThriftType::kStruct, written.size());
  std::int64_t unpacked_bytes = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    write_chunk(metadata, frame.columns[i], written[i]);
    unpacked_bytes += written[i].unpacked_bytes;
  }
  metadata.integer(2, unpacked_bytes);
  metadata.integer(3, num_rows);
  metadata.end();
  metadata.binary(6, kCreatedBy);
  metadata.end();
  return metadata.bytes();
}

}  // namespace

core::Result<std::string> write_parquet(const Frame& frame) {
  if (frame.columns.empty()) return core::Error{"a Parquet file needs at least one column"};
  std::string file(kMagic);
  std::vector<WrittenColumn> written;
  for (const FrameColumn& column : frame.columns) {
    if (column.size() != frame.num_rows()) {
      return core::Error{fmt::format("column \"{}\" has {} rows, the first column {}", column.name,
                                     column.size(), frame.num_rows())};
    }
    written.push_back(ASSAY_TRY(write_column(column, file)));
  }
  const std::string metadata = file_metadata(frame, written);
  file += metadata;
  const auto length = static_cast<std::uint32_t>(metadata.size());
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  return file.append(kMagic);
}

}  // namespace assay::store
