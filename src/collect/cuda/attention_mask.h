// The masks of an attention as operations of cuDNN: in the order and with the types in which its
// kernels are recognised.
#pragma once

#include <optional>

#include "collect/cuda/cudnn_graph.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

struct AttentionMask {
  AttentionSpec spec;
  // Of a paged cache: int32 [batch, 1, 1, 1].
  std::optional<cudnn::TensorId> query_lengths = {};
  std::optional<cudnn::TensorId> kv_lengths = {};
  int cudnn_version = 0;
};

// Scores [batch, heads, queries, keys], minus infinity where a query does not see a key.
cudnn::TensorId masked_scores(cudnn::Graph& graph,
                              const AttentionMask& mask,
                              cudnn::TensorId scores);

}  // namespace assay::collect
