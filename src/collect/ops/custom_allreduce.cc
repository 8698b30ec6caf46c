#include "collect/kernels/kernel_cost.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

CollectiveSpec custom_allreduce_spec(const Case& point) {
  return {.provider = CollectiveProvider::kStrategies,
          .elements = point.integer("message_size"),
          .ranks = static_cast<int>(point.integer("num_gpus")),
          .type = point.type("allreduce_dtype")};
}

// The last column names the implementation; public tables have it after the latency.
std::vector<Part> custom_allreduce_parts(const Case& point) {
  std::vector<model::PerfField> key = key_of(point);
  key.push_back({"implementation", std::string("assay")});
  return {{"all_reduce", "custom_allreduce_perf", std::move(key), custom_allreduce_spec(point)}};
}

std::vector<Axis> custom_allreduce_axes() {
  return {{.column = "allreduce_dtype",
           .option = "dtype",
           .help = "type of an element",
           .unit = "",
           .common = texts({"bfloat16"})},
          {.column = "num_gpus",
           .option = "",
           .help = "GPUs, a rank each",
           .unit = "GPUs",
           .common = integers({2, 4, 8}),
           .least = 2,
           .most = 64},
          {.column = "message_size",
           .option = "",
           .help = "elements of the buffer",
           .unit = "elements",
           .common = powers(128, std::int64_t{512} << 20)}};
}

const Operator kCustomAllReduce{
    .name = "custom_allreduce",
    .summary = "all-reduce by assay's own strategies, the fastest at each size",
    .table = "custom_allreduce_perf",
    .axes = custom_allreduce_axes(),
    .skip = [](const Case& point,
               const DeviceFacts& facts) { return limit_of(custom_allreduce_spec(point), facts); },
    .cost = [](const Case& point) { return cost_of(custom_allreduce_spec(point)); },
    .parts = custom_allreduce_parts,
    .ranks_axis = 1,
};
ASSAY_REGISTER(Operator, kCustomAllReduce);

}  // namespace
}  // namespace assay::collect
