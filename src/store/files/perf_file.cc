#include "store/files/perf_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <unordered_set>
#include <utility>

#include "core/file_kind.h"
#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"
#include "store/files/csv_frame.h"
#include "store/files/parquet.h"
#include "store/files/perf_repair.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

bool is_parquet(std::string_view bytes) {
  return bytes.starts_with("PAR1");
}

core::Status check_is_text(std::string_view bytes) {
  if (bytes.empty()) return core::Error{"the file is empty"};
  if (bytes.starts_with("version https://git-lfs.")) {
    return core::Error{
        "this is a Git LFS pointer, not the table itself; fetch it with \"git lfs pull\""};
  }
  const std::string_view kind = core::foreign_kind(bytes, core::TextFormat::kCsv);
  if (kind.empty()) return {};
  return core::Error{fmt::format("it is {}, neither CSV nor a Parquet file", kind)};
}

bool is_number(std::string_view field) {
  double value = 0;
  const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), value);
  return problem == std::errc() && end == field.data() + field.size();
}

// Its fields are a type's label, GPUs, elements, strategy, layer and time.
bool is_first_allreduce(const std::vector<std::string_view>& fields) {
  return fields.size() == first_allreduce_header().size() && !is_number(fields[0]) &&
         is_number(fields[1]) && is_number(fields[2]) && !is_number(fields[3]) &&
         is_number(fields[5]);
}

std::vector<std::string> text_columns() {
  std::vector<std::string> names(kCommonColumns.begin(), kCommonColumns.end());
  names.insert(names.end(), kFormerColumns.begin(), kFormerColumns.end());
  for (const TableSpec& spec : table_specs()) {
    for (const TableColumn& column : spec.columns) {
      const bool is_text = column.kind == ColumnKind::kText || column.kind == ColumnKind::kDataType;
      if (is_text && std::find(names.begin(), names.end(), column.name) == names.end()) {
        names.push_back(column.name);
      }
    }
  }
  return names;
}

core::Result<Frame> read_text(std::string_view text, model::Warnings& warnings) {
  const core::Status is_text = check_is_text(text);
  if (!is_text.ok()) return is_text.error();
  LineCutter cutter(text);
  std::vector<std::string_view> first;
  if (!ASSAY_TRY(cutter.next(first))) return core::Error{"the file has only empty lines"};
  static const std::vector<std::string> names = text_columns();
  CsvFrameOptions options{.text_columns = names};
  if (is_first_allreduce(first)) {
    options.header = first_allreduce_header();
  } else if (std::any_of(first.begin(), first.end(), is_number)) {
    return core::Error{fmt::format(
        "line {}: there are no column names; put the line of names that the table has in front",
        cutter.line())};
  }
  return read_csv_frame(text, warnings, options);
}

std::vector<std::string> missing_columns(const TableSpec& spec, const Frame& rows) {
  std::vector<std::string> missing;
  for (const TableColumn& column : spec.columns) {
    if (column.presence == Presence::kAlways && rows.find(column.name) == nullptr) {
      missing.push_back(column.name);
    }
  }
  return missing;
}

bool has_no_other_columns(const TableSpec& spec, const Frame& rows) {
  const auto is_known = [&](const FrameColumn& column) {
    return spec.find(column.name) != nullptr || is_common_column(column.name) ||
           is_power_column(column.name);
  };
  return std::all_of(rows.columns.begin(), rows.columns.end(), is_known);
}

bool op_name_fits(const TableSpec& spec, const Frame& rows) {
  const FrameColumn* op = rows.find("op_name");
  if (spec.op_names.empty() || op == nullptr || op->size() == 0 || op->is_missing(0)) return true;
  const model::PerfValue value = op->value(0);
  const auto* name = std::get_if<std::string>(&value);
  return name != nullptr &&
         std::find(spec.op_names.begin(), spec.op_names.end(), *name) != spec.op_names.end();
}

bool fits(const TableSpec& spec, const Frame& rows) {
  return missing_columns(spec, rows).empty() && op_name_fits(spec, rows);
}

core::Result<TableSpec> choose_table(const std::string& stem,
                                     const Frame& rows,
                                     model::Warnings& warnings) {
  const std::string fastest(table_of_fastest(stem));
  if (fastest != stem) {
    TableSpec spec = ASSAY_TRY(choose_table(fastest, rows, warnings));
    spec.table += model::kOthersEnding;
    return spec;
  }
  const TableSpec* named = find_table_spec(stem);
  if (named != nullptr && fits(*named, rows)) return *named;
  for (const TableSpec& spec : table_specs()) {
    if (!fits(spec, rows) || !has_no_other_columns(spec, rows)) continue;
    if (named != nullptr) {
      warnings.add("a file named as another table", "read as what its columns are",
                   fmt::format("{} holds {}", stem, spec.table));
    }
    return spec;
  }
  if (named != nullptr) {
    const std::vector<std::string> missing = missing_columns(*named, rows);
    if (missing.empty()) return *named;
    return core::Error{fmt::format("the table {} must have the column {}, which is not there",
                                   named->table, core::join(missing, " and the column "))};
  }
  TableSpec spec = generic_table_spec(stem, rows);
  const bool measures =
      std::any_of(spec.columns.begin(), spec.columns.end(),
                  [](const TableColumn& column) { return column.role != ColumnRole::kKey; });
  if (!measures) {
    return core::Error{"no table of measurements: it has no column of times (latency, in ms)"};
  }
  return spec;
}

