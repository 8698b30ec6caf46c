#include "plan/validate/measured.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "core/text.h"
#include "plan/validate/inferencex.h"
#include "store/files/csv_frame.h"

namespace assay::plan {
namespace {

using store::Frame;
using store::FrameColumn;

constexpr std::array<const char*, 9> kNeeded = {
    "backend", "model_path",      "system",         "isl", "osl", "batch_size",
    "tp_size", "silicon_ttft_ms", "silicon_tpot_ms"};

class MeasuredRows {
 public:
  MeasuredRows(const Frame& frame, model::Warnings& warnings)
      : frame_(frame), warnings_(warnings) {}

  [[nodiscard]] MeasuredDeployment at(std::size_t row) const {
    MeasuredDeployment measured{.id = text(row, "id"),
                                .row = static_cast<std::int64_t>(row) + 1,
                                .engine = text(row, "backend"),
                                .version = text(row, "backend_version"),
                                .model = text(row, "model_path"),
                                .system = text(row, "system"),
                                .is_disaggregated = text(row, "mode") == "disagg",
                                .prompt_tokens = number_or(row, "isl", 0),
                                .output_tokens = number_or(row, "osl", 0),
                                .linear = text(row, "gemm_quant_mode"),
                                .experts = text(row, "moe_quant_mode"),
                                .ttft_ms = real(row, "silicon_ttft_ms"),
                                .tpot_ms = real(row, "silicon_tpot_ms")};
    measured.widths = {.tp = number_or(row, "tp_size", 1),
                       .pp = number_or(row, "pp_size", 1),
                       .dp = number_or(row, "attention_dp_size", 1),
                       .moe_tp = number_or(row, "moe_tp_size", 1),
                       .moe_ep = number_or(row, "moe_ep_size", 1)};
    measured.concurrency = number_or(row, "batch_size", 0) * measured.widths.dp;
    take_load(row, measured);
    if (measured.is_disaggregated) {
      take_pools(row, measured);
      return measured;
    }
    take_name(measured);
    fit_experts(measured.widths);
    measured.speculation.tokens = drafted_by_recipe(measured, measured_on(row));
    return measured;
  }

 private:
  [[nodiscard]] std::string text(std::size_t row, const char* name) const {
    const FrameColumn* column = frame_.find(name);
    if (column == nullptr || column->is_missing(row)) return "";
    return store::value_text(column->value(row));
  }

  [[nodiscard]] double real(std::size_t row, const char* name) const {
    const FrameColumn* column = frame_.find(name);
    if (column == nullptr || column->is_missing(row)) return std::nan("");
    // A cell that is no number makes its whole column one of texts.
    if (!std::holds_alternative<store::TextColumn>(column->values))
      return store::number_at(*column, row);
    const std::string cell = text(row, name);
    double value = std::nan("");
    const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (failure == std::errc() && end == cell.data() + cell.size()) return value;
    warnings_.add(fmt::format("{} '{}' is no number", name, core::printable(cell)),
                  "it counts as left out", text(row, "id"));
    return std::nan("");
  }

  // A width of 0 is one that was left out.
  [[nodiscard]] std::int64_t number_or(std::size_t row, const char* name, std::int64_t none) const {
    const double value = real(row, name);
    if (value < 0)
      warnings_.add(fmt::format("{} below 0", name), "it counts as left out", text(row, "id"));
    return value >= 1 ? std::llround(value) : none;
  }

  // The source of a row may tell the requests in flight on all GPUs. More of them than the batch
  // are those of the groups with requests of their own.
  void take_load(std::size_t row, MeasuredDeployment& measured) const {
    static const std::regex load_text(R"(silicon_concurrency=(\d+))");
    std::smatch found;
    const std::string source = text(row, "silicon_data_source");
    // InferenceX, whose rows tell when they were measured, sends lengths from 80 % on, and leaves
    // the engines' limits alone. Others are the public planner's own deployments.
    const bool is_inferencex = source.find("measured=") != std::string::npos;
    if (is_inferencex) measured.least_length = 0.8;
    measured.has_one_prompt_a_step = !is_inferencex && measured.engine == "vllm";
    if (!std::regex_search(source, found, load_text)) return;
    const std::int64_t told = std::stoll(found[1]);
    const std::int64_t batch = number_or(row, "batch_size", 0);
    MeasuredWidths& widths = measured.widths;
    const bool is_split = text(row, "attention_dp_size").empty() && batch > 0 && told > batch &&
                          told == batch * widths.tp;
    if (is_split)
      widths = {.tp = 1,
                .pp = widths.pp,
                .dp = widths.tp,
                .moe_tp = widths.moe_tp,
                .moe_ep = widths.moe_ep};
    measured.concurrency = told;
  }

  // The day, which InferenceX tells.
  [[nodiscard]] std::string measured_on(std::size_t row) const {
    static const std::regex day_text(R"(measured=(\d{4}-\d\d-\d\d))");
    std::smatch found;
    const std::string source = text(row, "silicon_data_source");
    return std::regex_search(source, found, day_text) ? found[1].str() : "";
  }

  void take_pools(std::size_t row, MeasuredDeployment& measured) const {
    measured.prefill = pool(row, "prefill_");
    measured.decode = pool(row, "decode_");
  }

