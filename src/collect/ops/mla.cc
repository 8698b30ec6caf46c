#include "collect/ops/mla.h"

#include <utility>

namespace assay::collect {
namespace {

// num_heads, tp_size.
AxisGroup::Rows local_heads() {
  return integer_rows({{128, 1}, {64, 2}, {32, 4}, {16, 8}, {8, 16}, {4, 32}, {2, 64}, {1, 128}});
}

AxisGroup::Rows coarse_local_heads() {
  return integer_rows({{128, 1}, {32, 4}, {16, 8}, {4, 32}, {1, 128}});
}

}  // namespace

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
