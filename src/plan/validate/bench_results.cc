#include "plan/validate/bench_results.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "core/files.h"
#include "plan/validate/bench_run.h"

namespace assay::plan {
namespace {

using Json = nlohmann::json;

// Python writes numbers that JSON does not have: the rate of a client that never waits is Infinity.
std::string without_python_numbers(std::string_view text) {
  std::string plain;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_quoted && text[i] == '\\') {
      plain += text.substr(i, 2);
      ++i;
      continue;
    }
    if (text[i] == '"') is_quoted = !is_quoted;
    std::string_view word;
    for (const std::string_view one : {"-Infinity", "Infinity", "NaN"}) {
      if (!is_quoted && word.empty() && text.substr(i).starts_with(one)) word = one;
    }
    plain += word.empty() ? text.substr(i, 1) : "null";
    if (!word.empty()) i += word.size() - 1;
  }
  return plain;
}

// A whole number of at least 1.
core::Result<std::int64_t> count_in(const Json& object,
                                    const char* field,
                                    const std::string& name) {
  constexpr double kMost = 1e9;
  const std::optional<double> value = number_in(object, field);
  if (value && *value >= 1 && *value <= kMost && *value == std::floor(*value))
    return static_cast<std::int64_t>(*value);
  return core::Error{fmt::format("{}: {} is no whole number from 1 on", name, field)};
}

core::Result<std::string> text_in(const Json& object, const char* field, const std::string& name) {
  const auto found = object.find(field);
  if (found != object.end() && found->is_string()) return found->get<std::string>();
  return core::Error{fmt::format("{}: {} is no text", name, field)};
}

core::Error unknown_format(const std::string& name) {
  return core::Error{fmt::format(
      "{}: no result that is read: those are JSON of 'vllm bench serve', of TensorRT-LLM's "
      "benchmark_serving, of SGLang's bench_serving, of aiperf and of genai-perf, and CSV of the "
      "last two (profile_export_aiperf.csv, profile_export_genai_perf.csv)",
      name)};
}

core::Result<BenchRun> run_in(const Json& object, const std::string& name) {
  if (is_engine_client_run(object)) return engine_client_run(object, name);
  if (is_perf_client_run(object)) return perf_client_run(object, name);
  return unknown_format(name);
}

std::int64_t tokens_or(double mean, std::int64_t planned) {
  constexpr double kMost = 1e9;
  return mean >= 1 && mean <= kMost ? std::llround(mean) : planned;
}

std::optional<MeasuredDeployment> row_of(const BenchRun& run,
                                         const std::string& name,
                                         const MeasuredDeployment& deployed,
                                         model::Warnings& warnings) {
  if (run.concurrency == 0) {
    warnings.add("runs without a number of requests that stay in flight", "they are left out",
                 name);
    return std::nullopt;
  }
  if (run.completed < 1) {
    warnings.add("runs of which no request ended", "they are left out", name);
    return std::nullopt;
  }
  if (run.failed > 0) warnings.add("runs of which some requests failed", "the others count", name);
  MeasuredDeployment row = deployed;
  row.id = name;
  row.ttft_ms = run.ttft_ms;
  row.tpot_ms = run.tpot_ms;
  row.concurrency = run.concurrency;
  row.prompt_tokens = tokens_or(run.prompt_tokens, deployed.prompt_tokens);
  row.output_tokens = tokens_or(run.output_tokens, deployed.output_tokens);
  return row;
}

// The objects of a text: one, or one a line.
core::Result<std::vector<Json>> runs_in(const std::string& text, const std::string& name) {
  std::vector<Json> runs = {Json::parse(text, nullptr, false)};
  if (runs.front().is_discarded()) {
    runs.clear();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      if (line.find_first_not_of(" \t\r") != std::string::npos)
        runs.push_back(Json::parse(line, nullptr, false));
      begin = end + 1;
    }
  }
  if (runs.empty()) return core::Error{fmt::format("{}: empty", name)};
  for (const Json& run : runs)
    if (!run.is_object()) return unknown_format(name);
  return runs;
}

// Clients write more than their results: a second form for other tools, every request, and what
// they sent.
bool is_result(const std::filesystem::path& path) {
  const std::filesystem::path ending = path.extension();
  const std::filesystem::path stem = path.stem();
  if (stem.extension() == ".pytorch" || stem == "profile_export" || stem == "inputs") return false;
  if (ending == ".json" || ending == ".jsonl") return true;
  std::error_code ignored;
  std::filesystem::path json = path;
  return ending == ".csv" && !std::filesystem::exists(json.replace_extension(".json"), ignored);
}

// aiperf and genai-perf make a folder for each run.
std::vector<std::filesystem::path> result_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && is_result(at->path())) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

core::Result<MeasuredWidths> widths_in(const Json& object, const std::string& name) {
  MeasuredWidths widths{.tp = ASSAY_TRY(count_in(object, "tp", name)),
                        .dp = ASSAY_TRY(count_in(object, "dp", name)),
                        .moe_tp = ASSAY_TRY(count_in(object, "moe_tp", name)),
                        .moe_ep = ASSAY_TRY(count_in(object, "moe_ep", name))};
  if (object.contains("pp")) widths.pp = ASSAY_TRY(count_in(object, "pp", name));
  return widths;
}