Era era_of(bool has_first_columns, bool parquet, std::int64_t old_labels) {
  if (has_first_columns) return Era::kA;
  return parquet || old_labels == 0 ? Era::kC : Era::kB;
}

void warn_of_other_columns(const TableSpec& spec, const Frame& rows, model::Warnings& warnings) {
  for (const FrameColumn& column : rows.columns) {
    if (has_no_other_columns(spec, Frame{{{.name = column.name, .values = {}}}})) continue;
    warnings.add("a column that the table does not have", "read as it is", column.name);
  }
}

template <class T>
void keep(const std::vector<bool>& kept, std::vector<T>& values) {
  std::size_t to = 0;
  for (std::size_t row = 0; row < kept.size(); ++row) {
    if (kept[row]) values[to++] = values[row];
  }
  values.resize(to);
}

void keep(const std::vector<bool>& kept, FrameColumn& column) {
  if (auto* text = std::get_if<TextColumn>(&column.values)) {
    keep(kept, text->codes);
  } else if (auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values)) {
    keep(kept, *whole);
  } else {
    keep(kept, std::get<std::vector<double>>(column.values));
  }
  if (!column.missing.empty()) keep(kept, column.missing);
}

// Describes what is wrong with a row's time; empty if it is good.
std::string_view fault_of_time(const FrameColumn& latency, std::size_t row) {
  if (latency.is_missing(row)) return "no time";
  const double value = std::get<std::vector<double>>(latency.values)[row];
  if (!std::isfinite(value)) return "a time that is no finite number";
  return value < 0 ? "a negative time" : "";
}

void mark_bad_times(const FrameColumn& latency,
                    std::vector<bool>& kept,
                    model::Warnings& warnings) {
  for (std::size_t row = 0; row < kept.size(); ++row) {
    const std::string_view fault = fault_of_time(latency, row);
    if (fault.empty()) continue;
    kept[row] = false;
    warnings.add(fault, "row not read", fmt::format("row {}", row + 1));
  }
}

// A row that is left out already is not counted again.
void mark_bad_sizes(const FrameColumn& size,
                    Presence presence,
                    std::vector<bool>& kept,
                    model::Warnings& warnings) {
  for (std::size_t row = 0; row < kept.size(); ++row) {
    const bool is_missing = size.is_missing(row);
    const bool is_bad = is_missing ? presence == Presence::kAlways : number_at(size, row) < 0;
    if (!is_bad || !kept[row]) continue;
    kept[row] = false;
    warnings.add(is_missing ? "no size" : "a negative size", "row not read",
                 fmt::format("row {}, {}", row + 1, size.name));
  }
}

// Returns the number of rows dropped.
std::int64_t drop_bad_rows(Frame& rows,
                           const TableSpec& spec,
                           const FrameColumn* latency,
                           model::Warnings& warnings) {
  std::vector<bool> kept(rows.num_rows(), true);
  if (latency != nullptr) mark_bad_times(*latency, kept, warnings);
  for (const TableColumn& column : spec.columns) {
    const FrameColumn* size = is_size_column(column) ? rows.find(column.name) : nullptr;
    if (size != nullptr) mark_bad_sizes(*size, column.presence, kept, warnings);
  }
  const std::int64_t dropped = std::count(kept.begin(), kept.end(), false);
  if (dropped == 0) return 0;
  for (FrameColumn& column : rows.columns)
    keep(kept, column);
  return dropped;
}

void count_zeros(const FrameColumn& latency, model::Warnings& warnings) {
  const auto& values = std::get<std::vector<double>>(latency.values);
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (values[row] == 0)
      warnings.add("a time of 0", "read as it is", fmt::format("row {}", row + 1));
  }
}

// The finaliser of splitmix64: a change of one bit changes half of all bits.
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
  return bits ^ (bits >> 31);
}

void add_to_hashes(const FrameColumn& column, std::vector<std::uint64_t>& hashes) {
  const auto add = [&](const auto& values) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    for (std::size_t row = 0; row < hashes.size(); ++row) {
      const std::uint64_t hash =
          column.is_missing(row) ? 0 : mixed(std::hash<Value>{}(values[row]) + 1);
      hashes[row] = mixed(hashes[row] * 31 + hash);
    }
  };
  if (const auto* text = std::get_if<TextColumn>(&column.values)) {
    add(text->codes);
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values)) {
    add(*whole);
  } else {
    add(std::get<std::vector<double>>(column.values));
  }
}

