#include "store/files/table_spec.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "model/perf.h"

namespace assay::store {
namespace {

using Columns = std::vector<TableColumn>;

TableColumn whole(std::string name, std::string unit = "") {
  return {.name = std::move(name), .unit = std::move(unit)};
}

TableColumn text(std::string name) {
  return {.name = std::move(name), .kind = ColumnKind::kText};
}

TableColumn type(std::string name) {
  return {.name = std::move(name), .kind = ColumnKind::kDataType};
}

TableColumn latency(std::string name = "latency", std::string unit = "ms") {
  return {.name = std::move(name),
          .kind = ColumnKind::kReal,
          .unit = std::move(unit),
          .role = ColumnRole::kLatency};
}

TableColumn result(std::string name, std::string unit) {
  return {.name = std::move(name),
          .kind = ColumnKind::kReal,
          .unit = std::move(unit),
          .role = ColumnRole::kResult};
}

TableColumn sometimes(TableColumn column) {
  column.presence = Presence::kSometimes;
  return column;
}

Columns gemm_columns() {
  return {type("gemm_dtype"), whole("m", "rows"), whole("n", "columns"), whole("k", "terms"),
          latency()};
}

Columns attention_columns() {
  return {whole("batch_size", "sequences"),
          whole("isl", "tokens"),
          whole("num_heads"),
          whole("num_key_value_heads"),
          whole("head_dim", "elements"),
          sometimes(whole("window_size", "tokens")),
          whole("beam_width"),
          type("attn_dtype"),
          type("kv_cache_dtype"),
          whole("step", "tokens"),
          latency()};
}

Columns encoder_attention_columns() {
  return {whole("batch_size", "sequences"), whole("isl", "tokens"), whole("num_heads"),
          whole("head_dim", "elements"),    type("attn_dtype"),     latency()};
}

Columns mla_columns() {
  return {type("mla_dtype"),       type("kv_cache_dtype"),
          whole("num_heads"),      whole("batch_size", "sequences"),
          whole("isl", "tokens"),  whole("tp_size", "GPUs"),
          whole("step", "tokens"), latency()};
}

// Whole attention blocks with their projections.
Columns module_columns() {
  return {text("model"),
          text("architecture"),
          type("mla_dtype"),
          type("kv_cache_dtype"),
          type("gemm_type"),
          whole("num_heads"),
          whole("batch_size", "sequences"),
          whole("isl", "tokens"),
          whole("tp_size", "GPUs"),
          whole("step", "tokens"),
          latency()};
}

// Blocks of sparse attention and parts of them.
Columns compressed_module_columns() {
  return {text("model"),
          text("architecture"),
          type("mla_dtype"),
          type("kv_cache_dtype"),
          type("gemm_type"),
          whole("num_heads"),
          sometimes(whole("local_num_heads")),
          whole("batch_size", "sequences"),
          whole("isl", "tokens"),
          whole("tp_size", "GPUs"),
          whole("step", "tokens"),
          whole("compress_ratio"),
          latency(),
          sometimes(text("score_mode"))};
}

// There are two versions of these tables: one like mla_columns(), one like module_columns().
Columns wideep_mla_columns() {
  Columns columns = module_columns();
  for (TableColumn& column : columns) {
    if (column.name == "model" || column.name == "architecture" || column.name == "gemm_type") {
      column.presence = Presence::kSometimes;
    }
  }
  return columns;
}

Columns mla_bmm_columns() {
  return {type("bmm_dtype"), whole("num_tokens", "tokens"), whole("num_heads"), latency()};
}

Columns moe_columns() {
  return {type("moe_dtype"),
          whole("num_tokens", "tokens"),
          whole("hidden_size", "elements"),
          whole("inter_size", "elements"),
          whole("topk", "experts"),
          whole("num_experts", "experts"),
          whole("moe_tp_size", "GPUs"),
          whole("moe_ep_size", "GPUs"),
          text("distribution"),
          latency()};
}

Columns moe_expert_compute_columns() {
  return {type("moe_dtype"),
          whole("num_tokens", "tokens"),
          whole("hidden_size", "elements"),
          whole("inter_size", "elements"),
          whole("topk", "experts"),
          whole("num_experts", "experts"),
          whole("num_slots", "experts"),
          whole("moe_tp_size", "GPUs"),
          whole("moe_ep_size", "GPUs"),
          text("distribution"),
          text("phase"),
          latency()};
}

Columns wideep_moe_columns() {
  return {type("moe_dtype"),
          text("moe_kernel"),
          whole("num_tokens", "tokens"),
          whole("dp_num_tokens", "tokens"),
          whole("rank0_num_tokens", "tokens"),
          whole("hidden_size", "elements"),
          whole("inter_size", "elements"),
          whole("topk", "experts"),
          whole("num_experts", "experts"),
          whole("num_slots", "experts"),
          whole("moe_tp_size", "GPUs"),
          whole("moe_ep_size", "GPUs"),
          text("distribution"),
          text("simulation_mode"),
          latency()};
}

Columns quantize_columns() {
  return {whole("m", "rows"), whole("k", "columns"), type("quant_dtype"), latency()};
}

// Types are named as nccl-tests names them: `half` is never a wrong label of bfloat16.
Columns nccl_columns() {
  return {text("nccl_dtype"), whole("num_gpus", "GPUs"), whole("message_size", "elements"),
          latency()};
}

Columns custom_allreduce_columns() {
  return {type("allreduce_dtype"),           whole("num_gpus", "GPUs"),
          whole("message_size", "elements"), latency(),
          sometimes(text("backend")),        sometimes(text("implementation"))};
}

Columns mamba2_columns() {
  return {text("phase"),
          whole("batch_size", "sequences"),
          whole("seq_len", "tokens"),
          whole("num_tokens", "tokens"),
          whole("d_model", "elements"),
          whole("d_state", "elements"),
          whole("d_conv", "elements"),
          whole("nheads"),
          whole("head_dim", "elements"),
          whole("n_groups"),
          whole("chunk_size", "tokens"),
          text("model_name"),
          latency()};
}

// Rows of collections have neither the product of two other columns nor the name of a model.
Columns delta_net_columns() {
  return {text("phase"),
          whole("batch_size", "sequences"),
          whole("seq_len", "tokens"),
          sometimes(whole("num_tokens", "tokens")),
          whole("d_model", "elements"),
          whole("d_conv", "elements"),
          whole("num_k_heads"),
          whole("head_k_dim", "elements"),
          whole("num_v_heads"),
          whole("head_v_dim", "elements"),
          sometimes(text("model_name")),
          latency()};
}

Columns mhc_columns() {
  return {text("architecture"),
          whole("num_tokens", "tokens"),
          whole("num_sites"),
          whole("hc_mult"),
          whole("hidden_size", "elements"),
          whole("sinkhorn_iters"),
          latency()};
}

Columns mlp_columns() {
  return {type("quant_type"), whole("num_token", "tokens"), whole("hidden_size", "elements"),
          whole("intermediate_size", "elements"), latency("avg_ms")};
}

Columns deepep_low_latency_columns() {
  return {whole("node_num", "hosts"),
          whole("hidden_size", "elements"),
          whole("num_token", "tokens"),
          whole("num_topk", "experts"),
          whole("num_experts", "experts"),
          result("combine_avg_t_us", "us"),
          result("combine_bandwidth_gbps", "GB/s"),
          result("dispatch_avg_t_us", "us"),
          result("dispatch_bandwidth_gbps", "GB/s")};
}

Columns deepep_normal_columns() {
  return {whole("node_num", "hosts"),           whole("hidden_size", "elements"),
          whole("num_token", "tokens"),         whole("num_topk", "experts"),
          whole("num_experts", "experts"),      whole("dispatch_sms", "SMs"),
          result("dispatch_transmit_us", "us"), result("dispatch_notify_us", "us"),
          whole("combine_sms", "SMs"),          result("combine_transmit_us", "us"),
          result("combine_notify_us", "us")};
}

Columns alltoall_columns() {
  return {type("moe_dtype"),
          whole("num_tokens", "tokens"),
          whole("hidden_size", "elements"),
          whole("topk", "experts"),
          whole("num_experts", "experts"),
          whole("moe_ep_size", "GPUs"),
          text("distribution"),
          latency()};
}

Columns moe_alltoall_columns() {
  return {text("comm_backend"),
          text("phase"),
          type("comm_dtype"),
          whole("ep_size", "GPUs"),
          whole("node_num", "hosts"),
          whole("hidden_size", "elements"),
          whole("topk", "experts"),
          whole("num_experts", "experts"),
          whole("num_tokens", "tokens"),
          whole("sms", "SMs"),
          result("transmit_us", "us"),
          result("notify_us", "us"),
          latency("latency", "us")};
}

std::vector<TableSpec> collectives() {
  const std::vector<std::string> ops = {"all_gather", "alltoall", "reduce_scatter", "all_reduce"};
  const std::vector<std::string> phases = {"alltoall_prepare", "alltoall_dispatch",
                                           "alltoall_combine"};
  return {{"nccl_perf", "comm", ops, nccl_columns()},
          {"oneccl_perf", "comm", ops, nccl_columns()},
          {"custom_allreduce_perf", "comm", {"all_reduce"}, custom_allreduce_columns()},
          {"wideep_deepep_ll_perf", "comm", {"ll"}, deepep_low_latency_columns()},
          {"wideep_deepep_normal_perf", "comm", {"normal"}, deepep_normal_columns()},
          {"trtllm_alltoall_perf", "comm", phases, alltoall_columns()},
          {"wideep_alltoall_perf", "comm", phases, alltoall_columns()},
          {"moe_a2a_perf", "comm", {}, moe_alltoall_columns()}};
}

std::vector<TableSpec> operators() {
  const std::vector<std::string> context_mla = {"mla_context", "context_mla"};
  const std::vector<std::string> generation_mla = {"mla_generation", "generation_mla"};
  return {{"gemm_perf", "gemm", {"gemm"}, gemm_columns()},
          {"context_attention_perf", "attention", {"context_attention"}, attention_columns()},
          {"generation_attention_perf", "attention", {"generation_attention"}, attention_columns()},
          {"encoder_attention_perf",
           "encoder_attention",
           {"encoder_attention"},
           encoder_attention_columns()},
          {"context_mla_perf", "mla", context_mla, mla_columns()},
          {"generation_mla_perf", "mla", generation_mla, mla_columns()},
          {"mla_bmm_perf", "mla_bmm", {"mla_gen_pre", "mla_gen_post"}, mla_bmm_columns()},
          {"moe_perf", "moe", {"moe"}, moe_columns()},
          {"moe_expert_compute_perf", "moe", {}, moe_expert_compute_columns()},
          {"computescale_perf", "quantize", {"compute_scale"}, quantize_columns()},
          {"scale_matrix_perf", "quantize", {"scale_matrix"}, quantize_columns()},
          {"mamba2_perf", "linear_attention", {"mamba2"}, mamba2_columns()},
          {"gdn_perf", "linear_attention", {"gdn", "gdn_conv", "gdn_rule"}, delta_net_columns()},
          {"kda_perf", "kda", {"kda"}, delta_net_columns()},
          {"mhc_module_perf", "mhc", {"pre", "post"}, mhc_columns()},
          {"wideep_context_mla_perf", "mla", context_mla, wideep_mla_columns()},
          {"wideep_generation_mla_perf", "mla", generation_mla, wideep_mla_columns()},
          {"wideep_context_mlp_perf", "mlp", {"mlp"}, mlp_columns()},
          {"wideep_generation_mlp_perf", "mlp", {"mlp"}, mlp_columns()},
          {"wideep_context_moe_perf", "moe", {"moe_context"}, moe_columns()},
          {"wideep_generation_moe_perf", "moe", {"moe_generation"}, moe_columns()},
          {"wideep_moe_perf", "moe", {"wideep_moe", "wideep_moe_eplb"}, wideep_moe_columns()}};
}

void add_modules(std::vector<TableSpec>& specs) {
  struct Module {
    const char* name;
    const char* family;
    Columns (*columns)();
  };

  static constexpr Module kModules[] = {
      {"mla_context_module", "mla", module_columns},
      {"mla_generation_module", "mla", module_columns},
      {"msa_context_module", "msa", module_columns},
      {"msa_generation_module", "msa", module_columns},
      {"dsa_context_module", "sparse_attention", module_columns},
      {"dsa_generation_module", "sparse_attention", module_columns},
      {"dsv4_csa_context_module", "sparse_attention", compressed_module_columns},
      {"dsv4_csa_generation_module", "sparse_attention", compressed_module_columns},
      {"dsv4_csa_attn_module", "sparse_attention", compressed_module_columns},
      {"dsv4_csa_topk_calib", "sparse_attention", compressed_module_columns},
      {"dsv4_hca_context_module", "sparse_attention", compressed_module_columns},
      {"dsv4_hca_generation_module", "sparse_attention", compressed_module_columns},
      {"dsv4_hca_attn_module", "sparse_attention", compressed_module_columns},
      {"dsv4_paged_mqa_logits_module", "sparse_attention", compressed_module_columns},
      {"glm5_dsa_attn_module", "sparse_attention", compressed_module_columns},
      {"glm5_mqa_logits_module", "sparse_attention", compressed_module_columns},
      {"glm5_topk_module", "sparse_attention", compressed_module_columns},
  };
  for (const Module& module : kModules) {
    const std::string name = module.name;
    // The DSA tables also hold the block without its indexer.
    specs.push_back(
        {name + "_perf", module.family, {name, name + "_skip_indexer"}, module.columns()});
  }
}

std::vector<TableSpec> all_specs() {
  std::vector<TableSpec> specs = operators();
  add_modules(specs);
  for (TableSpec& spec : collectives())
    specs.push_back(std::move(spec));
  return specs;
}

// Sizes that only tables without a declaration have.
constexpr std::array<std::string_view, 5> kOtherSizes = {"bytes", "columns", "rows", "tokens",
                                                         "vocabulary"};

std::set<std::string, std::less<>> size_names() {
  std::set<std::string, std::less<>> names(kOtherSizes.begin(), kOtherSizes.end());
  for (const TableSpec& spec : table_specs()) {
    for (const TableColumn& column : spec.columns) {
      if (column.kind == ColumnKind::kWhole) names.insert(column.name);
    }
  }
  return names;
}

ColumnRole column_role(std::string_view name, std::string_view latency) {
  if (name == latency) return ColumnRole::kLatency;
  for (const std::string_view unit : {"_us", "_ms", "_gbps"}) {
    if (name.ends_with(unit)) return ColumnRole::kResult;
  }
  return ColumnRole::kKey;
}

std::string_view latency_name(const Frame& frame) {
  for (const std::string_view name : {"latency", "avg_ms", "latency_ms"}) {
    if (frame.find(name) != nullptr) return name;
  }
  return {};
}

ColumnKind column_kind(const FrameColumn& column, ColumnRole role) {
  if (role != ColumnRole::kKey) return ColumnKind::kReal;
  if (column.name.ends_with("dtype")) return ColumnKind::kDataType;
  if (std::holds_alternative<TextColumn>(column.values)) return ColumnKind::kText;
  return std::holds_alternative<std::vector<double>>(column.values) ? ColumnKind::kReal
                                                                    : ColumnKind::kWhole;
}

}  // namespace

const TableColumn* TableSpec::find(std::string_view column) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const TableColumn& c) { return c.name == column; });
  return found == columns.end() ? nullptr : &*found;
}

