#include "store/database/planner_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/text.h"
#include "model/perf.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

using Names = std::vector<std::string_view>;

const Names kProductTypes = {"bfloat16", "int8_wo",   "int4_wo",  "fp8",  "fp8_static",
                             "sq",       "fp8_block", "fp8_ootb", "nvfp4"};
const Names kExpertTypes = {
    "bfloat16", "fp8",         "int4_wo",          "fp8_block",          "w4afp8",
    "nvfp4",    "w4a16_mxfp4", "w4a8_mxfp4_mxfp8", "w4a16_mxfp4_cutlass"};
const Names kAttentionTypes = {"bfloat16", "fp8", "fp8_block"};
const Names kCacheTypes = {"bfloat16", "int8", "fp8"};
// The steps of a gated delta net, by the kernels of the engine whose rows it saw first; it gives
// the kernels of other engines these names, too.
const std::vector<LayerStep> kDeltaNetSteps = {
    {"gdn_conv", "context", "causal_conv1d_fn"},
    {"gdn_conv", "generation", "causal_conv1d_update"},
    {"gdn_rule", "context", "chunk_gated_delta_rule"},
    {"gdn_rule", "generation", "fused_sigmoid_gating_delta_rule_update"}};
// It takes the types of custom all-reduces for `half`, whatever they are.
const Names kSixteenBits = {"bfloat16", "float16", "half"};

Names kernels_of(const std::vector<LayerStep>& steps) {
  Names names;
  for (const LayerStep& step : steps)
    names.push_back(step.kernel);
  return names;
}

// NOLINTNEXTLINE(readability-function-size): it is a list
std::vector<PlannerTable> make_planner_tables() {
  const Names collectives = {"all_gather", "alltoall", "reduce_scatter", "all_reduce"};
  return {
      {"gemm_perf", {"gemm_dtype", "m", "n", "k"}, "m", {{"gemm_dtype", kProductTypes}}},
      {"computescale_perf", {"quant_dtype", "m", "k"}, "", {{"quant_dtype", kProductTypes}}},
      {"scale_matrix_perf", {"quant_dtype", "m", "k"}, "", {{"quant_dtype", kProductTypes}}},
      {"context_attention_perf",
       {"attn_dtype", "kv_cache_dtype", "num_key_value_heads", "head_dim", "window_size",
        "num_heads", "isl", "batch_size"},
       "",
       {{"attn_dtype", kAttentionTypes},
        {"kv_cache_dtype", kCacheTypes},
        {"step", {"0"}},
        {"beam_width", {"1"}}}},
      {"generation_attention_perf",
       {"kv_cache_dtype", "num_key_value_heads", "head_dim", "window_size", "num_heads",
        "batch_size", "step"},
       "",
       {{"attn_dtype", kAttentionTypes},
        {"kv_cache_dtype", kCacheTypes},
        {"isl", {"1"}},
        {"beam_width", {"1"}}}},
      {"encoder_attention_perf",
       {"attn_dtype", "head_dim", "num_heads", "isl", "batch_size"},
       "",
       {{"attn_dtype", kAttentionTypes}}},
      {"context_mla_perf",
       {"mla_dtype", "kv_cache_dtype", "num_heads", "isl", "batch_size"},
       "",
       {{"mla_dtype", kAttentionTypes}, {"kv_cache_dtype", kCacheTypes}, {"step", {"0"}}}},
      {"generation_mla_perf",
       {"kv_cache_dtype", "num_heads", "batch_size", "step"},
       "",
       {{"mla_dtype", kAttentionTypes}, {"kv_cache_dtype", kCacheTypes}, {"isl", {"1"}}}},
      {"mla_context_module_perf",
       {"mla_dtype", "kv_cache_dtype", "gemm_type", "num_heads", "isl", "batch_size"},
       "",
       {{"mla_dtype", kAttentionTypes},
        {"kv_cache_dtype", kCacheTypes},
        {"gemm_type", kProductTypes},
        {"step", {"0"}}}},
      {"mla_generation_module_perf",
       {"kv_cache_dtype", "gemm_type", "num_heads", "batch_size", "step"},
       "",
       {{"mla_dtype", kAttentionTypes},
        {"kv_cache_dtype", kCacheTypes},
        {"gemm_type", kProductTypes},
        {"isl", {"1"}}}},
      {"mla_bmm_perf",
       {"bmm_dtype", "op_name", "num_heads", "num_tokens"},
       "num_tokens",
       {{"bmm_dtype", kProductTypes}, {"op_name", {"mla_gen_pre", "mla_gen_post"}}}},
      {"moe_perf",
       {"moe_dtype", "distribution", "topk", "num_experts", "hidden_size", "inter_size",
        "moe_tp_size", "moe_ep_size", "num_tokens"},
       "num_tokens",
       {{"moe_dtype", kExpertTypes}}},
      {"gdn_perf",
       {"kernel_source", "phase", "d_model", "d_conv", "num_k_heads", "head_k_dim", "num_v_heads",
        "head_v_dim", "batch_size", "seq_len"},
       "",
       {{"kernel_source", kernels_of(kDeltaNetSteps)}},
       kDeltaNetSteps},
      {"custom_allreduce_perf",
       {"num_gpus", "message_size"},
       "message_size",
       {{"allreduce_dtype", kSixteenBits}}},
      {"nccl_perf",
       {"nccl_dtype", "op_name", "num_gpus", "message_size"},
       "message_size",
       {{"nccl_dtype", {"half", "int8", "fp8"}}, {"op_name", collectives}}},
  };
}

