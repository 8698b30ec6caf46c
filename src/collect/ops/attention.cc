#include "collect/ops/attention.h"

#include <algorithm>
#include <utility>

namespace assay::collect {
namespace {

// Rows of head_dim and window_size. Newer models than those of the public grid have heads of 192
// and 256.
AxisGroup::Rows head_shapes() {
  return integer_rows({{64, 0}, {64, 128}, {128, 0}, {192, 0}, {256, 0}});
}

AxisGroup::Rows fine_head_shapes() {
  return integer_rows({{64, 0},
                       {64, 128},
                       {64, 1024},
                       {64, 8192},
                       {128, 0},
                       {128, 128},
                       {128, 1024},
                       {128, 8192},
                       {192, 0},
                       {256, 0}});
}

// Rows of num_heads and tp_size.
AxisGroup::Rows local_heads() {
  return integer_rows({{128, 1}, {64, 2}, {32, 4}, {16, 8}, {8, 16}, {4, 32}, {2, 64}, {1, 128}});
}

AxisGroup::Rows coarse_local_heads() {
  return integer_rows({{128, 1}, {32, 4}, {16, 8}, {4, 32}, {1, 128}});
}

}  // namespace

std::vector<Axis> attention_axes(const AttentionGrid& grid) {
  return {
      grid.batch_size,
      grid.isl,
      {.column = "num_heads",
       .option = "",
       .help = "query heads of a GPU",
       .unit = "heads",
       .common = column_of(grid.heads, 0),
       .coarse = column_of(grid.heads_coarse, 0)},
      {.column = "num_key_value_heads",
       .option = "kv-heads",
       .help = "key and value heads of a GPU",
       .unit = "heads",
       .common = column_of(grid.heads, 1),
       .coarse = column_of(grid.heads_coarse, 1)},
      {.column = "head_dim",
       .option = "",
       .help = "elements of a head",
       .unit = "elements",
       .common = column_of(head_shapes(), 0)},
      {.column = "window_size",
       .option = "window",
       .help = "keys that a query attends to; 0: all",
       .unit = "tokens",
       .common = column_of(head_shapes(), 1),
       .fine = column_of(fine_head_shapes(), 1),
       .least = 0},
      {.column = "attn_dtype",
       .option = "dtype",
       .help = "type of the products",
       .unit = "",
       .common = column_of(grid.types, 0)},
      {.column = "kv_cache_dtype",
       .option = "kv-dtype",
       .help = "type of the cache of keys and values",
       .unit = "",
       .common = column_of(grid.types, 1)},
      grid.step,
  };
}

std::vector<AxisGroup> attention_groups(const AttentionGrid& grid) {
  return {
      {.columns = {"num_heads", "num_key_value_heads"},
       .common = grid.heads,
       .coarse = grid.heads_coarse},
      {.columns = {"head_dim", "window_size"}, .common = head_shapes(), .fine = fine_head_shapes()},
      {.columns = {"attn_dtype", "kv_cache_dtype"}, .common = grid.types},
  };
}

AttentionSpec attention_spec(const Case& point) {
  return {.batch = point.integer("batch_size"),
          .query_length = point.integer("isl"),
          .kv_length = point.integer("isl") + point.integer("step"),
          .heads = point.integer("num_heads"),
          .kv_heads = point.integer("num_key_value_heads"),
          .head_dim = point.integer("head_dim"),
          .value_dim = point.integer("head_dim"),
          .window = point.integer("window_size"),
          .type = point.type("attn_dtype"),
          .kv_type = point.type("kv_cache_dtype")};
}

std::vector<model::PerfField> attention_key(const Case& point) {
  std::vector<model::PerfField> key = key_of(point);
  const auto is_type = [](const model::PerfField& field) { return field.column == "attn_dtype"; };
  key.insert(std::find_if(key.begin(), key.end(), is_type), {"beam_width", std::int64_t{1}});
  return key;
}

AxisGroup::Rows multi_head(std::initializer_list<std::int64_t> heads) {
  AxisGroup::Rows made;
  for (const std::int64_t count : heads)
    made.push_back(integers({count, count}));
  return made;
}

AxisGroup::Rows grouped_query(std::initializer_list<std::int64_t> heads) {
  AxisGroup::Rows made;
  for (const std::int64_t count : heads) {
    for (const std::int64_t kv : {1, 2, 4, 8}) {
      if (kv < count && count % kv == 0) made.push_back(integers({count, kv}));
    }
  }
  return made;
}

std::vector<Axis> mla_axes(Axis batch_size, Axis isl, Axis step) {
  return {
      {.column = "mla_dtype",
       .option = "dtype",
       .help = "type of the products",
       .unit = "",
       .common = texts({"bfloat16"})},
      {.column = "kv_cache_dtype",
       .option = "kv-dtype",
       .help = "type of the cache",
       .unit = "",
       .common = texts({"bfloat16", "fp8"})},
      {.column = "num_heads",
       .option = "",
       .help = "heads of a GPU",
       .unit = "heads",
       .common = column_of(local_heads(), 0),
       .coarse = column_of(coarse_local_heads(), 0)},
      std::move(batch_size),
      std::move(isl),
      {.column = "tp_size",
       .option = "",
       .help = "GPUs that share the heads; one is measured",
       .unit = "GPUs",
       .common = column_of(local_heads(), 1),
       .coarse = column_of(coarse_local_heads(), 1)},
      std::move(step),
  };
}

std::vector<AxisGroup> mla_groups() {
  return {{.columns = {"num_heads", "tp_size"},
           .common = local_heads(),
           .coarse = coarse_local_heads()}};
}

}  // namespace assay::collect
