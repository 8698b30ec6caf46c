#include "collect/cuda/attention_graph.h"

#include <cmath>

#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

using cudnn::Dimensions;
using cudnn::Graph;
using cudnn::TensorId;
using cudnn::TensorLayout;
using Pointwise = Graph::Pointwise;

Dimensions transposed(const Dimensions& lengths) {
  return {lengths[0], lengths[1], lengths[3], lengths[2]};
}

float softmax_scale(const AttentionSpec& spec) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(spec.head_dim)));
}

// The layout of the cache in memory: whole sequences, or pages.
TensorLayout cache_layout(const AttentionSpec& spec,
                          const AttentionStrides& strides,
                          std::int64_t columns) {
  const AttentionLayout layout = layout_of(spec);
  const bool paged = spec.page_size > 0;
  return {.type = *cudnn_type(spec.kv_type),
          .dimensions = {paged ? layout.pages : spec.batch, spec.kv_heads,
                         paged ? spec.page_size : spec.kv_length, columns},
          .strides = strides};
}

void add_lengths(const AttentionSpec& spec, AttentionGraph& to) {
  const std::int64_t pages = layout_of(spec).pages_per_sequence;
  const TensorLayout table{.type = CUDNN_DATA_INT32,
                           .dimensions = {spec.batch, 1, pages, 1},
                           .strides = {pages, pages, 1, 1}};
  const TensorLayout lengths{.type = CUDNN_DATA_INT32, .dimensions = {spec.batch, 1, 1, 1}};
  to.tensors.key_pages = to.graph.input("pages of the keys", table);
  to.tensors.value_pages = to.graph.input("pages of the values", table);
  to.tensors.query_lengths = to.graph.input("lengths of the queries", lengths);
  to.tensors.kv_lengths = to.graph.input("lengths of the keys", lengths);
}

void add_query_and_output(const AttentionSpec& spec,
                          const AttentionLayout& layout,
                          AttentionGraph& to) {
  const cudnnDataType_t type = *cudnn_type(spec.type);
  to.tensors.query = to.graph.input(
      "query", {.type = type,
                .dimensions = {spec.batch, spec.heads, spec.query_length, spec.head_dim},
                .strides = layout.query});
  to.tensors.output = to.graph.input(
      "output", {.type = type,
                 .dimensions = {spec.batch, spec.heads, spec.query_length, spec.value_dim},
                 .strides = layout.output});
  if (spec.page_size > 0) add_lengths(spec, to);
}

// Builds the composed graph around one spec.
class Composition {
 public:
  Composition(const AttentionSpec& spec, const AttentionLayout& layout, int cudnn_version)
      : spec_(spec), layout_(layout), cudnn_version_(cudnn_version) {}

  AttentionGraph build() {
    add_query_and_output(spec_, layout_, made_);
    if (spec_.type == DataType::kFp8) add_fp8_tensors();
    const TensorId scores = masked_scores(graph(), mask_of(), scaled_scores());
    weighted_values(softmax(scores));
    return std::move(made_);
  }

 private:
  Graph& graph() { return made_.graph; }

  [[nodiscard]] bool paged() const { return spec_.page_size > 0; }

  [[nodiscard]] AttentionMask mask_of() const {
    return {.spec = spec_,
            .query_lengths = made_.tensors.query_lengths,
            .kv_lengths = made_.tensors.kv_lengths,
            .cudnn_version = cudnn_version_};
  }

  [[nodiscard]] TensorLayout score_layout(cudnnDataType_t type) const {
    const Dimensions dimensions = {spec_.batch, spec_.heads, spec_.query_length, spec_.kv_length};
    return {.type = type, .dimensions = dimensions, .strides = cudnn::packed_strides(dimensions)};
  }

  [[nodiscard]] TensorLayout row_layout() const {
    const Dimensions dimensions = {spec_.batch, spec_.heads, spec_.query_length, 1};
    return {.dimensions = dimensions, .strides = cudnn::packed_strides(dimensions)};
  }

  void add_fp8_tensors() {
    const TensorLayout one;
    Fp8Tensors& fp8 = made_.tensors.fp8.emplace();
    fp8.descale_query = graph().input("scale of the query", one);
    fp8.descale_key = graph().input("scale of the keys", one);
    fp8.descale_value = graph().input("scale of the values", one);
    fp8.scale_weights = graph().input("factor of the weights", one);
    fp8.descale_weights = graph().input("scale of the weights", one);
    fp8.scale_output = graph().input("factor of the output", one);
    fp8.largest_weight = graph().input("largest weight", one);
    fp8.largest_output = graph().input("largest output", one);
  }

