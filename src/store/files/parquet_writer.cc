#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/files/parquet.h"
#include "store/files/parquet_format.h"
#include "store/files/thrift_compact.h"

namespace assay::store::parquet {
namespace {

// Readers hold one page at a time in memory.
constexpr std::size_t kRowsPerPage = 1 << 17;
// Columns with more different numbers than this hardly repeat any, and a dictionary would only cost
// space.
constexpr std::size_t kLargestNumberDictionary = 1 << 14;
// The format counts the bytes of a page in 31 bits.
constexpr std::size_t kMaxPageBytes = std::numeric_limits<std::int32_t>::max();

template <class Enum>
std::int32_t number(Enum value) {
  return static_cast<std::int32_t>(value);
}

template <class T>
void append_little_endian(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_counted(std::string& bytes, std::string_view content) {
  append_little_endian(bytes, static_cast<std::uint32_t>(content.size()));
  bytes += content;
}

// A column as it goes into the file: `indices` into `dictionary`, or `plain` values without a
// dictionary. Rows without a value are in neither.
struct EncodedColumn {
  std::string dictionary;
  std::size_t dictionary_size = 0;
  std::vector<std::uint32_t> indices;
  std::vector<std::uint64_t> plain;  // bits
};

template <class T>
std::vector<T> present_values(const FrameColumn& column, const std::vector<T>& rows) {
  if (column.missing.empty()) return rows;
  std::vector<T> values;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!column.is_missing(row)) values.push_back(rows[row]);
  }
  return values;
}

// The dictionary holds only the words that rows have, in the order of their first row.
EncodedColumn encode_text(const FrameColumn& column, const TextColumn& text) {
  constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();
  EncodedColumn encoded;
  encoded.indices = present_values(column, text.codes);
  std::vector<std::uint32_t> index_of(text.words.size(), kUnseen);
  for (std::uint32_t& code : encoded.indices) {
    std::uint32_t& index = index_of[code];
    if (index == kUnseen) {
      index = static_cast<std::uint32_t>(encoded.dictionary_size++);
      append_counted(encoded.dictionary, text.words[code]);
    }
    code = index;
  }
  return encoded;
}

EncodedColumn encode_numbers(std::vector<std::uint64_t> values) {
  EncodedColumn encoded;
  std::unordered_map<std::uint64_t, std::uint32_t> index_of;
  for (const std::uint64_t value : values) {
    const auto next = static_cast<std::uint32_t>(index_of.size());
    const auto [found, is_new] = index_of.try_emplace(value, next);
    if (is_new) append_little_endian(encoded.dictionary, value);
    if (index_of.size() > kLargestNumberDictionary || index_of.size() * 2 > values.size() + 2) {
      return {.dictionary = {}, .dictionary_size = 0, .indices = {}, .plain = std::move(values)};
    }
    encoded.indices.push_back(found->second);
  }
  encoded.dictionary_size = index_of.size();
  return encoded;
}

EncodedColumn encode(const FrameColumn& column) {
  if (const auto* text = std::get_if<TextColumn>(&column.values)) return encode_text(column, *text);
  std::vector<std::uint64_t> bits;
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values)) {
    for (const std::int64_t value : present_values(column, *whole))
      bits.push_back(std::bit_cast<std::uint64_t>(value));
  } else {
    for (const double value : present_values(column, std::get<std::vector<double>>(column.values)))
      bits.push_back(std::bit_cast<std::uint64_t>(value));
  }
  return encode_numbers(std::move(bits));
}

struct WrittenColumn {
  std::int64_t dictionary_page_at = -1;
  std::int64_t data_page_at = 0;
  std::int64_t packed_bytes = 0;
  std::int64_t unpacked_bytes = 0;
};

// Encodes a column into pages, which it appends to the file.
class ColumnWriter {
 public:
  ColumnWriter(const FrameColumn& column, std::string& file)
      : column_(column), encoded_(encode(column)), file_(file) {}

  core::Result<WrittenColumn> write() {
    if (encoded_.dictionary.size() > kMaxPageBytes) {
      return core::Error{
          fmt::format("column \"{}\": its different texts take {} bytes; Parquet allows {}",
                      column_.name, encoded_.dictionary.size(), kMaxPageBytes)};
    }
    if (encoded_.dictionary_size > 0) write_dictionary();
    written_.data_page_at = static_cast<std::int64_t>(file_.size());
    for (std::size_t row = 0; row < column_.size(); row += kRowsPerPage)
      write_rows(row, std::min(row + kRowsPerPage, column_.size()));
    return written_;
  }

 private:
  [[nodiscard]] int index_width() const {
    return static_cast<int>(std::bit_width(encoded_.dictionary_size - 1));
  }

