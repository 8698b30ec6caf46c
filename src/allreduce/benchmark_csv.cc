#include "allreduce/benchmark_csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>

#include "allreduce/nccl_setting.h"
#include "core/counted.h"
#include "core/csv.h"
#include "core/file_kind.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;

// Names that TensorRT-LLM has and we do not.
constexpr std::array<std::string_view, 7> kForeignStrategies{
    "MIN_LATENCY", "UB", "LOWPRECISION", "MNNVL", "SYMM_MEM", "FLASHINFER", "NCCL_RING"};
constexpr std::array<std::string_view, 8> kForeignFusions{
    "LAST_PROCESS_FOR_UB",
    "RESIDUAL_RMS_PREPOST_NORM",
    "RESIDUAL_RMS_NORM_OUT_QUANT_FP8",
    "RESIDUAL_RMS_NORM_OUT_QUANT_NVFP4",
    "MOE_FINALIZE_ALLREDUCE_RESIDUAL_RMS_NORM",
    "RMS_NORM",
    "RESIDUAL_RMS_NORM_OUT_QUANT_NVFP4_LINEAR_SF",
    "RESIDUAL_RMS_NORM_OUT_QUANT_MXFP8"};

template <class Names>
bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Far above what any machine can hold, and small enough that no product overflows.
constexpr std::int64_t kMostWorldSize = 1 << 20;
constexpr std::int64_t kMostHidden = 1 << 28;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  names.reserve(kStrategies.size());
  for (const StrategySpec& spec : kStrategies)
    names.emplace_back(spec.name);
  return names;
}

template <class Names>
std::vector<std::string> words(const Names& names) {
  return {names.begin(), names.end()};
}

core::Status check_size(const BenchmarkRow& row, const Cell& cell) {
  const std::string_view text = row.text(Column::kSize);
  if (text.empty() || row.whole_number(Column::kSize) == cell.size_bytes()) return {};
  return core::Error{fmt::format("size is '{}', but {} tokens of {} {} elements are {} bytes", text,
                                 cell.num_tokens, cell.hidden_size, name_of(cell.data_type),
                                 cell.size_bytes())};
}

core::Result<Cell> read_cell(const BenchmarkRow& row) {
  Cell cell;
  cell.world_size = static_cast<int>(ASSAY_TRY(row.number(Column::kWorldSize, 2, kMostWorldSize)));
  cell.data_type = ASSAY_TRY(row.named(
      Column::kDataType, summed_type_named(row.text(Column::kDataType)), words(kDataTypeNames)));
  cell.fusion = ASSAY_TRY(
      row.named(Column::kFusion, fusion_named(row.text(Column::kFusion)), words(kFusionNames)));
  cell.hidden_size = ASSAY_TRY(row.number(Column::kHiddenSize, 1, kMostHidden));
  cell.num_tokens = ASSAY_TRY(row.number(Column::kNumTokens, 1, kMostTokens));
  ASSAY_TRY(check_size(row, cell));
  return cell;
}

core::Status read_times(const BenchmarkRow& row, Measurement& m) {
  constexpr double kMicrosecondsOfMillisecond = 1000;
  if (!row.has_no_public_time()) m.time_us = ASSAY_TRY(row.time(Column::kTimeUs));
  if (std::isnan(m.time_us)) {
    m.time_us = ASSAY_TRY(row.time(Column::kTimeMs)) * kMicrosecondsOfMillisecond;
  }
  m.low_us = ASSAY_TRY(row.time(Column::kLow));
  m.high_us = ASSAY_TRY(row.time(Column::kHigh));
  m.min_us = ASSAY_TRY(row.time(Column::kMin));
  if (m.low_us > m.high_us) {
    return core::Error{fmt::format("low (us) {} is above high (us) {}", m.low_us, m.high_us)};
  }
  if (m.time_us < m.low_us || m.time_us > m.high_us) {
    return core::Error{fmt::format("time (us) {} is outside of low (us) {} to high (us) {}",
                                   m.time_us, m.low_us, m.high_us)};
  }
  return {};
}