constexpr std::string_view kKernelColumn = "kernel_source";
// Without a window, and of prompts without a cached prefix.
constexpr std::array<std::string_view, 2> kSizesFromZero = {"window_size", "step"};

std::string cell_text(const FrameColumn* column, std::size_t row) {
  if (column == nullptr || column->is_missing(row)) return "";
  return value_text(column->value(row));
}

// The values of the columns as one text.
std::string key_text(const std::vector<const FrameColumn*>& columns, std::size_t row) {
  std::string text;
  for (const FrameColumn* column : columns)
    text += cell_text(column, row) + '\n';
  return text;
}

std::vector<const FrameColumn*> columns_of(const Frame& frame, const Names& names) {
  std::vector<const FrameColumn*> columns;
  for (const std::string_view name : names)
    columns.push_back(frame.find(name));
  return columns;
}

// Why the row is no measurement that anybody could read; empty if it is one.
std::string flaw(const PlannerTable& table, const Frame& rows, std::size_t row) {
  const FrameColumn* latency = rows.find("latency");
  if (latency != nullptr && !holds_differences(table.table) && number_at(*latency, row) == 0)
    return "a time of 0";
  for (const std::string_view name : table.key) {
    const FrameColumn* column = rows.find(name);
    if (column == nullptr) continue;
    if (cell_text(column, row).empty()) return fmt::format("no {}", name);
    const bool may_be_zero =
        std::find(kSizesFromZero.begin(), kSizesFromZero.end(), name) != kSizesFromZero.end();
    if (!may_be_zero && number_at(*column, row) == 0) return fmt::format("{} of 0", name);
  }
  return "";
}

// Why the planner cannot read the row; empty if it can.
std::string obstacle(const PlannerTable& table, const Frame& rows, std::size_t row) {
  std::string reason = flaw(table, rows, row);
  if (!reason.empty()) return reason;
  for (const KnownValues& known : table.known) {
    const FrameColumn* column = rows.find(known.column);
    if (column == nullptr) continue;
    const std::string text = cell_text(column, row);
    if (std::find(known.values.begin(), known.values.end(), text) != known.values.end()) continue;
    if (known.values.size() > 1)
      return fmt::format("the planner knows no {} '{}'", known.column, text);
    return fmt::format("the planner takes all rows for {} {}", known.column, known.values.front());
  }
  return "";
}

