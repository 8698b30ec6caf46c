// NVIDIA's clients aiperf and genai-perf. Their fields are those that
// aiperf/exporters/json_exporter.py and csv_exporter.py (aiperf 0.1.1) and genai_perf/export_data
// (genai-perf 0.0.16) write. Both call inter-token latency what a request took behind its first
// token, over the tokens behind it: TPOT.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <regex>
#include <utility>

#include "core/csv.h"
#include "plan/validate/bench_run.h"

namespace assay::plan {
namespace {

using Json = nlohmann::json;

struct PerfMetric {
  double mean = 0;
  std::string unit;
};

core::Result<double> ms_of(const PerfMetric& metric,
                           const std::string& field,
                           const std::string& name) {
  constexpr std::array<std::pair<std::string_view, double>, 6> kUnits = {
      {{"ms", 1}, {"s", 1e3}, {"sec", 1e3}, {"us", 1e-3}, {"µs", 1e-3}, {"ns", 1e-6}}};
  for (const auto& [unit, factor] : kUnits) {
    if (metric.unit == unit && metric.mean >= 0) return factor * metric.mean;
  }
  return core::Error{
      fmt::format("{}: {} is {:g} '{}', no time", name, field, metric.mean, metric.unit)};
}

// What both forms of a result tell.
using PerfMetrics = std::map<std::string, PerfMetric>;

core::Result<double> time_of(const PerfMetrics& metrics,
                             const char* field,
                             const std::string& name) {
  const auto found = metrics.find(field);
  if (found != metrics.end()) return ms_of(found->second, field, name);
  return core::Error{fmt::format(
      "{}: no {}: the client measures it where answers are streamed (--streaming)", name, field)};
}

double mean_of_metric(const PerfMetrics& metrics, const char* field) {
  const auto found = metrics.find(field);
  return found == metrics.end() ? 0 : found->second.mean;
}

core::Result<BenchRun> run_of(const PerfMetrics& metrics, const std::string& name) {
  return BenchRun{.completed = mean_of_metric(metrics, "request_count"),
                  .failed = mean_of_metric(metrics, "error_request_count"),
                  .prompt_tokens = mean_of_metric(metrics, "input_sequence_length"),
                  .output_tokens = mean_of_metric(metrics, "output_sequence_length"),
                  .ttft_ms = ASSAY_TRY(time_of(metrics, "time_to_first_token", name)),
                  .tpot_ms = ASSAY_TRY(time_of(metrics, "inter_token_latency", name))};
}

const Json& part(const Json& object, const char* field) {
  static const Json none = Json::object();
  const auto found = object.find(field);
  return found != object.end() && found->is_object() ? *found : none;
}

// aiperf tells --concurrency and --request-rate, genai-perf the one stimulus that it had.
std::int64_t kept_in_flight(const Json& object) {
  const Json& config = part(object, "input_config");
  for (const Json* load :
       {&part(config, "loadgen"), &part(part(config, "perf_analyzer"), "stimulus")}) {
    if (number_in(*load, "request_rate")) return 0;
    const std::int64_t found = concurrency_of(number_in(*load, "concurrency"));
    if (found > 0) return found;
  }
  return 0;
}

// "Time to First Token (ms)" as {"time_to_first_token", "ms"}
std::pair<std::string, std::string> metric_named(std::string_view text) {
  std::string name;
  std::string unit;
  const std::size_t open = text.rfind(" (");
  if (open != std::string_view::npos && text.ends_with(')')) {
    unit = text.substr(open + 2, text.size() - open - 3);
    text = text.substr(0, open);
  }
  for (const char c : text)
    name += c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return {name, unit};
}

// "12.50", or "1,234.50" with separators.
std::optional<double> number_of(std::string_view field) {
  std::string digits;
  std::copy_if(field.begin(), field.end(), std::back_inserter(digits),
               [](char c) { return c != ','; });
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> number_in(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::int64_t concurrency_of(std::optional<double> number) {
  constexpr double kMost = 1e9;
  const double value = number.value_or(0);
  return value >= 1 && value <= kMost && value == std::floor(value)
             ? static_cast<std::int64_t>(value)
             : 0;
}

bool is_perf_client_run(const Json& object) {
  const auto found = object.find("time_to_first_token");
  return object.contains("input_config") || (found != object.end() && found->is_object());
}

core::Result<BenchRun> perf_client_run(const Json& object, const std::string& name) {
  PerfMetrics metrics;
  for (const auto& [field, value] : object.items()) {
    if (!value.is_object()) continue;
    const std::optional<double> mean = number_in(value, "avg");
    const auto unit = value.find("unit");
    if (mean && unit != value.end() && unit->is_string())
      metrics[field] = {*mean, unit->get<std::string>()};
  }
  BenchRun run = ASSAY_TRY(run_of(metrics, name));
  run.concurrency = kept_in_flight(object);
  return run;
}

bool is_perf_client_csv(std::string_view text) {
  return text.starts_with("Metric,");
}

core::Result<BenchRun> perf_client_csv_run(std::string_view text, const std::string& name) {
  static const std::regex concurrency(R"(concurrency[-_]?(\d{1,9})(?!\d))");
  const auto rows = core::parse_csv(text);
  if (!rows.ok()) return rows.error().context(name);
  PerfMetrics metrics;
  for (const core::CsvRecord& record : rows.value()) {
    const std::vector<std::string>& row = record.fields;
    if (row.size() < 2) continue;
    const std::optional<double> mean = number_of(row[1]);
    auto [metric, unit] = metric_named(row[0]);
    if (mean) metrics[metric] = {*mean, std::move(unit)};
  }
  BenchRun run = ASSAY_TRY(run_of(metrics, name));
  std::smatch found;
  if (!std::regex_search(name, found, concurrency))
    return core::Error{fmt::format(
        "{}: its name does not tell the concurrency, as in concurrency-8.csv; the JSON beside it "
        "does",
        name)};
  run.concurrency = std::stoll(found[1].str());
  return run;
}

}  // namespace assay::plan