core::Result<MeasuredPool> pool_in(const Json& object, const char* field, const std::string& name) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_object())
    return core::Error{fmt::format("{}: {} is no object", name, field)};
  const std::string where = fmt::format("{}: {}", name, field);
  MeasuredPool pool{.widths = ASSAY_TRY(widths_in(*found, where)),
                    .workers = ASSAY_TRY(count_in(*found, "instances", where)),
                    .batch = ASSAY_TRY(count_in(*found, "batch", where))};
  if (found->contains("system")) pool.system = ASSAY_TRY(text_in(*found, "system", where));
  return pool;
}

}  // namespace

core::Result<MeasuredDeployment> parse_deployed(std::string_view json, const std::string& name) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return core::Error{fmt::format("{}: no JSON object", name)};
  MeasuredDeployment deployed;
  deployed.engine = ASSAY_TRY(text_in(object, "engine", name));
  deployed.version = ASSAY_TRY(text_in(object, "engine_version", name));
  deployed.model = ASSAY_TRY(text_in(object, "config", name));
  deployed.system = ASSAY_TRY(text_in(object, "system", name));
  deployed.is_disaggregated = object.contains("prefill") || object.contains("decode");
  if (deployed.is_disaggregated) {
    deployed.prefill = ASSAY_TRY(pool_in(object, "prefill", name));
    deployed.decode = ASSAY_TRY(pool_in(object, "decode", name));
  } else {
    deployed.widths = ASSAY_TRY(widths_in(object, name));
  }
  const Json& limits = deployed.is_disaggregated ? object["decode"] : object;
  if (limits.contains("cache_dtype"))
    deployed.cache = ASSAY_TRY(text_in(limits, "cache_dtype", name));
  deployed.prompt_tokens = ASSAY_TRY(count_in(object, "prompt_tokens", name));
  deployed.output_tokens = ASSAY_TRY(count_in(object, "output_tokens", name));
  if (object.contains("prefix_tokens"))
    deployed.prefix_tokens = ASSAY_TRY(count_in(object, "prefix_tokens", name));
  deployed.keeps_windows = object.value("keeps_windows", Json(false)) == Json(true);
  if (object.contains("step_tokens"))
    deployed.step_tokens = ASSAY_TRY(count_in(object, "step_tokens", name));
  if (object.contains("speculative_tokens")) {
    std::vector<double> rates;
    for (const Json& rate : object.value("acceptance_rates", Json::array()))
      rates.push_back(rate.is_number() ? rate.get<double>() : -1);
    const std::int64_t tokens = ASSAY_TRY(count_in(object, "speculative_tokens", name));
    auto speculation = speculation_of(tokens, rates);
    if (!speculation.ok()) return speculation.error().context(name + ": acceptance_rates");
    deployed.speculation = std::move(speculation).value();
  }
  if (!engine_named(deployed.engine))
    return core::Error{fmt::format("{}: '{}' is no engine", name, deployed.engine)};
  return deployed;
}

core::Result<std::vector<MeasuredDeployment>> parse_bench_result(std::string_view text,
                                                                 const std::string& name,
                                                                 const MeasuredDeployment& deployed,
                                                                 model::Warnings& warnings) {
  std::vector<MeasuredDeployment> rows;
  const auto add = [&](const BenchRun& run) {
    std::optional<MeasuredDeployment> row = row_of(run, name, deployed, warnings);
    if (row) rows.push_back(std::move(*row));
  };
  if (is_perf_client_csv(text)) {
    add(ASSAY_TRY(perf_client_csv_run(text, name)));
    return rows;
  }
  for (const Json& object : ASSAY_TRY(runs_in(without_python_numbers(text), name)))
    add(ASSAY_TRY(run_in(object, name)));
  return rows;
}

core::Result<std::vector<MeasuredDeployment>> read_bench_folder(const std::filesystem::path& folder,
                                                                model::Warnings& warnings) {
  const std::filesystem::path facts = folder / "deployment.json";
  const MeasuredDeployment deployed =
      ASSAY_TRY(parse_deployed(ASSAY_TRY(core::read_file(facts)), facts.string()));
  const std::vector<std::filesystem::path> files = result_files(folder / "results");
  if (files.empty())
    return core::Error{fmt::format("{} has no results: measure.sh makes them", folder.string())};
  std::vector<MeasuredDeployment> all;
  for (const std::filesystem::path& file : files) {
    const std::string text = ASSAY_TRY(core::read_file(file));
    auto rows = ASSAY_TRY(parse_bench_result(
        text, file.lexically_relative(folder / "results").generic_string(), deployed, warnings));
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.concurrency < b.concurrency; });
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].row = static_cast<std::int64_t>(i) + 1;
  return all;
}

}  // namespace assay::plan