  [[nodiscard]] MeasuredPool pool(std::size_t row, const std::string& prefix) const {
    const auto number = [&](const char* name, std::int64_t none) {
      return number_or(row, (prefix + name).c_str(), none);
    };
    MeasuredPool pool{.widths = {.tp = number("tp_size", 1),
                                 .pp = number("pp_size", 1),
                                 .dp = number("attention_dp_size", 1),
                                 .moe_tp = number("moe_tp_size", 1),
                                 .moe_ep = number("moe_ep_size", 1)},
                      .workers = number("num_workers", 0),
                      .batch = number("batch_size", 0)};
    fit_experts(pool.widths);
    return pool;
  }

  // Names such as "..._tp4_ep4_..." tell the GPUs. Some tables multiply both in their columns.
  void take_name(MeasuredDeployment& measured) const {
    static const std::regex widths_text(R"(_tp(\d+)(?:_0)?_ep(\d+)_)");
    std::smatch found;
    if (!std::regex_search(measured.id, found, widths_text)) return;
    const std::int64_t gpus = std::stoll(found[1]);
    const std::int64_t ep = std::max<std::int64_t>(1, std::stoll(found[2]));
    MeasuredWidths& widths = measured.widths;
    if (widths.tp * widths.dp == gpus || gpus % ep != 0) return;
    warnings_.add("more GPUs in the columns than in the row's name", "the name is believed",
                  measured.id);
    const bool is_split = widths.dp > 1;
    widths = {.tp = is_split ? 1 : gpus,
              .pp = widths.pp,
              .dp = is_split ? gpus : 1,
              .moe_tp = gpus / ep,
              .moe_ep = ep};
  }

  static void fit_experts(MeasuredWidths& widths) {
    const std::int64_t gpus = widths.tp * widths.dp;
    if (widths.moe_tp * widths.moe_ep == gpus) return;
    if (gpus % widths.moe_ep == 0) widths.moe_tp = gpus / widths.moe_ep;
    if (widths.moe_tp * widths.moe_ep != gpus) widths.moe_tp = gpus, widths.moe_ep = 1;
  }

  const Frame& frame_;
  model::Warnings& warnings_;
};

std::string text_of(const MeasuredWidths& widths) {
  return fmt::format("{} {} {} {} {}", widths.tp, widths.pp, widths.dp, widths.moe_tp,
                     widths.moe_ep);
}

std::string text_of(const MeasuredPool& pool) {
  return fmt::format("{}, {} {} {}", text_of(pool.widths), pool.workers, pool.batch, pool.system);
}

// Equal for rows of one measurement. Tables that were put together from several files have some
// twice; the last digits of their means differ where two programs computed them.
std::string fingerprint_of(const MeasuredDeployment& one) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{:.9g}|{:.9g}", one.engine,
                     one.version, one.model, one.system, one.is_disaggregated, one.prompt_tokens,
                     one.output_tokens, one.concurrency, one.linear, one.experts,
                     text_of(one.widths), text_of(one.prefill), text_of(one.decode),
                     one.speculation.tokens, one.ttft_ms, one.tpot_ms);
}

}  // namespace

std::string missing_field(const MeasuredDeployment& measured) {
  if (measured.is_copy) return "another row has the same measurement, which counts once";
  if (!measured.is_disaggregated && measured.concurrency == 0)
    return "the row does not tell its concurrency";
  if (measured.speculation.tokens > 0 && measured.speculation.accepted.empty()) {
    return fmt::format(
        "drafts {} token{} a step, as its recipe says, and the row does not tell how many were "
        "accepted",
        measured.speculation.tokens, measured.speculation.tokens == 1 ? "" : "s");
  }
  if (!measured.is_disaggregated) return "";
  if (measured.prefill.workers == 0 || measured.decode.workers == 0)
    return "the row does not tell how many workers compute prompts and decode";
  if (measured.concurrency == 0)
    return "the row does not tell its concurrency (batch_size, of all workers)";
  return "";
}

core::Result<std::vector<MeasuredDeployment>> parse_measured(std::string_view csv,
                                                             const std::string& name,
                                                             model::Warnings& warnings) {
  const core::Result<Frame> read = store::read_csv_frame(
      csv, warnings, {.text_columns = {"backend_version", "id", "silicon_data_source"}});
  if (!read.ok()) return read.error().context(name);
  const Frame& frame = read.value();
  for (const char* column : kNeeded) {
    if (frame.find(column) == nullptr)
      return core::Error{fmt::format("{}: no column '{}'", name, column)};
  }
  const MeasuredRows rows(frame, warnings);
  std::vector<MeasuredDeployment> measured;
  std::set<std::string> known;
  for (std::size_t row = 0; row < frame.num_rows(); ++row) {
    measured.push_back(rows.at(row));
    MeasuredDeployment& one = measured.back();
    const bool has_results = one.ttft_ms > 0 && one.tpot_ms > 0;
    const std::string fingerprint = fingerprint_of(one);
    one.is_copy = has_results && !known.insert(fingerprint).second;
    if (one.id.empty()) one.id = fingerprint;
  }
  return measured;
}

}  // namespace assay::plan