  // cuDNN takes the keys transposed.
  TensorId transposed_keys() {
    TensorLayout keys = cache_layout(spec_, layout_.keys, spec_.head_dim);
    if (!paged()) {
      keys.dimensions = transposed(keys.dimensions);
      keys.strides = transposed(keys.strides);
      return made_.tensors.key = graph().input("keys", keys);
    }
    made_.tensors.key = graph().input("pages of keys", keys);
    const Dimensions whole = {spec_.batch, spec_.kv_heads, spec_.kv_length, spec_.head_dim};
    const TensorId loaded =
        graph().between("loaded keys", {.type = keys.type,
                                        .dimensions = transposed(whole),
                                        .strides = transposed(cudnn::packed_strides(whole))});
    graph().paged_load("loading keys", {.container = made_.tensors.key,
                                        .page_table = *made_.tensors.key_pages,
                                        .lengths = *made_.tensors.kv_lengths,
                                        .result = loaded});
    return loaded;
  }

  TensorId whole_values() {
    const TensorLayout values = cache_layout(spec_, layout_.values, spec_.value_dim);
    if (!paged()) return made_.tensors.value = graph().input("values", values);
    made_.tensors.value = graph().input("pages of values", values);
    const Dimensions whole = {spec_.batch, spec_.kv_heads, spec_.kv_length, spec_.value_dim};
    const TensorId loaded = graph().between(
        "loaded values",
        {.type = values.type, .dimensions = whole, .strides = cudnn::packed_strides(whole)});
    graph().paged_load("loading values", {.container = made_.tensors.value,
                                          .page_table = *made_.tensors.value_pages,
                                          .lengths = *made_.tensors.kv_lengths,
                                          .result = loaded});
    return loaded;
  }

  TensorId times(const std::string& name, TensorId x, TensorId factor) {
    return graph().pointwise(name, {.mode = CUDNN_POINTWISE_MUL, .x = x, .b = factor},
                             CUDNN_DATA_FLOAT);
  }

  TensorId scaled_scores() {
    const TensorId keys = transposed_keys();
    const TensorId products = graph().between("scores", score_layout(CUDNN_DATA_FLOAT));
    graph().matmul("Q K^T", made_.tensors.query, keys, products,
                   {.m = made_.tensors.query_lengths, .n = made_.tensors.kv_lengths});
    const TensorId scale = graph().scalar("softmax scale", softmax_scale(spec_));
    TensorId scores = times("scaling scores", products, scale);
    if (made_.tensors.fp8) {
      scores = times("scaling by the query's scale", scores, made_.tensors.fp8->descale_query);
      scores = times("scaling by the keys' scale", scores, made_.tensors.fp8->descale_key);
    }
    return scores;
  }

  TensorId softmax(TensorId scores) {
    const TensorId largest = graph().between("largest scores", row_layout());
    graph().reduction("largest score", CUDNN_REDUCE_TENSOR_MAX, scores, largest);
    const TensorId below = graph().pointwise(
        "score - largest", {.mode = CUDNN_POINTWISE_SUB, .x = scores, .b = largest},
        CUDNN_DATA_FLOAT);
    const TensorId powers =
        graph().pointwise("exp", {.mode = CUDNN_POINTWISE_EXP, .x = below}, CUDNN_DATA_FLOAT);
    const TensorId sums = graph().between("sums", row_layout());
    graph().reduction("sum", CUDNN_REDUCE_TENSOR_ADD, powers, sums);
    add_statistics(largest, sums);
    const Pointwise divide{.mode = CUDNN_POINTWISE_DIV, .x = powers, .b = sums};
    if (!made_.tensors.fp8) return graph().pointwise("exp / sum", divide, *cudnn_type(spec_.type));
    const TensorId weights = graph().pointwise("exp / sum", divide, CUDNN_DATA_FLOAT);
    graph().reduction("largest weight", CUDNN_REDUCE_TENSOR_AMAX, weights,
                      made_.tensors.fp8->largest_weight);
    return graph().pointwise(
        "scaling weights",
        {.mode = CUDNN_POINTWISE_MUL, .x = weights, .b = made_.tensors.fp8->scale_weights},
        *cudnn_type(spec_.type));
  }

  // Nobody reads the statistics, but cuDNN recognises an attention by them.
  void add_statistics(TensorId largest, TensorId sums) {
    const TensorId logarithms =
        graph().pointwise("log", {.mode = CUDNN_POINTWISE_LOG, .x = sums}, CUDNN_DATA_FLOAT);
    graph().pointwise("log + largest", {.mode = CUDNN_POINTWISE_ADD, .x = largest, .b = logarithms},
                      CUDNN_DATA_FLOAT);
  }