  void write_dictionary() {
    written_.dictionary_page_at = static_cast<std::int64_t>(file_.size());
    ThriftWriter header;
    const std::string packed = begin_page(header, PageType::kDictionary, encoded_.dictionary);
    header.begin(7);
    header.integer(1, static_cast<std::int32_t>(encoded_.dictionary_size));
    header.integer(2, number(Encoding::kPlain));
    header.end();
    end_page(header, packed);
  }

  void write_rows(std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> levels;
    for (std::size_t row = begin; row < end; ++row)
      levels.push_back(column_.is_missing(row) ? 0 : 1);
    std::string body;
    append_counted(body, write_runs(levels, 1));
    append_values(static_cast<std::size_t>(std::count(levels.begin(), levels.end(), 1U)), body);
    ThriftWriter header;
    const std::string packed = begin_page(header, PageType::kData, body);
    header.begin(5);
    header.integer(1, static_cast<std::int32_t>(end - begin));
    header.integer(2, number(encoded_.dictionary_size > 0 ? Encoding::kRunLengthDictionary
                                                          : Encoding::kPlain));
    header.integer(3, number(Encoding::kRunLength));
    header.integer(4, number(Encoding::kRunLength));
    header.end();
    end_page(header, packed);
  }

  void append_values(std::size_t count, std::string& body) {
    const std::size_t end = next_value_ + count;
    if (encoded_.dictionary_size > 0) {
      body += static_cast<char>(index_width());
      body += write_runs({encoded_.indices.begin() + static_cast<std::ptrdiff_t>(next_value_),
                          encoded_.indices.begin() + static_cast<std::ptrdiff_t>(end)},
                         index_width());
    } else {
      for (std::size_t i = next_value_; i < end; ++i)
        append_little_endian(body, encoded_.plain[i]);
    }
    next_value_ = end;
  }

  std::string begin_page(ThriftWriter& header, PageType type, std::string_view body) {
    std::string packed = pack_zstd(body);
    written_.unpacked_bytes += static_cast<std::int64_t>(body.size());
    header.begin();
    header.integer(1, number(type));
    header.integer(2, static_cast<std::int32_t>(body.size()));
    header.integer(3, static_cast<std::int32_t>(packed.size()));
    return packed;
  }

  void end_page(ThriftWriter& header, std::string_view packed) {
    header.end();
    file_ += header.bytes();
    file_ += packed;
    const auto header_bytes = static_cast<std::int64_t>(header.bytes().size());
    written_.unpacked_bytes += header_bytes;
    written_.packed_bytes += header_bytes + static_cast<std::int64_t>(packed.size());
  }

  const FrameColumn& column_;
  EncodedColumn encoded_;
  std::string& file_;
  WrittenColumn written_;
  std::size_t next_value_ = 0;
};

constexpr std::string_view kCreatedBy = "assay";

Type type_of(const FrameColumn& column) {
  if (std::holds_alternative<TextColumn>(column.values)) return Type::kByteArray;
  return std::holds_alternative<std::vector<double>>(column.values) ? Type::kDouble : Type::kInt64;
}

void write_schema(ThriftWriter& metadata, const Frame& frame) {
  metadata.list(2, ThriftType::kStruct, frame.columns.size() + 1);
  metadata.begin();
  metadata.binary(4, "schema");
  metadata.integer(5, static_cast<std::int32_t>(frame.columns.size()));
  metadata.end();
  for (const FrameColumn& column : frame.columns) {
    const Type type = type_of(column);
    metadata.begin();
    metadata.integer(1, number(type));
    metadata.integer(3, number(Repetition::kOptional));
    metadata.binary(4, column.name);
    if (type == Type::kByteArray) {
      metadata.integer(6, number(ConvertedType::kUtf8));
      metadata.begin(10);  // says the same as a logical type: STRING
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
  metadata.integer(2, std::int64_t{0});  // there is no second copy of the metadata beside the pages
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
  metadata.integer(1, std::int32_t{2});  // the version of the format
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
}  // namespace assay::store::parquet

namespace assay::store {

core::Result<std::string> write_parquet(const Frame& frame) {
  if (frame.columns.empty()) return core::Error{"a Parquet file needs at least one column"};
  std::string file(parquet::kMagic);
  std::vector<parquet::WrittenColumn> written;
  for (const FrameColumn& column : frame.columns) {
    if (column.size() != frame.num_rows()) {
      return core::Error{fmt::format("column \"{}\" has {} rows, the first column {}", column.name,
                                     column.size(), frame.num_rows())};
    }
    written.push_back(ASSAY_TRY(parquet::ColumnWriter(column, file).write()));
  }
  const std::string metadata = parquet::file_metadata(frame, written);
  file += metadata;
  const auto length = static_cast<std::uint32_t>(metadata.size());
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  return file.append(parquet::kMagic);
}

}  // namespace assay::store
