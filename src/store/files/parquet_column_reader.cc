#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"
#include "model/string_pool.h"
#include "store/files/frame.h"
#include "store/files/parquet_format.h"

namespace assay::store::parquet {
namespace {

core::Error too_short() {
  return core::Error{"a page holds fewer values than it says"};
}

// Appends `count` values, which the file holds as `Stored` (little-endian, as are all machines that
// we run on).
template <class Stored, class T>
core::Status append_fixed(std::string_view bytes, std::size_t count, std::vector<T>& rows) {
  if (count > bytes.size() / sizeof(Stored)) return too_short();
  const std::size_t first = rows.size();
  rows.resize(first + count);
  for (std::size_t i = 0; i < count; ++i) {
    Stored value{};
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    rows[first + i] = static_cast<T>(value);
  }
  return {};
}

core::Result<std::string_view> take_counted(std::string_view& bytes) {
  std::uint32_t length = 0;
  if (bytes.size() < sizeof length) return too_short();
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length) return too_short();
  const std::string_view taken = bytes.substr(sizeof length, length);
  bytes.remove_prefix(sizeof length + length);
  return taken;
}

// Moves each value to its row: those of the rows that have one stand packed from `first` on.
template <class T>
void spread(const std::vector<std::uint32_t>& levels, std::size_t first, std::vector<T>& rows) {
  std::size_t from = rows.size();
  rows.resize(first + levels.size());
  for (std::size_t row = levels.size(); row-- > 0;)
    rows[first + row] = levels[row] != 0 ? rows[--from] : T{};
}

// Decodes the pages of one column, whose chunks are appended in the order of their row groups.
class ColumnReader {
 public:
  // A type that has no place in a Frame is an error.
  static core::Result<ColumnReader> make(const SchemaColumn& column, ParquetLimits limits);

  core::Status append(std::string_view file, const ColumnChunk& chunk);

  FrameColumn take();

 private:
  template <class T>
  struct Values {
    std::vector<T> rows;
    std::vector<T> dictionary;  // of the chunk that is being read
  };

  // Texts are kept as ids of `pool_`.
  using AnyValues = std::variant<Values<std::int64_t>, Values<double>, Values<std::uint32_t>>;

  ColumnReader(SchemaColumn column, ParquetLimits limits, AnyValues values)
      : column_(std::move(column)), limits_(limits), values_(std::move(values)) {}

  core::Status append_pages(std::string_view pages, const ColumnChunk& chunk);
  core::Result<std::string_view> unpacked(const PageHeader& page,
                                          std::string_view body,
                                          std::int64_t codec);
  core::Status read_dictionary(const PageHeader& page, std::string_view bytes);
  core::Status append_data(const PageHeader& page, std::string_view bytes);
  core::Result<std::vector<std::uint32_t>> take_levels(const PageHeader& page,
                                                       std::string_view& bytes) const;
  void note_missing(const std::vector<std::uint32_t>& levels, std::size_t present);

  core::Status append_plain(std::string_view bytes,
                            std::size_t count,
                            std::vector<std::int64_t>& rows) const;
  core::Status append_plain(std::string_view bytes,
                            std::size_t count,
                            std::vector<double>& rows) const;
  core::Status append_plain(std::string_view bytes,
                            std::size_t count,
                            std::vector<std::uint32_t>& rows);
  template <class T>
  core::Status append_indexed(std::string_view bytes, std::size_t count, Values<T>& values) const;
  template <class T>
  core::Status append_encoded(std::int64_t encoding,
                              std::string_view bytes,
                              std::size_t count,
                              Values<T>& values);

  SchemaColumn column_;
  ParquetLimits limits_;
  AnyValues values_;
  model::StringPool pool_;
  std::vector<bool> missing_;  // empty while no value is missing
  std::string buffer_;         // the page that is being read
  std::size_t num_rows_ = 0;
  std::int64_t unpacked_bytes_ = 0;
};

core::Result<ColumnReader> ColumnReader::make(const SchemaColumn& column, ParquetLimits limits) {
  const auto reader_of = [&](AnyValues values) {
    return ColumnReader(column, limits, std::move(values));
  };
  if (is(column.converted_type, ConvertedType::kDecimal)) {
    return core::Error{"decimal numbers are not read; write them as double"};
  }
  if (is(column.type, Type::kInt32) || is(column.type, Type::kInt64) ||
      is(column.type, Type::kBoolean)) {
    return reader_of(Values<std::int64_t>{});
  }
  if (is(column.type, Type::kFloat) || is(column.type, Type::kDouble))
    return reader_of(Values<double>{});
  if (is(column.type, Type::kByteArray)) return reader_of(Values<std::uint32_t>{});
  return core::Error{fmt::format(
      "Parquet type {} is not read; write whole numbers, doubles or text", column.type)};
}

core::Status ColumnReader::append(std::string_view file, const ColumnChunk& chunk) {
  if (chunk.in_another_file) return core::Error{"its values are in another file"};
  const bool dictionary_first =
      chunk.dictionary_page_at > 0 && chunk.dictionary_page_at < chunk.data_page_at;
  const std::int64_t begin = dictionary_first ? chunk.dictionary_page_at : chunk.data_page_at;
  const auto size = static_cast<std::int64_t>(file.size());
  if (begin < 0 || begin > size || chunk.packed_bytes < 0 || chunk.packed_bytes > size - begin) {
    return core::Error{"its pages lie outside of the file"};
  }
  std::visit([](auto& values) { values.dictionary.clear(); }, values_);
  return append_pages(
      file.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(chunk.packed_bytes)),
      chunk);
}

