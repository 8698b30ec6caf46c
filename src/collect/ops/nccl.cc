#include <array>
#include <optional>

#include "collect/kernels/kernel_cost.h"
#include "collect/kernels/kernel_limits.h"
#include "collect/ops/values.h"
#include "core/check.h"

namespace assay::collect {
namespace {

constexpr std::array kFunctions = {model::NcclFunction::kAllReduce, model::NcclFunction::kAllGather,
                                   model::NcclFunction::kReduceScatter,
                                   model::NcclFunction::kAllToAll, model::NcclFunction::kSendRecv};

model::NcclFunction function_named(std::string_view name) {
  const std::optional<model::NcclFunction> function = model::nccl_function_of_table(name);
  ASSAY_CHECK(function, "check_override lets no other collective in");
  return *function;
}

std::vector<model::PerfValue> function_names() {
  std::vector<model::PerfValue> names;
  for (const model::NcclFunction function : kFunctions)
    names.emplace_back(std::string(table_name_of(function)));
  return names;
}

CollectiveSpec spec_of(const Case& of) {
  return {.function = function_named(of.text("op_name")),
          .elements = of.integer("message_size"),
          .ranks = static_cast<int>(of.integer("num_gpus")),
          .type = of.type("nccl_dtype")};
}

// 512 B to 512 MiB, in elements of either type.
bool takes(const Case& of) {
  constexpr std::int64_t kLeastBytes = 512;
  constexpr std::int64_t kMostBytes = std::int64_t{512} << 20;
  const std::int64_t bytes = of.integer("message_size") * bytes_of(of.type("nccl_dtype"));
  return bytes >= kLeastBytes && bytes <= kMostBytes;
}

std::vector<Part> parts_of(const Case& of) {
  std::vector<model::PerfField> key = key_of(of);
  key.erase(key.begin());  // op_name, which every row has before its key
  return {{.op_name = of.text("op_name"),
           .table = "nccl_perf",
           .key = std::move(key),
           .kernel = spec_of(of),
           .version_of = "NCCL"}};
}

std::vector<Axis> axes() {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
  constexpr std::int64_t kMostRanks = 65536;
  return {{.column = "op_name",
           .option = "op",
           .help = "collective",
           .unit = "",
           .common = function_names()},
          {.column = "nccl_dtype",
           .option = "dtype",
           .help = "type of an element",
           .unit = "",
           .common = texts({"half", "int8"}),
           .coarse = texts({"half"})},
          {.column = "num_gpus",
           .option = "",
           .help = "GPUs, a rank each",
           .unit = "GPUs",
           .common = integers({2, 4, 8}),
           .least = 2,
           .most = kMostRanks},
          {.column = "message_size",
           .option = "",
           .help = "elements of the whole buffer, as nccl-tests counts sizes",
           .unit = "elements",
           .common = powers(256, std::int64_t{512} << 20),
           .most = kMostElements}};
}

const Operator kNccl{
    .name = "nccl",
    .summary = "NCCL's collectives, and send and receive around a ring",
    .table = "nccl_perf",
    .axes = axes(),
    .takes = takes,
    .skip = [](const Case& of, const DeviceFacts& facts) { return limit_of(spec_of(of), facts); },
    .cost = [](const Case& of) { return cost_of(spec_of(of)); },
    .parts = parts_of,
    .ranks_axis = 2,
};
ASSAY_REGISTER(Operator, kNccl);

}  // namespace
}  // namespace assay::collect
