#include "collect/kernels/kernel_cost.h"
#include "collect/kernels/kernel_limits.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

CollectiveSpec spec_of(const Case& of) {
  return {.provider = CollectiveProvider::kStrategies,
          .elements = of.integer("message_size"),
          .ranks = static_cast<int>(of.integer("num_gpus")),
          .type = of.type("allreduce_dtype")};
}

// The last column says whose kernels they are; public tables have it after the latency.
std::vector<Part> parts_of(const Case& of) {
  std::vector<model::PerfField> key = key_of(of);
  key.push_back({"implementation", std::string("assay")});
  return {{"all_reduce", "custom_allreduce_perf", std::move(key), spec_of(of)}};
}

std::vector<Axis> axes() {
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
    .axes = axes(),
    .skip = [](const Case& of, const DeviceFacts& facts) { return limit_of(spec_of(of), facts); },
    .cost = [](const Case& of) { return cost_of(spec_of(of)); },
    .parts = parts_of,
    .ranks_axis = 1,
};
ASSAY_REGISTER(Operator, kCustomAllReduce);

}  // namespace
}  // namespace assay::collect