core::Status ColumnReader::append_pages(std::string_view pages, const ColumnChunk& chunk) {
  const std::size_t end = num_rows_ + static_cast<std::size_t>(chunk.num_values);
  while (num_rows_ < end) {
    if (pages.empty()) return core::Error{"it holds fewer rows than the file says"};
    const LocatedPageHeader located = ASSAY_TRY(read_page_header(pages));
    const PageHeader& page = located.header;
    pages.remove_prefix(located.size_bytes);
    if (page.packed_bytes < 0 || page.packed_bytes > static_cast<std::int64_t>(pages.size())) {
      return core::Error{"a page is longer than the column"};
    }
    const std::string_view body = pages.substr(0, static_cast<std::size_t>(page.packed_bytes));
    pages.remove_prefix(body.size());
    if (is(page.type, PageType::kIndex)) continue;
    if (page.num_values < 0 || page.num_values > limits_.max_rows) {
      return core::Error{fmt::format("a page says that it holds {} values", page.num_values)};
    }
    const std::string_view bytes = ASSAY_TRY(unpacked(page, body, chunk.codec));
    core::Status done;
    if (is(page.type, PageType::kDictionary)) {
      done = read_dictionary(page, bytes);
    } else if (static_cast<std::size_t>(page.num_values) > end - num_rows_) {
      return core::Error{"its pages hold more rows than the file says"};
    } else {
      done = append_data(page, bytes);
    }
    if (!done.ok()) return done.error();
  }
  return {};
}

core::Result<std::string_view> ColumnReader::unpacked(const PageHeader& page,
                                                      std::string_view body,
                                                      std::int64_t codec) {
  unpacked_bytes_ += std::max<std::int64_t>(page.unpacked_bytes, 0);
  if (page.unpacked_bytes < 0 || page.unpacked_bytes > limits_.max_page_bytes ||
      unpacked_bytes_ > limits_.max_column_bytes) {
    return core::Error{fmt::format("a page says that it unpacks to {} bytes", page.unpacked_bytes)};
  }
  const auto size = static_cast<std::size_t>(page.unpacked_bytes);
  if (!is(page.type, PageType::kDataV2)) return unpack(codec, body, size, buffer_);
  const std::int64_t levels = page.definition_level_bytes;
  if (page.repetition_level_bytes != 0 || levels < 0 ||
      levels > std::min<std::int64_t>(page.unpacked_bytes, page.packed_bytes)) {
    return core::Error{"a page gives wrong sizes of its levels"};
  }
  if (!page.values_packed) return body;
  const auto level_bytes = static_cast<std::size_t>(levels);
  std::string values;
  const std::string_view unpacked_values =
      ASSAY_TRY(unpack(codec, body.substr(level_bytes), size - level_bytes, values));
  buffer_ = std::string(body.substr(0, level_bytes)).append(unpacked_values);
  return std::string_view(buffer_);
}

core::Status ColumnReader::read_dictionary(const PageHeader& page, std::string_view bytes) {
  if (!is(page.encoding, Encoding::kPlain) && !is(page.encoding, Encoding::kPlainDictionary)) {
    return core::Error{fmt::format("its dictionary has encoding {}", page.encoding)};
  }
  const auto count = static_cast<std::size_t>(page.num_values);
  return std::visit(
      [&](auto& values) {
        values.dictionary.clear();
        return append_plain(bytes, count, values.dictionary);
      },
      values_);
}

core::Result<std::vector<std::uint32_t>> ColumnReader::take_levels(const PageHeader& page,
                                                                   std::string_view& bytes) const {
  if (!column_.optional) return std::vector<std::uint32_t>();
  if (!is(page.definition_level_encoding, Encoding::kRunLength)) {
    return core::Error{
        fmt::format("its definition levels have encoding {}", page.definition_level_encoding)};
  }
  std::string_view levels;
  if (is(page.type, PageType::kDataV2)) {
    levels = bytes.substr(0, static_cast<std::size_t>(page.definition_level_bytes));
    bytes.remove_prefix(levels.size());
  } else {
    levels = ASSAY_TRY(take_counted(bytes));
  }
  return read_runs(levels, 1, static_cast<std::size_t>(page.num_values));
}