core::Status read_outcome(const BenchmarkRow& row, Measurement& m) {
  const std::string_view text = row.text(Column::kOutcome);
  m.reason = core::csv_meaning(row.text(Column::kReason));
  if (text.empty()) {
    if (!std::isnan(m.time_us)) return {};
    m.outcome = Outcome::kUnsupported;
    m.reason = "the benchmark file has no time for it";
    return {};
  }
  std::optional<Outcome> outcome;
  if (const auto* found = std::find(kOutcomeNames.begin(), kOutcomeNames.end(), text);
      found != kOutcomeNames.end()) {
    outcome = static_cast<Outcome>(found - kOutcomeNames.begin());
  }
  m.outcome = ASSAY_TRY(row.named(Column::kOutcome, outcome, words(kOutcomeNames)));
  if (m.outcome == Outcome::kOk && std::isnan(m.time_us)) {
    return core::Error{"outcome is 'ok', but there is no time"};
  }
  return {};
}

core::Result<Measurement> read_measurement(const BenchmarkRow& row, Launch launch_of_file) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Measurement m;
  m.cell = ASSAY_TRY(read_cell(row));
  m.strategy = ASSAY_TRY(
      row.named(Column::kStrategy, strategy_named(row.text(Column::kStrategy)), strategy_names()));
  m.launch = launch_of_file;
  if (const std::string_view launch = row.text(Column::kLaunch); !launch.empty()) {
    m.launch = ASSAY_TRY(row.named(Column::kLaunch, launch_named(launch), words(kLaunchNames)));
  }
  ASSAY_TRY(read_times(row, m));
  if (!row.text(Column::kSamples).empty()) {
    m.samples = ASSAY_TRY(row.number(Column::kSamples, 0, kMost));
  }
  if (!row.text(Column::kMemory).empty()) {
    m.memory_bytes = ASSAY_TRY(row.number(Column::kMemory, 0, kMost));
  }
  ASSAY_TRY(read_outcome(row, m));
  return m;
}

// Rows of NCCL with one of its settings are read by parse_nccl_csv(): they are no strategies to
// choose from.
bool is_of_nccl_setting(const BenchmarkRow& row) {
  return nccl_setting_named(row.text(Column::kStrategy)).has_value();
}

// Returns why the row is none of ours, as where it has a part that only TensorRT-LLM has; or "". A
// script that loops over numbers of ranks also makes rows of one.
std::string foreign(const BenchmarkRow& row) {
  const std::string_view op = row.text(Column::kOp);
  const std::string_view strategy = row.text(Column::kStrategy);
  const std::string_view fusion = row.text(Column::kFusion);
  if (row.text(Column::kWorldSize) == "1") return "one rank reduces nothing";
  if (!op.empty() && op != "allreduce") return fmt::format("op {} is not known here", op);
  if (has(kForeignStrategies, strategy))
    return fmt::format("strategy {} is not known here", strategy);
  if (has(kForeignFusions, fusion)) return fmt::format("fusion {} is not known here", fusion);
  return {};
}

// A name without a data type does not imply bfloat16, because the public tool names no data type.
core::Status check_name(const Measurement& m, const std::optional<BenchmarkFileName>& name) {
  if (!name) return {};
  if (m.cell.world_size != name->world_size) {
    return core::Error{fmt::format("world_size is {}, but the file's name says tp{}",
                                   m.cell.world_size, name->world_size)};
  }
  if (name->data_type != DataType::kBfloat16 && m.cell.data_type != name->data_type) {
    return core::Error{fmt::format("dtype is {}, but the file's name says {}",
                                   name_of(m.cell.data_type), name_of(name->data_type))};
  }
  if (m.launch != name->launch) {
    return core::Error{fmt::format("launch is {}, but the file's name says {}", name_of(m.launch),
                                   name_of(name->launch))};
  }
  return {};
}

core::Result<Measurement> read_row(const BenchmarkRow& row,
                                   const std::optional<BenchmarkFileName>& name) {
  Measurement m = ASSAY_TRY(read_measurement(row, name ? name->launch : Launch::kGraph));
  ASSAY_TRY(check_name(m, name));
  return m;
}

}  // namespace