const TableColumn* TableSpec::latency() const {
  const auto found = std::find_if(columns.begin(), columns.end(), [](const TableColumn& column) {
    return column.role == ColumnRole::kLatency;
  });
  return found == columns.end() ? nullptr : &*found;
}

bool is_size_column(const TableColumn& column) {
  static const std::set<std::string, std::less<>> names = size_names();
  const bool is_number = column.kind == ColumnKind::kWhole || column.kind == ColumnKind::kReal;
  return is_number && column.role == ColumnRole::kKey && names.contains(column.name);
}

bool is_common_column(std::string_view column) {
  return std::find(kCommonColumns.begin(), kCommonColumns.end(), column) != kCommonColumns.end();
}

bool is_power_column(std::string_view column) {
  return std::find(kPowerColumns.begin(), kPowerColumns.end(), column) != kPowerColumns.end();
}

const std::vector<TableSpec>& table_specs() {
  static const std::vector<TableSpec> specs = all_specs();
  return specs;
}

const TableSpec* find_table_spec(std::string_view table) {
  // The public collector's introduction calls them so; its programs never did.
  if (table == "comm_perf") table = "nccl_perf";
  if (table == "custom_all_reduce") table = "custom_allreduce_perf";
  const auto& specs = table_specs();
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const TableSpec& spec) { return spec.table == table; });
  return found == specs.end() ? nullptr : &*found;
}

