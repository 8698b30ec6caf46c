#include "store/answers/work.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

// The requests times the key-value heads are the caches that are read, each by as many queries as
// there are heads to a key-value head. Products and bytes are the same for (16 heads, 2 key-value
// heads) at batch b as for (8, 1) at 2b.
const WorkAxis kCaches{.times = {"batch_size", "num_key_value_heads"}, .reach = 6};
const WorkAxis kQueriesOfCache{.times = {"num_heads"}, .over = {"num_key_value_heads"}, .reach = 6};
const WorkLimit kHeadsOfCaches{.column = "num_heads", .other = "num_key_value_heads"};
const WorkAxis kHeadDim{.times = {"head_dim"}, .reach = 4};

WorkAxis column(const char* name, double reach, double plus = 0) {
  return {.times = {name}, .plus = plus, .reach = reach};
}

std::vector<Work> of_attention() {
  return {
      {.table = "context_attention_perf",
       .axes = {{.times = {"isl"}, .tile = 128, .reach = 1.5},
                kCaches,
                kQueriesOfCache,
                kHeadDim,
                column("step", 6, 1)},
       .limits = {kHeadsOfCaches}},
      {.table = "encoder_attention_perf",
       .axes = {{.times = {"isl"}, .tile = 128, .reach = 1.5},
                {.times = {"batch_size", "num_heads"}, .reach = 6},
                kHeadDim}},
      {.table = "generation_attention_perf",
       .axes = {{.times = {"step"}, .plus = 1, .tile = 64, .reach = 6},
                kCaches,
                kQueriesOfCache,
                kHeadDim,
                column("isl", 6)},
       .limits = {kHeadsOfCaches}},
      // Every head has keys and values of its own.
      {.table = "context_mla_perf",
       .axes = {{.times = {"isl"}, .tile = 128, .reach = 1.5},
                {.times = {"batch_size", "num_heads"}, .reach = 6},
                column("num_heads", 24),
                column("step", 6, 1)},
       .labels = {"tp_size"}},
      // All heads share one latent, so that heads and requests are not the same.
      {.table = "generation_mla_perf",
       .axes = {{.times = {"step"}, .plus = 1, .reach = 6},
                column("batch_size", 6),
                column("num_heads", 6),
                column("isl", 6)},
       .labels = {"tp_size"}},
      // Whole modules, whose other sizes the architecture tells.
      {.table = "dsa_context_module_perf",
       .axes = {{.times = {"isl"}, .tile = 128, .reach = 1.5},
                column("batch_size", 6),
                column("num_heads", 6),
                column("step", 6, 1)},
       .labels = {"tp_size", "model"}},
      {.table = "dsa_generation_module_perf",
       .axes = {{.times = {"step"}, .plus = 1, .reach = 6},
                column("batch_size", 6),
                column("num_heads", 6),
                column("isl", 6)},
       .labels = {"tp_size", "model"}},
  };
}

std::vector<Work> of_other_operators() {
  return {
      {.table = "gemm_perf", .axes = {column("m", 3), column("n", 6), column("k", 6)}},
      {.table = "mla_bmm_perf", .axes = {column("num_tokens", 3), column("num_heads", 6)}},
      // The experts of a GPU, their width and its pairs of a token and an expert. How many GPUs
      // share the experts still matters where routing is uneven, because the busiest is measured.
      {.table = "moe_perf",
       .axes = {{.times = {"num_tokens", "topk"}, .over = {"moe_ep_size"}, .reach = 6},
                column("hidden_size", 3),
                {.times = {"inter_size"}, .over = {"moe_tp_size"}, .reach = 3},
                {.times = {"num_experts"}, .over = {"moe_ep_size"}, .reach = 3},
                column("topk", 3),
                column("moe_ep_size", 3)},
       .limits = {{.column = "topk", .kind = WorkLimit::Kind::kAtMost, .other = "num_experts"},
                  {.column = "num_experts", .other = "moe_ep_size"},
                  {.column = "inter_size", .other = "moe_tp_size"}}},
      // The delta rule's state is that of a value head; key heads repeat for several.
      {.table = "gdn_perf",
       .axes = {column("seq_len", 3),
                {.times = {"batch_size", "num_v_heads"}, .reach = 6},
                column("num_v_heads", 24),
                {.times = {"num_v_heads"}, .over = {"num_k_heads"}, .reach = 6}},
       .labels = {"num_tokens", "model_name", "d_model"},
       .limits = {{.column = "num_v_heads", .other = "num_k_heads"}}},
      // A head's state; what heads share is small beside it.
      {.table = "mamba2_perf",
       .axes = {column("seq_len", 3),
                {.times = {"batch_size", "nheads"}, .reach = 6},
                column("nheads", 24)},
       .labels = {"num_tokens", "model_name", "d_model", "n_groups", "chunk_size"}},
      {.table = "nccl_perf", .axes = {column("message_size", 6)}},
      {.table = "custom_allreduce_perf", .axes = {column("message_size", 6)}},
  };
}

std::vector<Work> declared() {
  std::vector<Work> works = of_attention();
  for (Work& other : of_other_operators())
    works.push_back(std::move(other));
  return works;
}

bool holds(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

bool Work::has(std::string_view column) const {
  return std::any_of(axes.begin(), axes.end(), [&](const WorkAxis& axis) {
    return holds(axis.times, column) || holds(axis.over, column);
  });
}

bool Work::is_label(std::string_view column) const {
  return holds(labels, column);
}

std::string name_of(const WorkAxis& axis) {
  std::string name = core::join(axis.times, " x ");
  for (const std::string& column : axis.over)
    name += " / " + column;
  return name;
}

const Work* find_work(std::string_view table) {
  static const std::vector<Work> works = declared();
  const std::string_view fastest = table_of_fastest(table);
  const auto found = std::find_if(works.begin(), works.end(),
                                  [&](const Work& work) { return work.table == fastest; });
  return found == works.end() ? nullptr : &*found;
}

Work work_of_sizes(std::string table,
                   const std::vector<std::string>& sizes,
                   const std::vector<std::size_t>& values) {
  Work work{.table = std::move(table), .axes = {}};
  for (const std::string& size : sizes)
    work.axes.push_back({.times = {size}, .plus = size == "step" ? 1.0 : 0.0});
  const auto most = std::max_element(values.begin(), values.end()) - values.begin();
  if (!sizes.empty())
    std::rotate(work.axes.begin(), work.axes.begin() + most, work.axes.begin() + most + 1);
  return work;
}

}  // namespace assay::store
