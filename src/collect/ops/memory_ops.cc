// Operators that are bound by memory bandwidth. The public collector has no table for them: they
// write memory_op_perf, with the kind as op_name and the columns dtype, rows, columns and
// vocabulary (0 except for embeddings).
#include "collect/kernels/kernel_cost.h"
#include "collect/ops/values.h"

namespace assay::collect {
namespace {

using MemoryKind = MemorySpec::Kind;

MemorySpec memory_spec(const Case& point, MemoryKind kind) {
  return {.kind = kind,
          .rows = point.integer("rows"),
          .columns = point.integer("columns"),
          .vocabulary = point.integer("vocabulary"),
          .type = point.type("dtype")};
}

bool is_plain(std::string_view type) {
  return type == "float32" || type == "float16" || type == "bfloat16";
}

// The embedding table has as many rows as the vocabularies of current models.
Axis vocabulary_axis(MemoryKind kind) {
  constexpr std::int64_t kVocabulary = 131072;
  const bool is_embedding = kind == MemoryKind::kEmbedding;
  return {.column = "vocabulary",
          .option = "",
          .help = "rows of the table of embeddings; 0 of all operators but embedding",
          .unit = "rows",
          .common = integers({is_embedding ? kVocabulary : 0}),
          .least = is_embedding ? 1 : 0,
          .most = is_embedding ? 2147483647 : 0};
}

// A norm of heads has a row for each head of a token: 104 for 96 heads of queries and 8 of keys.
// Its tensors then have 0.3 GB each at most; those of whole tokens would not fit into small GPUs.
constexpr std::int64_t kMostTokens = 65536;
constexpr std::int64_t kMostHeadRows = 524288;
constexpr std::int64_t kWidestHead = 256;

bool takes_for_models(const Case& point, MemoryKind kind) {
  if (point.integer("rows") <= kMostTokens) return true;
  return kind == MemoryKind::kRmsNorm && point.integer("columns") <= kWidestHead;
}

std::vector<Axis> memory_axes(MemoryKind kind) {
  return {{.column = "dtype",
           .option = "",
           .help = "type of all tensors",
           .unit = "",
           .common = texts({"bfloat16"}),
           .accepts = is_plain},
          {.column = "rows",
           .option = "",
           .help = "tokens",
           .unit = "tokens",
           .common = integers({1,   2,   4,   8,    16,   32,   64,   96,    128,   192,
                               256, 384, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}),
           .coarse = powers(1, kMostTokens, 4),
           .models = joined(powers(1, kMostTokens, 4), powers(2 * kMostTokens, kMostHeadRows)),
           .nesting = Nesting::kInner},
          {.column = "columns",
           .option = "",
           .help = "elements of a token, in the output",
           .unit = "elements",
           .common = integers({512, 768, 1024, 1536, 2048, 2880, 3072, 4096, 5120, 6144, 7168, 8192,
                               12288, 14336, 16384}),
           .coarse = powers(512, 16384, 2)},
          vocabulary_axis(kind)};
}

Operator memory_operator(const char* name, const char* summary, MemoryKind kind) {
  return {
      .name = name,
      .summary = summary,
      .table = "memory_op_perf",
      .axes = memory_axes(kind),
      .takes_for_models = [kind](const Case& point) { return takes_for_models(point, kind); },
      .skip = [kind](
                  const Case& point,
                  const DeviceFacts& facts) { return limit_of(memory_spec(point, kind), facts); },
      .cost = [kind](const Case& point) { return cost_of(memory_spec(point, kind)); },
      .parts =
          [kind, name](const Case& point) {
            return std::vector<Part>{
                {name, "memory_op_perf", key_of(point), memory_spec(point, kind)}};
          },
  };
}

const Operator kRmsNorm =
    memory_operator("rms_norm", "root mean square norm with a weight", MemoryKind::kRmsNorm);
const Operator kAddRmsNorm = memory_operator(
    "add_rms_norm", "residual added, and the norm of the sum", MemoryKind::kAddRmsNorm);
const Operator kSiluMul = memory_operator(
    "silu_mul", "gated activation: SiLU of one half times the other", MemoryKind::kSiluMul);
const Operator kEmbedding =
    memory_operator("embedding", "rows looked up in a table", MemoryKind::kEmbedding);
const Operator kAdd =
    memory_operator("add", "sum of two tensors, element by element", MemoryKind::kAdd);
const Operator kCopy =
    memory_operator("copy", "copy of a tensor: memory bandwidth", MemoryKind::kCopy);
const Operator kRead = memory_operator(
    "read", "sum of all elements of a tensor: reading bandwidth", MemoryKind::kRead);
ASSAY_REGISTER(Operator, kRmsNorm);
ASSAY_REGISTER(Operator, kAddRmsNorm);
ASSAY_REGISTER(Operator, kSiluMul);
ASSAY_REGISTER(Operator, kEmbedding);
ASSAY_REGISTER(Operator, kAdd);
ASSAY_REGISTER(Operator, kCopy);
ASSAY_REGISTER(Operator, kRead);

}  // namespace
}  // namespace assay::collect