std::vector<std::string> known_key_columns() {
  std::vector<std::string> names(kCommonColumns.begin(), kCommonColumns.end());
  const auto add = [&](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  for (const TableSpec& spec : table_specs()) {
    for (const TableColumn& column : spec.columns) {
      if (column.role == ColumnRole::kKey) add(column.name);
    }
  }
  for (const std::string_view name : kFormerColumns)
    add(name);
  return names;
}

TableSpec generic_table_spec(std::string table, const Frame& frame) {
  const std::string_view latency = latency_name(frame);
  TableSpec spec{.table = std::move(table), .family = "", .op_names = {}, .columns = {}};
  for (const FrameColumn& column : frame.columns) {
    if (is_common_column(column.name) || is_power_column(column.name)) continue;
    const ColumnRole role = column_role(column.name, latency);
    spec.columns.push_back({.name = column.name,
                            .kind = column_kind(column, role),
                            .unit = role == ColumnRole::kLatency ? "ms" : "",
                            .role = role,
                            .presence = Presence::kSometimes});
  }
  return spec;
}

std::string_view table_of_fastest(std::string_view table) {
  const std::string_view ending = model::kOthersEnding;
  if (table.ends_with(ending)) table.remove_suffix(ending.size());
  return table;
}

bool holds_differences(std::string_view table) {
  return table == "computescale_perf";
}

std::string table_name(std::string_view text) {
  text = text.substr(text.rfind('/') + 1);
  text = text.substr(0, text.find('.'));
  const std::string name(text);
  const bool is_whole = table_of_fastest(name).ends_with("_perf");
  return name.empty() || is_whole ? name : name + "_perf";
}

}  // namespace assay::store