// Which of two rows with one key is placed: one that was measured as engines find the cache before
// any other, and the faster one.
class Choice {
 public:
  explicit Choice(const Frame& rows) : latency_(rows.find("latency")), l2_(rows.find(kL2Column)) {}

  [[nodiscard]] bool is_better(std::size_t row, std::size_t other) const {
    const bool engine = as_engine(row);
    if (engine != as_engine(other)) return engine;
    return latency_ != nullptr && number_at(*latency_, row) < number_at(*latency_, other);
  }

 private:
  [[nodiscard]] bool as_engine(std::size_t row) const {
    return cell_text(l2_, row) == model::name_of(model::L2State::kEngine);
  }

  const FrameColumn* latency_;
  const FrameColumn* l2_;
};

void tell(const PlannerTable& table,
          const std::map<std::string, std::int64_t>& reasons,
          std::vector<LeftOut>& left_out) {
  for (const auto& [reason, count] : reasons)
    left_out.push_back({.table = std::string(table.table), .reason = reason, .rows = count});
}

Names site_of(const PlannerTable& table) {
  Names names;
  std::copy_if(table.key.begin(), table.key.end(), std::back_inserter(names),
               [&](std::string_view name) { return name != table.curve; });
  return names;
}

}  // namespace

bool is_planner_backend(std::string_view backend) {
  return std::find(kPlannerBackends.begin(), kPlannerBackends.end(), backend) !=
         kPlannerBackends.end();
}

std::string planner_backends() {
  return core::join(std::vector<std::string>(kPlannerBackends.begin(), kPlannerBackends.end()),
                    ", ");
}

const std::vector<PlannerTable>& planner_tables() {
  static const std::vector<PlannerTable> tables = make_planner_tables();
  return tables;
}

const PlannerTable* find_planner_table(std::string_view table) {
  for (const PlannerTable& known : planner_tables()) {
    if (known.table == table) return &known;
  }
  return nullptr;
}

Frame rows_for_planner(const PlannerTable& table,
                       const Frame& rows,
                       std::vector<LeftOut>& left_out) {
  const std::vector<const FrameColumn*> key = columns_of(rows, table.key);
  const Choice choice(rows);
  std::map<std::string, std::int64_t> reasons;
  std::unordered_map<std::string, std::size_t> places;  // by key, in `kept`
  std::vector<std::size_t> kept;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    const std::string reason = obstacle(table, rows, row);
    if (!reason.empty()) {
      ++reasons[reason];
      continue;
    }
    const auto [place, is_new] = places.emplace(key_text(key, row), kept.size());
    if (is_new) {
      kept.push_back(row);
      continue;
    }
    ++reasons["a better row has the key that the planner sees"];
    std::size_t& other = kept[place->second];
    if (choice.is_better(row, other)) other = row;
  }
  tell(table, reasons, left_out);
  return picked_rows(rows, kept);
}

Frame with_absent_sizes(Frame rows) {
  for (FrameColumn& column : rows.columns) {
    auto* sizes = std::get_if<std::vector<std::int64_t>>(&column.values);
    const bool is_known = std::find(kSizesFromZero.begin(), kSizesFromZero.end(), column.name) !=
                          kSizesFromZero.end();
    if (sizes == nullptr || !is_known) continue;
    for (std::size_t row = 0; row < sizes->size(); ++row)
      if (column.is_missing(row)) (*sizes)[row] = 0;
    column.missing.clear();
  }
  return rows;
}