// Keys are compared by hashes of 64 bits: among a million rows the count is wrong with a
// probability of 1 in 30 million.
void count_repeated_keys(const Frame& rows, const TableSpec& spec, model::Warnings& warnings) {
  std::vector<std::uint64_t> hashes(rows.num_rows(), 0);
  for (const FrameColumn& column : rows.columns) {
    const TableColumn* declared = spec.find(column.name);
    if (is_common_column(column.name) ||
        (declared != nullptr && declared->role == ColumnRole::kKey)) {
      add_to_hashes(column, hashes);
    }
  }
  std::unordered_set<std::uint64_t> seen;
  seen.reserve(hashes.size());
  for (std::size_t row = 0; row < hashes.size(); ++row) {
    if (seen.insert(hashes[row]).second) continue;
    warnings.add("a row with the key of an earlier one", "read as it is",
                 fmt::format("row {}", row + 1));
  }
}

// Drops rows without a usable time or size, and returns how many; only counts times of 0 and
// repeated keys.
std::int64_t check_rows(Frame& rows, const TableSpec& spec, model::Warnings& warnings) {
  const FrameColumn* latency = spec.latency() == nullptr ? nullptr : rows.find("latency");
  const std::int64_t dropped = drop_bad_rows(rows, spec, latency, warnings);
  if (latency != nullptr) count_zeros(*latency, warnings);
  count_repeated_keys(rows, spec, warnings);
  return dropped;
}

core::Result<PerfFile> repaired(Frame rows,
                                const std::filesystem::path& path,
                                bool parquet,
                                model::Warnings& warnings) {
  bool is_first = rename_old_columns(rows, warnings);
  read_times(rows, path.stem().string(), warnings);
  keep_measured_power(rows, warnings);
  const TableSpec spec = ASSAY_TRY(choose_table(path.stem().string(), rows, warnings));
  if (spec.latency() != nullptr && spec.latency()->name != "latency" && rows.find("latency")) {
    return core::Error{fmt::format("two columns of times: {} and latency", spec.latency()->name)};
  }
  warn_of_other_columns(spec, rows, warnings);
  is_first = add_common_columns(rows, spec, path, warnings) || is_first;
  const core::Status converted = convert_kinds(rows, spec);
  if (!converted.ok()) return converted.error();
  const std::int64_t old_labels = relabel_types(rows, spec, "float16", "bfloat16");
  if (old_labels > 0) {
    warnings.add("the label float16 of earlier tables", "read as bfloat16", spec.table, old_labels);
  }
  to_latency_ms(rows, spec);
  const std::int64_t dropped = check_rows(rows, spec, warnings);
  order_columns(rows, spec);
  return PerfFile{spec.table, era_of(is_first, parquet, old_labels), std::move(rows), dropped};
}

}  // namespace

core::Result<PerfFile> parse_perf_file(std::string_view bytes,
                                       const std::filesystem::path& path,
                                       model::Warnings& warnings) {
  const bool parquet = is_parquet(bytes);
  Frame rows = ASSAY_TRY(parquet ? read_parquet(bytes) : read_text(bytes, warnings));
  return repaired(std::move(rows), path, parquet, warnings);
}

core::Result<PerfFile> read_perf_file(const std::filesystem::path& path,
                                      model::Warnings& warnings) {
  const core::MappedFile file = ASSAY_TRY(core::MappedFile::open(path));
  model::Warnings found;
  auto read = parse_perf_file(file.bytes(), path, found);
  for (const model::Warning& warning : found.all()) {
    warnings.add(warning.reason, warning.effect,
                 fmt::format("{}: {}", path.string(), warning.example), warning.count);
  }
  if (!read.ok()) return read.error().context(path.string());
  return read;
}

core::Result<std::string> format_perf_file(const std::string& table,
                                           const Frame& rows,
                                           PerfFileStyle style) {
  const TableSpec* declared = find_table_spec(table);
  const TableSpec spec = declared != nullptr ? *declared : generic_table_spec(table, rows);
  Frame written = rows;
  from_latency_ms(written, spec);
  const core::Status converted = convert_kinds(written, spec);
  if (!converted.ok()) return converted.error();
  if (style.labels == Labels::kOld) relabel_types(written, spec, "bfloat16", "float16");
  std::vector<std::string> missing = missing_columns(spec, written);
  for (const std::string_view name : kCommonColumns) {
    if (written.find(name) == nullptr) missing.emplace_back(name);
  }
  if (!missing.empty()) {
    return core::Error{fmt::format("rows of {} must have the column {}", table,
                                   core::join(missing, " and the column "))};
  }
  order_columns(written, spec);
  if (style.format == FileFormat::kParquet) return write_parquet(written);
  return write_csv_frame(written);
}

core::Status write_perf_file(const std::string& table,
                             const Frame& rows,
                             PerfFileStyle style,
                             const std::filesystem::path& path) {
  return core::write_file(path, ASSAY_TRY(format_perf_file(table, rows, style)));
}

}  // namespace assay::store