core::Result<std::vector<Measurement>> parse_benchmark_csv(std::string_view text,
                                                           const fs::path& path,
                                                           model::Warnings* warnings) {
  const auto at = [&](const std::string& problem) {
    return core::Error{fmt::format("'{}', {}", path.string(), problem)};
  };
  if (text.find('\n') == std::string_view::npos && text.find('\r') != std::string_view::npos)
    return at("all lines end with a carriage return alone; write them with line feeds");
  const auto records = core::parse_csv(text);
  if (!records.ok()) return at(records.error().message);
  if (records.value().empty()) return core::Error{fmt::format("'{}' is empty", path.string())};
  const core::CsvRecord& first = records.value().front();
  const auto columns = BenchmarkColumns::read(first.fields);
  if (!columns.ok()) return at(fmt::format("line {}: {}", first.line, columns.error().message));

  const auto name = benchmark_file_name(path.filename().string());
  std::vector<Measurement> measurements;
  for (std::size_t r = 1; r < records.value().size(); ++r) {
    const auto& [line, fields] = records.value()[r];
    if (fields.size() != columns.value().width()) {
      return at(fmt::format("line {}: {} under {}", line, core::counted(fields.size(), "field"),
                            core::counted(columns.value().width(), "column")));
    }
    const BenchmarkRow row(columns.value(), fields);
    if (is_of_nccl_setting(row)) continue;
    if (const std::string what = foreign(row); !what.empty()) {
      if (warnings != nullptr) {
        warnings->add(what, "rows left out", fmt::format("'{}', line {}", path.string(), line));
      }
      continue;
    }
    const auto measurement = read_row(row, name);
    if (!measurement.ok()) return at(fmt::format("line {}: {}", line, measurement.error().message));
    measurements.push_back(measurement.value());
  }
  return measurements;
}

core::Result<std::vector<Measurement>> read_benchmark_csv(const fs::path& path,
                                                          model::Warnings* warnings) {
  const std::string text = ASSAY_TRY(core::read_text(path, core::TextFormat::kCsv));
  return parse_benchmark_csv(text, path, warnings);
}

namespace {

enum class Presence : std::uint8_t { kRequired, kOptional };

struct ColumnSpec {
  std::array<std::string_view, 2> names;  // our name, then that of another dialect
  Presence presence = Presence::kOptional;
};

// The name in files of the public microbenchmark.
constexpr std::string_view kPublicTimeUs = "time_us";

// The columns in the order of Column.
constexpr std::array<ColumnSpec, kColumnCount> kColumns{
    {{{"world_size"}, Presence::kRequired},
     {{"dtype"}, Presence::kRequired},
     {{"num_tokens"}, Presence::kRequired},
     {{"hidden_size"}, Presence::kRequired},
     {{"strategy"}, Presence::kRequired},
     {{"fusion", "fusion_op"}, Presence::kRequired},
     {{"time (us)", kPublicTimeUs}},
     {{"time_ms"}},
     {{"size", "size_bytes"}},
     {{"op"}},
     {{"launch"}},
     {{"low (us)"}},
     {{"high (us)"}},
     {{"min (us)"}},
     {{"samples"}},
     {{"memory (bytes)"}},
     {{"outcome"}},
     {{"reason"}}}};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// pandas writes whole numbers as "4096.0" where the column has a gap.
std::optional<std::int64_t> whole_number_in(std::string_view text) {
  if (const auto whole = number_in<std::int64_t>(text)) return whole;
  const auto real = number_in<double>(text);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!real || !(std::fabs(*real) <= kExact) || *real != std::floor(*real)) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

core::Error missing(std::string_view name) {
  return core::Error{fmt::format(
      "no column '{}', so this is no benchmark file; its first line must name its columns", name)};
}

core::Result<std::optional<std::size_t>> place_of(const ColumnSpec& spec,
                                                  const std::vector<std::string>& fields) {
  std::optional<std::size_t> place;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::string_view name = trimmed(fields[f]);
    if (name.empty() || (name != spec.names[0] && name != spec.names[1])) continue;
    if (place) {
      return core::Error{fmt::format("columns '{}' and '{}' say the same; one must go",
                                     trimmed(fields[*place]), name)};
    }
    place = f;
  }
  if (!place && spec.presence == Presence::kRequired) return missing(spec.names[0]);
  return place;
}