Frame rows_without_flaws(const std::string& table,
                         const Frame& rows,
                         std::vector<LeftOut>& left_out) {
  const PlannerTable* known = find_planner_table(table);
  const PlannerTable looked_at = known != nullptr ? *known : PlannerTable{table, {}};
  std::map<std::string, std::int64_t> reasons;
  std::vector<std::size_t> kept;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    const std::string reason = flaw(looked_at, rows, row);
    if (reason.empty()) {
      kept.push_back(row);
    } else {
      ++reasons[reason];
    }
  }
  tell(looked_at, reasons, left_out);
  return picked_rows(rows, kept);
}

Frame with_names_of_steps(const PlannerTable& table, Frame rows) {
  const auto named = std::find_if(rows.columns.begin(), rows.columns.end(),
                                  [](const auto& column) { return column.name == kKernelColumn; });
  if (table.steps.empty() || named == rows.columns.end()) return rows;
  const FrameColumn* op_names = rows.find("op_name");
  const FrameColumn* phases = rows.find("phase");
  ColumnBuilder builder{std::string(kKernelColumn)};
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    const std::string op_name = cell_text(op_names, row);
    const std::string phase = cell_text(phases, row);
    const auto step = std::find_if(
        table.steps.begin(), table.steps.end(),
        [&](const LayerStep& known) { return known.op_name == op_name && known.phase == phase; });
    if (step == table.steps.end()) {
      builder.add(std::string_view(cell_text(&*named, row)));
    } else {
      builder.add(step->kernel);
    }
  }
  FrameColumn measured = std::exchange(*named, std::move(builder).finish());
  measured.name = kMeasuredKernelColumn;
  rows.columns.push_back(std::move(measured));
  return rows;
}

Frame with_points_of_curves(const PlannerTable& table, const Frame& grid, const Frame& all) {
  if (table.curve.empty()) return grid;
  const Names site = site_of(table);
  std::unordered_map<std::string, std::int64_t> points;
  const std::vector<const FrameColumn*> of_grid = columns_of(grid, site);
  for (std::size_t row = 0; row < grid.num_rows(); ++row)
    ++points[key_text(of_grid, row)];
  const std::vector<const FrameColumn*> of_all = columns_of(all, site);
  const std::vector<const FrameColumn*> whole_of_grid = columns_of(grid, table.key);
  const std::vector<const FrameColumn*> whole_of_all = columns_of(all, table.key);
  std::unordered_map<std::string, bool> in_grid;
  for (std::size_t row = 0; row < grid.num_rows(); ++row)
    in_grid[key_text(whole_of_grid, row)] = true;
  std::vector<std::size_t> kept;
  for (std::size_t row = 0; row < all.num_rows(); ++row) {
    const auto found = points.find(key_text(of_all, row));
    const bool on_curve = found != points.end() && found->second > 1;
    if (on_curve || in_grid.contains(key_text(whole_of_all, row))) kept.push_back(row);
  }
  return picked_rows(all, kept);
}

Frame with_power_of_all(const std::string& table, Frame rows, std::vector<LeftOut>& left_out) {
  const auto lacks = [](const FrameColumn& column) {
    return is_power_column(column.name) &&
           std::find(column.missing.begin(), column.missing.end(), true) != column.missing.end();
  };
  if (std::none_of(rows.columns.begin(), rows.columns.end(), lacks)) return rows;
  const FrameColumn* power = rows.find(kPowerColumns.front());
  std::int64_t with_power = 0;
  for (std::size_t row = 0; power != nullptr && row < rows.num_rows(); ++row)
    with_power += power->is_missing(row) ? 0 : 1;
  left_out.push_back({.table = table,
                      .reason = "power alone, which planners want of all rows or of none",
                      .rows = with_power});
  const auto is_power = [](const FrameColumn& column) {
    return is_power_column(column.name) || column.name == kPowerSourceColumn ||
           column.name == kPowerErrorColumn;
  };
  rows.columns.erase(std::remove_if(rows.columns.begin(), rows.columns.end(), is_power),
                     rows.columns.end());
  return rows;
}

}  // namespace assay::store
