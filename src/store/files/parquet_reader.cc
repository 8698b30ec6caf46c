#include "store/files/parquet_reader.h"

#include <fmt/core.h>

#include <set>
#include <string>
#include <utility>

#include "core/files.h"
#include "store/files/parquet_column.h"
#include "store/files/parquet_metadata.h"

namespace assay::store {
namespace {

using parquet::FileMetadata;
using parquet::RowGroup;

core::Status check_size(const FileMetadata& metadata, ParquetLimits limits) {
  const auto columns = static_cast<std::int64_t>(metadata.columns.size());
  if (columns == 0) return core::Error{"the Parquet file has no columns"};
  const std::int64_t rows = metadata.num_rows;
  if (rows < 0 || rows > limits.max_rows || rows > limits.max_cells / columns) {
    return core::Error{fmt::format(
        "the Parquet file says that it holds {} rows of {} columns; at most {} rows and {} values "
        "are read",
        rows, columns, limits.max_rows, limits.max_cells)};
  }
  return {};
}

core::Status check_row_groups(const FileMetadata& metadata) {
  std::int64_t rows_left = metadata.num_rows;
  for (const RowGroup& group : metadata.row_groups) {
    if (group.columns.size() != metadata.columns.size()) {
      return core::Error{fmt::format("the Parquet file has {} columns, but a row group has {}",
                                     metadata.columns.size(), group.columns.size())};
    }
    if (group.num_rows < 0 || group.num_rows > rows_left) {
      return core::Error{"the row groups of the Parquet file hold more rows than it says"};
    }
    rows_left -= group.num_rows;
  }
  if (rows_left > 0) {
    return core::Error{
        fmt::format("the Parquet file says that it holds {} rows, but {} of them are not there",
                    metadata.num_rows, rows_left)};
  }
  return {};
}

core::Result<FrameColumn> read_column(std::string_view file,
                                      const FileMetadata& metadata,
                                      std::size_t index,
                                      ParquetLimits limits) {
  auto column = ASSAY_TRY(parquet::ColumnReader::make(metadata.columns[index], limits));
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

}  // namespace

core::Result<Frame> read_parquet(std::string_view bytes, ParquetLimits limits) {
  const FileMetadata metadata = ASSAY_TRY(parquet::read_file_metadata(bytes, limits));
  for (const core::Status& check : {check_size(metadata, limits), check_row_groups(metadata)}) {
    if (!check.ok()) return check.error();
  }
  Frame frame;
  std::set<std::string> names;
  for (std::size_t i = 0; i < metadata.columns.size(); ++i) {
    if (!names.insert(metadata.columns[i].name).second) {
      return core::Error{
          fmt::format("the Parquet file has two columns \"{}\"", metadata.columns[i].name)};
    }
    auto column = read_column(bytes, metadata, i, limits);
    if (!column.ok()) {
      return column.error().context(fmt::format("column \"{}\"", metadata.columns[i].name));
    }
    frame.columns.push_back(std::move(column).value());
  }
  return frame;
}

core::Result<Frame> read_parquet_file(const std::filesystem::path& path) {
  const core::MappedFile file = ASSAY_TRY(core::MappedFile::open(path));
  auto frame = read_parquet(file.bytes());
  if (!frame.ok()) return frame.error().context(path.string());
  return frame;
}

}  // namespace assay::store
