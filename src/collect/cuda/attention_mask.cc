#include <cstdint>
#include <limits>
#include <string>

#include "collect/cuda/attention_graph.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

using cudnn::TensorId;

class Masking {
 public:
  Masking(cudnn::Graph& graph, const AttentionMask& mask) : graph_(graph), mask_(mask) {}

  TensorId masked(TensorId scores) {
    if (paged()) scores = without_padding(scores);
    if (needs_mask(mask_.spec)) {
      scores = up_to_own_key(scores);
      if (mask_.spec.window > 0) scores = within_window(scores);
    }
    return scores;
  }

 private:
  [[nodiscard]] bool paged() const { return mask_.spec.page_size > 0; }

  // Older versions recognise the lowest number but not infinity.
  TensorId minus_infinity() {
    const float lowest = mask_.cudnn_version < 91000 ? std::numeric_limits<float>::lowest()
                                                     : -std::numeric_limits<float>::infinity();
    return graph_.scalar("minus infinity", lowest);
  }

  TensorId index(const std::string& name, TensorId scores, std::int64_t axis) {
    return graph_.pointwise(name, {.mode = CUDNN_POINTWISE_GEN_INDEX, .x = scores, .axis = axis},
                            CUDNN_DATA_INT32);
  }

  TensorId shifted(const std::string& name,
                   cudnnPointwiseMode_t mode,
                   TensorId indices,
                   TensorId by) {
    return graph_.pointwise(
        name, {.mode = mode, .x = indices, .b = by, .axis = 3, .compute = CUDNN_DATA_INT32},
        CUDNN_DATA_INT32);
  }

  TensorId truth(const std::string& name, cudnnPointwiseMode_t mode, TensorId x, TensorId b) {
    return graph_.pointwise(name, {.mode = mode, .x = x, .b = b, .compute = CUDNN_DATA_BOOLEAN},
                            CUDNN_DATA_BOOLEAN);
  }

  TensorId select(const std::string& name, TensorId scores, TensorId mask) {
    return graph_.pointwise(
        name,
        {.mode = CUDNN_POINTWISE_BINARY_SELECT, .x = scores, .b = minus_infinity(), .t = mask},
        CUDNN_DATA_FLOAT);
  }

  TensorId without_padding(TensorId scores) {
    const TensorId row = index("row of padding", scores, 2);
    const TensorId column = index("column of padding", scores, 3);
    const TensorId row_counts =
        truth("row < length", CUDNN_POINTWISE_CMP_LT, row, *mask_.query_lengths);
    const TensorId column_counts =
        truth("column < length", CUDNN_POINTWISE_CMP_LT, column, *mask_.kv_lengths);
    const TensorId both =
        truth("row and column", CUDNN_POINTWISE_LOGICAL_AND, row_counts, column_counts);
    return select("dropping padding", scores, both);
  }

  // row + keys - queries >= column
  TensorId up_to_own_key(TensorId scores) {
    TensorId row = index("row", scores, 2);
    const TensorId column = index("column", scores, 3);
    if (paged() || mask_.spec.kv_length != mask_.spec.query_length) {
      row = shifted("row + keys", CUDNN_POINTWISE_ADD, row, kv_length());
      row = shifted("row + keys - queries", CUDNN_POINTWISE_SUB, row, query_length());
    }
    return select("dropping later keys", scores,
                  truth("row >= column", CUDNN_POINTWISE_CMP_GE, row, column));
  }

  // column + window - keys + queries > row
  TensorId within_window(TensorId scores) {
    const TensorId row = index("row of the window", scores, 2);
    TensorId column = index("column of the window", scores, 3);
    if (paged()) {
      column = shifted("column + window", CUDNN_POINTWISE_ADD, column,
                       graph_.scalar("window", static_cast<std::int32_t>(mask_.spec.window)));
      column = shifted("column + window - keys", CUDNN_POINTWISE_SUB, column, kv_length());
      column =
          shifted("column + window - keys + queries", CUDNN_POINTWISE_ADD, column, query_length());
    } else {
      // The shift is a float, because cuDNN recognises its kernels by what NVIDIA's own front end
      // passes.
      const auto shift =
          static_cast<float>(mask_.spec.window - mask_.spec.kv_length + mask_.spec.query_length);
      column = graph_.pointwise("column + window",
                                {.mode = CUDNN_POINTWISE_ADD,
                                 .x = column,
                                 .b = graph_.scalar("window", shift),
                                 .axis = 3},
                                CUDNN_DATA_FLOAT);
    }
    return select("dropping early keys", scores,
                  truth("column > row", CUDNN_POINTWISE_CMP_GT, column, row));
  }

  TensorId kv_length() {
    if (mask_.kv_lengths) return *mask_.kv_lengths;
    return graph_.scalar("keys", static_cast<std::int32_t>(mask_.spec.kv_length));
  }

  TensorId query_length() {
    if (mask_.query_lengths) return *mask_.query_lengths;
    return graph_.scalar("queries", static_cast<std::int32_t>(mask_.spec.query_length));
  }

  cudnn::Graph& graph_;
  const AttentionMask& mask_;
};

}  // namespace

TensorId masked_scores(cudnn::Graph& graph, const AttentionMask& mask, TensorId scores) {
  return Masking(graph, mask).masked(scores);
}

}  // namespace assay::collect
