#include <fmt/core.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "core/counted.h"
#include "core/files.h"
#include "store/files/parquet.h"
#include "store/files/parquet_format.h"
#include "store/files/thrift_compact.h"

namespace assay::store::parquet {
namespace {

constexpr std::string_view kEncryptedMagic = "PARE";
constexpr std::size_t kFooterBytes = 8;  // length of the metadata and magic

core::Status check_size(const FileMetadata& metadata, ParquetLimits limits) {
  const auto columns = static_cast<std::int64_t>(metadata.columns.size());
  if (columns == 0) return core::Error{"the Parquet file has no columns"};
  const std::int64_t rows = metadata.num_rows;
  if (rows < 0 || rows > limits.max_rows || rows > limits.max_cells / columns) {
    return core::Error{fmt::format(
        "the Parquet file says that it holds {} of {}; at most {} rows and {} values are read",
        core::counted(rows, "row"), core::counted(columns, "column"), limits.max_rows,
        limits.max_cells)};
  }
  return {};
}

core::Status check_row_groups(const FileMetadata& metadata) {
  std::int64_t rows_left = metadata.num_rows;
  for (const RowGroup& group : metadata.row_groups) {
    if (group.columns.size() != metadata.columns.size()) {
      return core::Error{fmt::format("the Parquet file has {}, but a row group has {}",
                                     core::counted(metadata.columns.size(), "column"),
                                     group.columns.size())};
    }
    if (group.num_rows < 0 || group.num_rows > rows_left) {
      return core::Error{"the row groups of the Parquet file hold more rows than it says"};
    }
    rows_left -= group.num_rows;
  }
  if (rows_left > 0) {
    return core::Error{fmt::format("the Parquet file says that it holds {}, but {} not there",
                                   core::counted(metadata.num_rows, "row"),
                                   core::counted(rows_left, "of them is", "of them are"))};
  }
  return {};
}

bool ends(const ThriftField& field) {
  return field.type == ThriftType::kStop;
}

struct SchemaElement {
  SchemaColumn column;
  std::int64_t repetition = 0;
  std::int64_t num_children = 0;
};

SchemaElement read_schema_element(ThriftReader& reader) {
  SchemaElement element;
  for (auto field = reader.enter(); !ends(field); field = reader.next(field)) {
    switch (field.id) {
      case 1:
        element.column.type = reader.integer(field);
        break;
      case 3:
        element.repetition = reader.integer(field);
        break;
      case 4:
        element.column.name = reader.binary(field);
        break;
      case 5:
        element.num_children = reader.integer(field);
        break;
      case 6:
        element.column.converted_type = reader.integer(field);
        break;
      default:
        reader.skip(field);
    }
  }
  element.column.optional = is(element.repetition, Repetition::kOptional);
  return element;
}

void read_schema(ThriftReader& reader, const ThriftField& field, FileMetadata& metadata) {
  const std::size_t count = reader.list(field, ThriftType::kStruct);
  for (std::size_t i = 0; i < count && reader.ok(); ++i) {
    SchemaElement element = read_schema_element(reader);
    if (i == 0) continue;  // the table itself
    if (element.num_children > 0 || is(element.repetition, Repetition::kRepeated)) {
      reader.fail("its column \"" + element.column.name +
                  "\" is nested or a list; only flat tables are read");
    }
    metadata.columns.push_back(std::move(element.column));
  }
}

void read_chunk_metadata(ThriftReader& reader, ColumnChunk& chunk) {
  for (auto field = reader.enter(); !ends(field); field = reader.next(field)) {
    switch (field.id) {
      case 4:
        chunk.codec = reader.integer(field);
        break;
      case 5:
        chunk.num_values = reader.integer(field);
        break;
      case 7:
        chunk.packed_bytes = reader.integer(field);
        break;
      case 9:
        chunk.data_page_at = reader.integer(field);
        break;
      case 11:
        chunk.dictionary_page_at = reader.integer(field);
        break;
      default:
        reader.skip(field);
    }
  }
}

ColumnChunk read_chunk(ThriftReader& reader) {
  ColumnChunk chunk;
  bool described = false;
  for (auto field = reader.enter(); !ends(field); field = reader.next(field)) {
    if (field.id == 1) {
      chunk.in_another_file = !reader.binary(field).empty();
    } else if (field.id == 3 && reader.structure(field)) {
      read_chunk_metadata(reader, chunk);
      described = true;
    } else {
      reader.skip(field);
    }
  }
  if (!described) reader.fail("its metadata does not say where a column is (encrypted?)");
  return chunk;
}

RowGroup read_row_group(ThriftReader& reader) {
  RowGroup group;
  for (auto field = reader.enter(); !ends(field); field = reader.next(field)) {
    if (field.id == 1) {
      const std::size_t count = reader.list(field, ThriftType::kStruct);
      for (std::size_t i = 0; i < count && reader.ok(); ++i)
        group.columns.push_back(read_chunk(reader));
    } else if (field.id == 3) {
      group.num_rows = reader.integer(field);
    } else {
      reader.skip(field);
    }
  }
  return group;
}

FileMetadata read_metadata(ThriftReader& reader) {
  FileMetadata metadata;
  for (auto field = reader.enter(); !ends(field); field = reader.next(field)) {
    if (field.id == 2) {
      read_schema(reader, field, metadata);
    } else if (field.id == 3) {
      metadata.num_rows = reader.integer(field);
    } else if (field.id == 4) {
      const std::size_t count = reader.list(field, ThriftType::kStruct);
      for (std::size_t i = 0; i < count && reader.ok(); ++i)
        metadata.row_groups.push_back(read_row_group(reader));
    } else {
      reader.skip(field);
    }
  }
  return metadata;
}

void read_data_page_header(ThriftReader& reader, PageHeader& page) {
  for (auto field = reader.enter(); !ends(field); field = reader.next(field)) {
    if (field.id == 1) {
      page.num_values = reader.integer(field);
    } else if (field.id == 2) {
      page.encoding = reader.integer(field);
    } else if (field.id == 3 && page.type == static_cast<std::int64_t>(PageType::kData)) {
      page.definition_level_encoding = reader.integer(field);
    } else {
      reader.skip(field);
    }
  }
}

void read_data_page_v2_header(ThriftReader& reader, PageHeader& page) {
  for (auto field = reader.enter(); !ends(field); field = reader.next(field)) {
    switch (field.id) {
      case 1:
        page.num_values = reader.integer(field);
        break;
      case 4:
        page.encoding = reader.integer(field);
        break;
      case 5:
        page.definition_level_bytes = reader.integer(field);
        break;
      case 6:
        page.repetition_level_bytes = reader.integer(field);
        break;
      case 7:
        page.values_packed = reader.boolean(field);
        break;
      default:
        reader.skip(field);
    }
  }
}

core::Result<FileMetadata> read_file_metadata(std::string_view file, ParquetLimits limits) {
  if (file.substr(0, kMagic.size()) != kMagic) return core::Error{"this is no Parquet file"};
  if (file.ends_with(kEncryptedMagic)) return core::Error{"the Parquet file is encrypted"};
  if (file.size() < kMagic.size() + kFooterBytes || !file.ends_with(kMagic)) {
    return core::Error{"the Parquet file is cut off: its end is missing; copy it again"};
  }
  std::uint32_t length = 0;
  const std::size_t footer_at = file.size() - kFooterBytes;
  std::memcpy(&length, file.data() + footer_at, sizeof length);
  if (length > footer_at - kMagic.size()) {
    return core::Error{"the Parquet file is damaged: its metadata is longer than the file"};
  }
  if (length > limits.max_metadata_bytes) {
    return core::Error{"the Parquet file has more metadata than a table of measurements needs"};
  }
  ThriftReader reader(file.substr(footer_at - length, length));
  FileMetadata metadata = read_metadata(reader);
  if (!reader.ok()) return core::Error{"the Parquet file cannot be read: " + reader.problem()};
  for (const core::Status& check : {check_size(metadata, limits), check_row_groups(metadata)}) {
    if (!check.ok()) return check.error();
  }
  return metadata;
}

}  // namespace

core::Result<LocatedPageHeader> read_page_header(std::string_view bytes) {
  ThriftReader reader(bytes);
  PageHeader page;
  for (auto field = reader.enter(); !ends(field); field = reader.next(field)) {
    if (field.id == 1) {
      page.type = reader.integer(field);
    } else if (field.id == 2) {
      page.unpacked_bytes = reader.integer(field);
    } else if (field.id == 3) {
      page.packed_bytes = reader.integer(field);
    } else if ((field.id == 5 || field.id == 7) && reader.structure(field)) {
      read_data_page_header(reader, page);
    } else if (field.id == 8 && reader.structure(field)) {
      read_data_page_v2_header(reader, page);
    } else {
      reader.skip(field);
    }
  }
  if (!reader.ok()) return core::Error{"the header of a page is damaged: " + reader.problem()};
  return LocatedPageHeader{page, reader.consumed()};
}

}  // namespace assay::store::parquet

namespace assay::store {

core::Result<Frame> read_parquet(std::string_view bytes, ParquetLimits limits) {
  const parquet::FileMetadata metadata = ASSAY_TRY(parquet::read_file_metadata(bytes, limits));
  Frame frame;
  std::set<std::string> names;
  for (std::size_t i = 0; i < metadata.columns.size(); ++i) {
    if (!names.insert(metadata.columns[i].name).second) {
      return core::Error{
          fmt::format("the Parquet file has two columns \"{}\"", metadata.columns[i].name)};
    }
    auto column = parquet::read_column(bytes, metadata, i, limits);
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