std::string_view name_of(Column column) {
  return kColumns.at(static_cast<std::size_t>(column)).names[0];
}

}  // namespace

core::Result<BenchmarkColumns> BenchmarkColumns::read(const std::vector<std::string>& fields) {
  BenchmarkColumns columns;
  columns.width_ = fields.size();
  for (std::size_t c = 0; c < kColumnCount; ++c)
    columns.places_.at(c) = ASSAY_TRY(place_of(kColumns.at(c), fields));
  if (const auto time = columns.place(Column::kTimeUs)) {
    columns.has_public_times_ = trimmed(fields[*time]) == kPublicTimeUs;
  }
  if (!columns.place(Column::kTimeUs) && !columns.place(Column::kTimeMs)) {
    return missing(name_of(Column::kTimeUs));
  }
  return columns;
}

std::string_view BenchmarkRow::text(Column column) const {
  const auto place = columns_.place(column);
  return place ? trimmed(fields_.at(*place)) : std::string_view();
}

bool BenchmarkRow::has_no_public_time() const {
  return columns_.has_public_times() && number_in<double>(text(Column::kTimeUs)) == 0.0;
}

std::optional<std::int64_t> BenchmarkRow::whole_number(Column column) const {
  return whole_number_in(text(column));
}

core::Result<std::int64_t> BenchmarkRow::number(Column column,
                                                std::int64_t least,
                                                std::int64_t most) const {
  const auto number = whole_number(column);
  if (number && *number >= least && *number <= most) return *number;
  return core::Error{fmt::format("{} is '{}': it must be a whole number from {} to {}",
                                 name_of(column), text(column), least, most)};
}

core::Result<double> BenchmarkRow::time(Column column) const {
  const std::string_view field = text(column);
  if (field.empty() || field == "nan" || field == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto time = number_in<double>(field);
  // About 30 years in microseconds. The limit keeps a unit's factor from making a time infinite.
  constexpr double kMost = 1e15;
  constexpr double kLeast = 1e-6;  // a picosecond in microseconds
  if (time && *time >= kLeast && *time <= kMost) return *time;
  return core::Error{
      fmt::format("{} is '{}': it must be a number from {:g} to {:g}, or empty if not measured",
                  name_of(column), field, kLeast, kMost)};
}

core::Error BenchmarkRow::unknown(Column column, const std::vector<std::string>& known) const {
  const std::string near = core::nearest(text(column), known);
  return core::Error{fmt::format(
      "no {} is called '{}'; {}", name_of(column), text(column),
      near.empty() ? "there are " + core::join(known, ", ") : "did you mean " + near + "?")};
}

namespace {

std::string time_text(double microseconds) {
  return std::isnan(microseconds) ? std::string() : fmt::format("{}", microseconds);
}

}  // namespace

std::string_view benchmark_csv_header() {
  return "world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us),"
         "launch,low (us),high (us),min (us),samples,memory (bytes),outcome,reason";
}

std::string benchmark_csv_line(const Measurement& m) {
  return fmt::format(
      "{},{},{},{},{},{},{},allreduce,{},{},{},{},{},{},{},{},{}", m.cell.world_size,
      name_of(m.cell.data_type), m.cell.size_bytes(), m.cell.num_tokens, m.cell.hidden_size,
      name_of(m.strategy), name_of(m.cell.fusion), time_text(m.time_us), name_of(m.launch),
      time_text(m.low_us), time_text(m.high_us), time_text(m.min_us), m.samples, m.memory_bytes,
      kOutcomeNames.at(static_cast<std::size_t>(m.outcome)), core::csv_text(m.reason));
}

}  // namespace assay::allreduce
