#include "allreduce/nccl_csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "allreduce/benchmark_csv.h"
#include "allreduce/measured_on.h"
#include "core/csv.h"
#include "core/file_kind.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRanColumn = "ran";
constexpr std::int64_t kUsualHidden = 4096;
constexpr std::int64_t kMostSweptRanks = 1 << 20;
constexpr std::int64_t kMostSweptBytes = std::int64_t{1} << 50;

std::string time_field(double microseconds) {
  return std::isnan(microseconds) ? std::string() : fmt::format("{}", microseconds);
}

// Whether a row is of an arm of NCCL; plain NCCL is one, as its own choice.
bool is_of_arm(const BenchmarkRow& row) {
  const std::string_view op = row.text(Column::kOp);
  const bool known = op.empty() || nccl_collective_named(op);
  const bool plain = row.text(Column::kFusion) == name_of(Fusion::kNone);
  return known && plain && nccl_arm_named(row.text(Column::kStrategy)).has_value();
}

core::Result<std::int64_t> size_of(const BenchmarkRow& row, DataType type) {
  if (!row.text(Column::kSize).empty()) return row.number(Column::kSize, 1, kMostSweptBytes);
  const std::int64_t tokens = ASSAY_TRY(row.number(Column::kNumTokens, 1, kMostSweptRanks));
  const std::int64_t hidden = ASSAY_TRY(row.number(Column::kHiddenSize, 1, kMostSweptRanks));
  return tokens * hidden * bytes_of(type);
}

core::Status read_result(const BenchmarkRow& row, NcclMeasurement& m) {
  m.time_us = ASSAY_TRY(row.time(Column::kTimeUs));
  m.low_us = ASSAY_TRY(row.time(Column::kLow));
  m.high_us = ASSAY_TRY(row.time(Column::kHigh));
  m.min_us = ASSAY_TRY(row.time(Column::kMin));
  m.samples = row.whole_number(Column::kSamples).value_or(0);
  m.reason = core::csv_meaning(row.text(Column::kReason));
  const std::string_view outcome = row.text(Column::kOutcome);
  const auto* found = std::find(kOutcomeNames.begin(), kOutcomeNames.end(), outcome);
  if (found != kOutcomeNames.end()) {
    m.outcome = static_cast<Outcome>(found - kOutcomeNames.begin());
  } else if (std::isnan(m.time_us)) {
    m.outcome = Outcome::kUnsupported;
  }
  if (m.outcome == Outcome::kOk && std::isnan(m.time_us)) {
    return core::Error{"outcome is 'ok', but there is no time"};
  }
  return {};
}

core::Result<NcclMeasurement> read_arm(const BenchmarkRow& row, Launch launch_of_file) {
  NcclMeasurement m;
  m.arm = nccl_arm_named(row.text(Column::kStrategy)).value_or(NcclArm());
  const std::string_view op = row.text(Column::kOp);
  m.cell.collective = nccl_collective_named(op).value_or(NcclCollective::kAllReduce);
  m.cell.world_size =
      static_cast<int>(ASSAY_TRY(row.number(Column::kWorldSize, 1, kMostSweptRanks)));
  m.cell.data_type = summed_type_named(row.text(Column::kDataType)).value_or(DataType::kBfloat16);
  m.cell.size_bytes = ASSAY_TRY(size_of(row, m.cell.data_type));
  m.cell.launch = launch_named(row.text(Column::kLaunch)).value_or(launch_of_file);
  ASSAY_TRY(read_result(row, m));
  return m;
}

// Merges what a sweep's .json says that it was measured on. Returns whether there is one.
core::Result<bool> add_machine(const fs::path& csv, NcclSweep& sweep) {
  const MeasuredOn told = ASSAY_TRY(measured_on(csv));
  if (told.text.empty()) return false;
  for (const auto& [name, value, target] :
       {std::tuple{"GPU", &told.gpu, &sweep.gpu}, {"NCCL", &told.nccl, &sweep.nccl}}) {
    if (value->empty()) continue;
    if (!target->empty() && *target != *value) {
      return core::Error{fmt::format("'{}' was measured with {} {}, and another sweep with {}",
                                     csv.string(), name, *value, *target)};
    }
    *target = *value;
  }
  return true;
}

// Rows hold for the GPU and the NCCL that they were measured with, so that all sweeps of a folder
// tell theirs, or none does.
core::Status add_machines(const std::vector<fs::path>& files, NcclSweep& sweep) {
  std::vector<fs::path> silent;
  for (const fs::path& file : files)
    if (!ASSAY_TRY(add_machine(file, sweep))) silent.push_back(file);
  if (silent.empty() || silent.size() == files.size()) return {};
  return core::Error{fmt::format(
      "'{}' has no .json beside it, which would say on what it was measured, as others here have",
      silent.front().string())};
}

std::size_t count_times(const NcclSweep& sweep) {
  return static_cast<std::size_t>(
      std::count_if(sweep.measurements.begin(), sweep.measurements.end(),
                    [](const NcclMeasurement& one) { return !std::isnan(one.time_us); }));
}

