// An attention as an operation graph of cuDNN, and its masks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collect/cuda/cudnn_graph.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// The scales of fp8, which are floats on the device: numbers were divided by `descale_...`, and are
// multiplied by `scale_...` before they are rounded.
struct Fp8Tensors {
  cudnn::TensorId descale_query = 0;
  cudnn::TensorId descale_key = 0;
  cudnn::TensorId descale_value = 0;
  cudnn::TensorId scale_weights = 0;
  cudnn::TensorId descale_weights = 0;
  cudnn::TensorId scale_output = 0;
  cudnn::TensorId largest_weight = 0;  // an output
  cudnn::TensorId largest_output = 0;  // an output
};

// Weights are in [0, 1], and the largest number of e4m3 is 448.
inline constexpr float kFp8WeightScale = 256;

struct AttentionTensors {
  cudnn::TensorId query = 0;
  cudnn::TensorId key = 0;
  cudnn::TensorId value = 0;
  cudnn::TensorId output = 0;
  // Only with a paged cache.
  std::optional<cudnn::TensorId> key_pages = {};
  std::optional<cudnn::TensorId> value_pages = {};
  std::optional<cudnn::TensorId> query_lengths = {};
  std::optional<cudnn::TensorId> kv_lengths = {};
  std::optional<Fp8Tensors> fp8 = {};
};

struct AttentionGraph {
  cudnn::Graph graph;
  AttentionTensors tensors;
};

// Returns std::nullopt for a type that cuDNN's attention does not have.
std::optional<cudnnDataType_t> cudnn_type(DataType type);

// Builds one operation for the whole attention. Returns std::nullopt where cuDNN does not have it:
// before version 9.14, before 9.15 with paged caches, and with masks or fp8.
std::optional<AttentionGraph> whole_attention_graph(const AttentionSpec& spec, int cudnn_version);

// Builds two products with the mask and the softmax between them, which cuDNN fuses into one
// kernel.
AttentionGraph composed_attention_graph(const AttentionSpec& spec, int cudnn_version);

// Builds the same for one query, with the heads of a group as rows of one head, which suits kernels
// for many queries. Returns std::nullopt where that is not possible: with one head of keys for each
// head, with masks, or with pages.
std::optional<AttentionGraph> folded_attention_graph(const AttentionSpec& spec, int cudnn_version);

enum class AttentionForm : std::uint8_t { kWhole, kComposed, kFolded };

// The forms in the order in which they are tried.
inline constexpr std::array<AttentionForm, 3> kAttentionForms = {
    AttentionForm::kWhole, AttentionForm::kComposed, AttentionForm::kFolded};

// Returns std::nullopt where the attention does not have that form.
std::optional<AttentionGraph> attention_graph(AttentionForm form,
                                              const AttentionSpec& spec,
                                              int cudnn_version);

// The masks of an attention as operations of cuDNN, in the order and with the types by which its
// kernels are recognised.
struct AttentionMask {
  AttentionSpec spec;
  // Only with a paged cache: int32 [batch, 1, 1, 1].
  std::optional<cudnn::TensorId> query_lengths = {};
  std::optional<cudnn::TensorId> kv_lengths = {};
  int cudnn_version = 0;
};

// Adds the masks to scores [batch, heads, queries, keys]: minus infinity where a query does not see
// a key.
cudnn::TensorId masked_scores(cudnn::Graph& graph,
                              const AttentionMask& mask,
                              cudnn::TensorId scores);

}  // namespace assay::collect