core::Status ColumnReader::append_data(const PageHeader& page, std::string_view bytes) {
  if (!is(page.type, PageType::kData) && !is(page.type, PageType::kDataV2)) {
    return core::Error{fmt::format("a page has the unknown type {}", page.type)};
  }
  const auto count = static_cast<std::size_t>(page.num_values);
  const std::vector<std::uint32_t> levels = ASSAY_TRY(take_levels(page, bytes));
  const std::size_t present =
      column_.optional
          ? count - static_cast<std::size_t>(std::count(levels.begin(), levels.end(), 0U))
          : count;
  core::Status done = std::visit(
      [&](auto& values) {
        core::Status appended = append_encoded(page.encoding, bytes, present, values);
        if (appended.ok() && present < count) spread(levels, num_rows_, values.rows);
        return appended;
      },
      values_);
  if (!done.ok()) return done;
  note_missing(levels, present);
  num_rows_ += count;
  return {};
}

void ColumnReader::note_missing(const std::vector<std::uint32_t>& levels, std::size_t present) {
  if (missing_.empty() && (levels.empty() || present == levels.size())) return;
  missing_.resize(num_rows_, false);
  for (const std::uint32_t level : levels)
    missing_.push_back(level == 0);
}

template <class T>
core::Status ColumnReader::append_encoded(std::int64_t encoding,
                                          std::string_view bytes,
                                          std::size_t count,
                                          Values<T>& values) {
  if (is(encoding, Encoding::kPlain)) return append_plain(bytes, count, values.rows);
  if (is(encoding, Encoding::kRunLengthDictionary) || is(encoding, Encoding::kPlainDictionary)) {
    return append_indexed(bytes, count, values);
  }
  if (is(encoding, Encoding::kRunLength) && is(column_.type, Type::kBoolean)) {
    const std::string_view runs = ASSAY_TRY(take_counted(bytes));
    const std::vector<std::uint32_t> bits = ASSAY_TRY(read_runs(runs, 1, count));
    values.rows.insert(values.rows.end(), bits.begin(), bits.end());
    return {};
  }
  return core::Error{fmt::format(
      "encoding {} is not read; write the file with plain or dictionary encoding", encoding)};
}

template <class T>
core::Status ColumnReader::append_indexed(std::string_view bytes,
                                          std::size_t count,
                                          Values<T>& values) const {
  if (count == 0) return {};
  if (bytes.empty()) return too_short();
  const int bit_width = static_cast<std::uint8_t>(bytes[0]);
  const std::vector<std::uint32_t> indices =
      ASSAY_TRY(read_runs(bytes.substr(1), bit_width, count));
  const std::size_t first = values.rows.size();
  values.rows.resize(first + count);
  for (std::size_t i = 0; i < count; ++i) {
    if (indices[i] >= values.dictionary.size()) {
      return core::Error{"a value is not in the column's dictionary"};
    }
    values.rows[first + i] = values.dictionary[indices[i]];
  }
  return {};
}

core::Status ColumnReader::append_plain(std::string_view bytes,
                                        std::size_t count,
                                        std::vector<std::int64_t>& rows) const {
  if (is(column_.type, Type::kBoolean)) {
    if (count > bytes.size() * 8) return too_short();
    for (std::size_t i = 0; i < count; ++i)
      rows.push_back((static_cast<std::uint8_t>(bytes[i / 8]) >> (i % 8)) & 1);
    return {};
  }
  if (is(column_.type, Type::kInt64)) return append_fixed<std::int64_t>(bytes, count, rows);
  if (is(column_.converted_type, ConvertedType::kUint32)) {
    return append_fixed<std::uint32_t>(bytes, count, rows);
  }
  return append_fixed<std::int32_t>(bytes, count, rows);
}

core::Status ColumnReader::append_plain(std::string_view bytes,
                                        std::size_t count,
                                        std::vector<double>& rows) const {
  return is(column_.type, Type::kFloat) ? append_fixed<float>(bytes, count, rows)
                                        : append_fixed<double>(bytes, count, rows);
}

core::Status ColumnReader::append_plain(std::string_view bytes,
                                        std::size_t count,
                                        std::vector<std::uint32_t>& rows) {
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back(pool_.intern(ASSAY_TRY(take_counted(bytes))));
  return {};
}

FrameColumn ColumnReader::take() {
  FrameColumn column{.name = column_.name, .values = {}, .missing = std::move(missing_)};
  if (auto* whole = std::get_if<Values<std::int64_t>>(&values_)) {
    column.values = std::move(whole->rows);
  } else if (auto* real = std::get_if<Values<double>>(&values_)) {
    column.values = std::move(real->rows);
  } else {
    auto& texts = std::get<Values<std::uint32_t>>(values_);
    column.values = TextColumn{std::move(texts.rows), words_of(pool_)};
  }
  return column;
}

}  // namespace

core::Result<FrameColumn> read_column(std::string_view file,
                                      const FileMetadata& metadata,
                                      std::size_t index,
                                      ParquetLimits limits) {
  auto column = ASSAY_TRY(ColumnReader::make(metadata.columns[index], limits));
  for (const RowGroup& group : metadata.row_groups) {
    if (group.columns[index].num_values != group.num_rows) {
      return core::Error{fmt::format("it has {} values in a row group of {} rows",
                                     group.columns[index].num_values, group.num_rows)};
    }
    const core::Status appended = column.append(file, group.columns[index]);
    if (!appended.ok()) return appended.error();
  }
  return column.take();
}

}  // namespace assay::store::parquet
