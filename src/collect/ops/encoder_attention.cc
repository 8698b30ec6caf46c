#include "collect/kernels/kernel_cost.h"
#include "collect/ops/attention.h"

namespace assay::collect {
namespace {

// Every token of a request attends to all of them, as in encoders of images and sound. Each head
// has keys and values of its own.
AttentionSpec encoder_spec(const Case& point) {
  return {.batch = point.integer("batch_size"),
          .query_length = point.integer("isl"),
          .kv_length = point.integer("isl"),
          .heads = point.integer("num_heads"),
          .kv_heads = point.integer("num_heads"),
          .head_dim = point.integer("head_dim"),
          .value_dim = point.integer("head_dim"),
          .causal = false,
          .type = point.type("attn_dtype"),
          .kv_type = point.type("attn_dtype")};
}

// The public collector bounds the tokens, and the elements of a tensor.
bool takes_encoder(const Case& point) {
  constexpr std::int64_t kTokens = 131072;
  constexpr std::int64_t kElements = std::int64_t{1} << 28;
  const AttentionSpec spec = encoder_spec(point);
  const std::int64_t tokens = spec.batch * spec.kv_length;
  return tokens <= kTokens && tokens * spec.heads * spec.head_dim < kElements;
}

// Rows of num_heads and head_dim: those of the public collector.
AxisGroup::Rows encoder_heads() {
  AxisGroup::Rows rows;
  for (const std::int64_t heads : {1, 2, 4, 5, 8, 10, 12, 14, 16, 20, 24, 32}) {
    for (const std::int64_t head_dim : {64, 72, 80}) {
      if (heads > 1 || head_dim < 80) rows.push_back(integers({heads, head_dim}));
    }
  }
  return rows;
}

AxisGroup::Rows coarse_encoder_heads() {
  return integer_rows({{4, 64}, {16, 64}, {16, 72}, {16, 80}});
}

std::vector<Axis> encoder_axes() {
  return {
      {.column = "batch_size",
       .option = "",
       .help = "requests",
       .unit = "requests",
       .common = powers(1, 64),
       .coarse = powers(1, 64, 4)},
      {.column = "isl",
       .option = "",
       .help = "tokens of a request",
       .unit = "tokens",
       .common = integers({1,     13,    16,    26,    32,    52,    64,    104,   128,  192,
                           256,   400,   512,   576,   1024,  1296,  1500,  1536,  2048, 2304,
                           3072,  3136,  4096,  5184,  6144,  6400,  7744,  8192,  9216, 10240,
                           10816, 12288, 12544, 14400, 16384, 24576, 32768, 49152, 65536}),
       .coarse = joined(integers({1}), powers(16, 65536, 4))},
      {.column = "num_heads",
       .option = "",
       .help = "heads of a GPU",
       .unit = "heads",
       .common = column_of(encoder_heads(), 0),
       .coarse = column_of(coarse_encoder_heads(), 0)},
      {.column = "head_dim",
       .option = "",
       .help = "elements of a head",
       .unit = "elements",
       .common = column_of(encoder_heads(), 1),
       .coarse = column_of(coarse_encoder_heads(), 1)},
      {.column = "attn_dtype",
       .option = "dtype",
       .help = "type of the products and of keys and values",
       .unit = "",
       .common = texts({"bfloat16"})},
  };
}

const Operator kEncoderAttention{
    .name = "encoder_attention",
    .summary = "attention of encoders: every token attends to all",
    .table = "encoder_attention_perf",
    .axes = encoder_axes(),
    .takes = takes_encoder,
    .skip = [](const Case& point,
               const DeviceFacts& facts) { return limit_of(encoder_spec(point), facts); },
    .cost = [](const Case& point) { return cost_of(encoder_spec(point)); },
    .parts =
        [](const Case& point) {
          return std::vector<Part>{
              {"encoder_attention", "encoder_attention_perf", key_of(point), encoder_spec(point)}};
        },
    .groups = {{.columns = {"num_heads", "head_dim"},
                .common = encoder_heads(),
                .coarse = coarse_encoder_heads()}},
    .alias = "attention_encoder",
};
ASSAY_REGISTER(Operator, kEncoderAttention);

}  // namespace
}  // namespace assay::collect
