// Decodes the pages of one column of a Parquet file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"
#include "model/string_pool.h"
#include "store/files/frame.h"
#include "store/files/parquet_format.h"
#include "store/files/parquet_reader.h"

namespace assay::store::parquet {

// Chunks are appended in the order of their row groups. Errors do not name the column: the caller
// does.
class ColumnReader {
 public:
  // Errors: a type that has no place in a Frame.
  static core::Result<ColumnReader> make(const SchemaColumn& column, ParquetLimits limits);

  core::Status append(std::string_view file, const ColumnChunk& chunk);

  FrameColumn take();

 private:
  template <class T>
  struct Values {
    std::vector<T> rows;
    std::vector<T> dictionary;  // of the chunk being read
  };

  // Texts are ids of `pool_`.
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
  std::vector<bool> missing_;  // empty while none is
  std::string buffer_;         // the page being read
  std::size_t num_rows_ = 0;
  std::int64_t unpacked_bytes_ = 0;
};

}  // namespace assay::store::parquet
