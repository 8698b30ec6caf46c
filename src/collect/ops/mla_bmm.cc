// The products that take a query into the latent space before decoding and its result out of it
// afterwards; each head has a matrix of its own.
#include "collect/kernels/kernel_cost.h"
#include "collect/ops/attention.h"

namespace assay::collect {
namespace {

enum class BmmSide : std::uint8_t { kPre, kPost };

GemmSpec bmm_spec(const Case& point, BmmSide side) {
  return {.m = point.integer("num_tokens"),
          .n = side == BmmSide::kPre ? kMlaLatentDim : kMlaValueDim,
          .k = side == BmmSide::kPre ? kMlaNopeDim : kMlaLatentDim,
          .type = point.type("bmm_dtype"),
          .batch = point.integer("num_heads")};
}

std::vector<model::PerfValue> bmm_pre_tokens() {
  return integers({1,   2,   4,   8,   16,  32,   48,   64,   80,   96,   128,  160, 192,
                   256, 320, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192});
}

std::vector<model::PerfValue> bmm_tokens(BmmSide side) {
  if (side == BmmSide::kPre) return bmm_pre_tokens();
  return joined(bmm_pre_tokens(), integers({12288, 16384, 20480}));
}

std::vector<Axis> bmm_axes(BmmSide side) {
  return {{.column = "bmm_dtype",
           .option = "dtype",
           .help = "type of both inputs",
           .unit = "",
           .common = texts({"bfloat16", "fp8"})},
          {.column = "num_tokens",
           .option = "",
           .help = "tokens",
           .unit = "tokens",
           .common = bmm_tokens(side),
           .coarse = joined(powers(1, 64), powers(256, side == BmmSide::kPre ? 4096 : 16384, 4)),
           .nesting = Nesting::kInner},
          {.column = "num_heads",
           .option = "",
           .help = "heads of a GPU",
           .unit = "heads",
           .common = powers(1, 128),
           .coarse = powers(2, 128, 4),
           .fine = joined(powers(1, 128), integers({12, 24, 48, 96}))}};
}

Operator bmm_operator(const char* name, const char* op_name, const char* summary, BmmSide side) {
  return {
      .name = name,
      .summary = summary,
      .table = "mla_bmm_perf",
      .axes = bmm_axes(side),
      .skip = [side](const Case& point,
                     const DeviceFacts& facts) { return limit_of(bmm_spec(point, side), facts); },
      .cost = [side](const Case& point) { return cost_of(bmm_spec(point, side)); },
      .parts =
          [side, op_name](const Case& point) {
            return std::vector<Part>{
                {op_name, "mla_bmm_perf", key_of(point), bmm_spec(point, side)}};
          },
  };
}

const Operator kPreOperator = bmm_operator("mla_bmm_gen_pre",
                                           "mla_gen_pre",
                                           "products of each head before latent decoding",
                                           BmmSide::kPre);
const Operator kPostOperator = bmm_operator("mla_bmm_gen_post",
                                            "mla_gen_post",
                                            "products of each head after latent decoding",
                                            BmmSide::kPost);
ASSAY_REGISTER(Operator, kPreOperator);
ASSAY_REGISTER(Operator, kPostOperator);

}  // namespace
}  // namespace assay::collect
