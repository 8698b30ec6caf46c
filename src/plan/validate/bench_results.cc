#include "plan/validate/bench_results.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "core/files.h"

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

std::optional<double> number_in(const Json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
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

core::Result<double> time_in(const Json& run, const char* field, const std::string& name) {
  const std::optional<double> value = number_in(run, field);
  if (value && *value >= 0) return *value;
  return core::Error{fmt::format(
      "{}: {} is missing: no result of vLLM's, TensorRT-LLM's or SGLang's client", name, field)};
}

// A client that waits between requests gives a rate.
bool is_closed_loop(const Json& run) {
  return !number_in(run, "request_rate") && number_in(run, "max_concurrency").value_or(0) >= 1;
}

std::int64_t mean_of(const Json& run, const char* total, double requests, std::int64_t planned) {
  const std::optional<double> tokens = number_in(run, total);
  return tokens && *tokens >= requests ? std::llround(*tokens / requests) : planned;
}

core::Result<std::optional<MeasuredDeployment>> row_of(const Json& run,
                                                       const std::string& name,
                                                       const MeasuredDeployment& deployed,
                                                       model::Warnings& warnings) {
  const double completed = number_in(run, "completed").value_or(0);
  MeasuredDeployment row = deployed;
  row.id = name;
  row.ttft_ms = ASSAY_TRY(time_in(run, "mean_ttft_ms", name));
  row.tpot_ms = ASSAY_TRY(time_in(run, "mean_tpot_ms", name));
  if (!is_closed_loop(run)) {
    warnings.add("runs without a number of requests that stay in flight", "they are left out",
                 name);
    return std::optional<MeasuredDeployment>();
  }
  if (completed < 1) {
    warnings.add("runs of which no request ended", "they are left out", name);
    return std::optional<MeasuredDeployment>();
  }
  const double sent = number_in(run, "num_prompts").value_or(completed);
  if (number_in(run, "failed").value_or(sent - completed) > 0)
    warnings.add("runs of which some requests failed", "the others count", name);
  row.concurrency = ASSAY_TRY(count_in(run, "max_concurrency", name));
  row.prompt_tokens = mean_of(run, "total_input_tokens", completed, deployed.prompt_tokens);
  row.output_tokens = mean_of(run, "total_output_tokens", completed, deployed.output_tokens);
  return std::optional(std::move(row));
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
  for (const Json& run : runs)
    if (!run.is_object()) return core::Error{fmt::format("{}: no JSON object a line", name)};
  if (runs.empty()) return core::Error{fmt::format("{}: empty", name)};
  return runs;
}

std::vector<std::filesystem::path> result_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::filesystem::path& path = at->path();
    // vLLM's and TensorRT-LLM's clients may write a second form of each result.
    const bool is_second = path.stem().extension() == ".pytorch";
    if ((path.extension() == ".json" && !is_second) || path.extension() == ".jsonl")
      files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
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
  deployed.widths = {.tp = ASSAY_TRY(count_in(object, "tp", name)),
                     .dp = ASSAY_TRY(count_in(object, "dp", name)),
                     .moe_tp = ASSAY_TRY(count_in(object, "moe_tp", name)),
                     .moe_ep = ASSAY_TRY(count_in(object, "moe_ep", name))};
  deployed.prompt_tokens = ASSAY_TRY(count_in(object, "prompt_tokens", name));
  deployed.output_tokens = ASSAY_TRY(count_in(object, "output_tokens", name));
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
  for (const Json& run : ASSAY_TRY(runs_in(without_python_numbers(text), name))) {
    std::optional<MeasuredDeployment> row = ASSAY_TRY(row_of(run, name, deployed, warnings));
    if (row) rows.push_back(std::move(*row));
  }
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
    auto rows = ASSAY_TRY(parse_bench_result(text, file.filename().string(), deployed, warnings));
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.concurrency < b.concurrency; });
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].row = static_cast<std::int64_t>(i) + 1;
  return all;
}

}  // namespace assay::plan