  void weighted_values(TensorId weights) {
    const TensorId values = whole_values();
    const Graph::Lengths lengths{.m = made_.tensors.query_lengths, .k = made_.tensors.kv_lengths};
    if (!made_.tensors.fp8) {
      graph().matmul("P V", weights, values, made_.tensors.output, lengths);
      return;
    }
    const Dimensions dimensions = {spec_.batch, spec_.heads, spec_.query_length, spec_.value_dim};
    const TensorId sums =
        graph().between("weighted values", {.dimensions = dimensions, .strides = layout_.output});
    graph().matmul("P V", weights, values, sums, lengths);
    const TensorId part =
        times("scaling by the weights' scale", sums, made_.tensors.fp8->descale_weights);
    const TensorId result =
        times("scaling by the values' scale", part, made_.tensors.fp8->descale_value);
    graph().pointwise_to(
        "scaling the output",
        {.mode = CUDNN_POINTWISE_MUL, .x = result, .b = made_.tensors.fp8->scale_output},
        made_.tensors.output);
    graph().reduction("largest output", CUDNN_REDUCE_TENSOR_AMAX, result,
                      made_.tensors.fp8->largest_output);
  }

  const AttentionSpec spec_;
  const AttentionLayout layout_;
  const int cudnn_version_;
  AttentionGraph made_;
};

}  // namespace

std::optional<cudnnDataType_t> cudnn_type(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return CUDNN_DATA_HALF;
    case DataType::kBfloat16:
      return CUDNN_DATA_BFLOAT16;
    case DataType::kFp8:
      return CUDNN_DATA_FP8_E4M3;
    case DataType::kFloat32:
    case DataType::kFp8Block:
    case DataType::kInt8:
    case DataType::kMxfp4:
      break;
  }
  return std::nullopt;
}

std::optional<AttentionGraph> whole_attention_graph(const AttentionSpec& spec, int cudnn_version) {
  const bool paged = spec.page_size > 0;
  if (cudnn_version < (paged ? 91500 : 91400)) return std::nullopt;
  if (needs_mask(spec) || spec.type == DataType::kFp8) return std::nullopt;
  const AttentionLayout layout = layout_of(spec);
  AttentionGraph made;
  add_query_and_output(spec, layout, made);
  made.tensors.key = made.graph.input("keys", cache_layout(spec, layout.keys, spec.head_dim));
  made.tensors.value =
      made.graph.input("values", cache_layout(spec, layout.values, spec.value_dim));
  const TensorId scale = made.graph.scalar("softmax scale", softmax_scale(spec));
  cudnn::Attributes tensors = {{CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, made.tensors.query},
                               {CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, made.tensors.key},
                               {CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, made.tensors.value},
                               {CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, made.tensors.output},
                               {CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, scale}};
  if (paged) {
    tensors.emplace_back(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC, *made.tensors.key_pages);
    tensors.emplace_back(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC, *made.tensors.value_pages);
    tensors.emplace_back(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, *made.tensors.query_lengths);
    tensors.emplace_back(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, *made.tensors.kv_lengths);
  }
  made.graph.attention(tensors);
  return made;
}

AttentionGraph composed_attention_graph(const AttentionSpec& spec, int cudnn_version) {
  return Composition(spec, layout_of(spec), cudnn_version).build();
}

std::optional<AttentionGraph> folded_attention_graph(const AttentionSpec& spec, int cudnn_version) {
  const std::int64_t group = spec.heads / spec.kv_heads;
  if (spec.query_length > 1 || group == 1 || spec.page_size > 0 || needs_mask(spec))
    return std::nullopt;
  AttentionSpec folded = spec;
  folded.query_length = group;
  folded.heads = spec.kv_heads;
  folded.causal = false;
  folded.window = 0;
  AttentionLayout layout = layout_of(folded);
  layout.query = {spec.heads * spec.head_dim, group * spec.head_dim, spec.head_dim, 1};
  layout.output = {spec.heads * spec.value_dim, group * spec.value_dim, spec.value_dim, 1};
  return Composition(folded, layout, cudnn_version).build();
}

std::optional<AttentionGraph> attention_graph(AttentionForm form,
                                              const AttentionSpec& spec,
                                              int cudnn_version) {
  switch (form) {
    case AttentionForm::kWhole:
      return whole_attention_graph(spec, cudnn_version);
    case AttentionForm::kComposed:
      return composed_attention_graph(spec, cudnn_version);
    case AttentionForm::kFolded:
      return folded_attention_graph(spec, cudnn_version);
  }
  return std::nullopt;
}

}  // namespace assay::collect