core::Status add_file(const fs::path& path, NcclSweep& sweep) {
  const std::string text = ASSAY_TRY(core::read_text(path, core::TextFormat::kCsv));
  auto measurements = ASSAY_TRY(parse_nccl_csv(text, path));
  std::move(measurements.begin(), measurements.end(), std::back_inserter(sweep.measurements));
  return {};
}

}  // namespace

std::string NcclFileName::text() const {
  return fmt::format("nccl_sweep.tp{}.sm{}.csv", world_size, sm_version);
}

std::optional<NcclFileName> nccl_file_name(std::string_view name) {
  // The names differ from those of benchmark files by their first word.
  constexpr std::string_view kFirst = "nccl_sweep";
  if (!name.starts_with(kFirst)) return std::nullopt;
  const auto rest = benchmark_file_name("benchmark" + std::string(name.substr(kFirst.size())));
  if (!rest) return std::nullopt;
  const NcclFileName result{.world_size = rest->world_size, .sm_version = rest->sm_version};
  if (result.text() != name) return std::nullopt;
  return result;
}

std::string nccl_csv_header() {
  return fmt::format("{},{}", benchmark_csv_header(), kRanColumn);
}

std::string nccl_csv_line(const NcclMeasurement& m) {
  const std::int64_t elements = m.cell.size_bytes / bytes_of(m.cell.data_type);
  const std::int64_t hidden = elements % kUsualHidden == 0 ? kUsualHidden : elements;
  return fmt::format("{},{},{},{},{},{},NONE,{},{},{},{},{},{},{},0,{},{},{}", m.cell.world_size,
                     name_of(m.cell.data_type), m.cell.size_bytes, elements / hidden, hidden,
                     nccl_arm_name(m.arm), name_of(m.cell.collective), time_field(m.time_us),
                     name_of(m.cell.launch), time_field(m.low_us), time_field(m.high_us),
                     time_field(m.min_us), m.samples,
                     kOutcomeNames.at(static_cast<std::size_t>(m.outcome)),
                     core::csv_text(m.reason), core::csv_text(m.ran));
}

core::Result<std::vector<NcclMeasurement>> parse_nccl_csv(std::string_view text,
                                                          const fs::path& path) {
  const auto at = [&](std::size_t line, const std::string& problem) {
    return core::Error{fmt::format("'{}', line {}: {}", path.string(), line, problem)};
  };
  const auto records = core::parse_csv(text);
  if (!records.ok()) return records.error().context("'" + path.string() + "'");
  if (records.value().empty()) return core::Error{fmt::format("'{}' is empty", path.string())};
  const core::CsvRecord& first = records.value().front();
  const auto columns = BenchmarkColumns::read(first.fields);
  if (!columns.ok()) return at(first.line, columns.error().message);
  const auto ran = std::find(first.fields.begin(), first.fields.end(), kRanColumn);
  const auto name = benchmark_file_name(path.filename().string());
  std::vector<NcclMeasurement> measurements;
  for (std::size_t r = 1; r < records.value().size(); ++r) {
    const auto& [line, fields] = records.value()[r];
    if (fields.size() != columns.value().width()) return at(line, "too few or too many fields");
    const BenchmarkRow row(columns.value(), fields);
    if (!is_of_arm(row)) continue;
    auto measured = read_arm(row, name ? name->launch : Launch::kGraph);
    if (!measured.ok()) return at(line, measured.error().message);
    if (ran != first.fields.end()) {
      measured.value().ran =
          core::csv_meaning(fields.at(static_cast<std::size_t>(ran - first.fields.begin())));
    }
    measurements.push_back(std::move(measured).value());
  }
  return measurements;
}

core::Result<std::vector<int>> nccl_sweep_versions(const fs::path& folder) {
  std::set<int> versions;
  for (const fs::path& entry : ASSAY_TRY(core::list_directory(folder))) {
    if (const auto name = nccl_file_name(entry.filename().string()))
      versions.insert(name->sm_version);
  }
  return std::vector<int>(versions.begin(), versions.end());
}

core::Result<NcclSweep> read_nccl_sweep(const fs::path& folder, int sm_version) {
  std::vector<fs::path> swept;
  std::vector<fs::path> benchmarks;
  for (const fs::path& entry : ASSAY_TRY(core::list_directory(folder))) {
    const std::string name = entry.filename().string();
    const auto sweep = nccl_file_name(name);
    const auto benchmark = benchmark_file_name(name);
    if (sweep && sweep->sm_version == sm_version) swept.push_back(folder / name);
    if (benchmark && benchmark->sm_version == sm_version) benchmarks.push_back(folder / name);
  }
  NcclSweep result;
  for (const fs::path& file : swept.empty() ? benchmarks : swept)
    ASSAY_TRY(add_file(file, result));
  ASSAY_TRY(add_machines(swept, result));
  if (!swept.empty()) result.provenance = ASSAY_TRY(provenance_of(swept, count_times(result)));
  return result;
}

}  // namespace assay::allreduce
