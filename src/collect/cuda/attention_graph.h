// An attention as an operation graph of cuDNN.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collect/cuda/cudnn_graph.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

// The scales of fp8, device floats: what the numbers were divided by, and what they are multiplied
// with before they are rounded.
struct Fp8Tensors {
  cudnn::TensorId descale_query = 0;
  cudnn::TensorId descale_key = 0;
  cudnn::TensorId descale_value = 0;
  cudnn::TensorId scale_weights = 0;
  cudnn::TensorId descale_weights = 0;
  cudnn::TensorId scale_output = 0;
  cudnn::TensorId largest_weight = 0;  // written
  cudnn::TensorId largest_output = 0;  // written
};

// Weights lie in [0, 1]; e4m3 ends at 448.
inline constexpr float kFp8WeightScale = 256;

struct AttentionTensors {
  cudnn::TensorId query = 0;
  cudnn::TensorId key = 0;
  cudnn::TensorId value = 0;
  cudnn::TensorId output = 0;
  // Of a paged cache.
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

// Nothing for a type that cuDNN's attention has not.
std::optional<cudnnDataType_t> cudnn_type(DataType type);

// One operation for all of it. Nothing where cuDNN of that version has it not: before 9.14, masks,
// fp8, and, before 9.15, paged caches.
std::optional<AttentionGraph> whole_attention_graph(const AttentionSpec& spec, int cudnn_version);

// Two products, the mask and the softmax between them, which cuDNN fuses into one kernel.
AttentionGraph composed_attention_graph(const AttentionSpec& spec, int cudnn_version);

// The same for one query, whose heads of a group become rows of one head: kernels that want many
// queries take it. Nothing where that cannot be: one head of keys for each head, masks, pages.
std::optional<AttentionGraph> folded_attention_graph(const AttentionSpec& spec, int cudnn_version);

enum class AttentionForm : std::uint8_t { kWhole, kComposed, kFolded };

// In the order in which they are tried.
inline constexpr std::array<AttentionForm, 3> kAttentionForms = {
    AttentionForm::kWhole, AttentionForm::kComposed, AttentionForm::kFolded};

// Nothing where the attention has not that form.
std::optional<AttentionGraph> attention_graph(AttentionForm form,
                                              const AttentionSpec& spec,
                                              int cudnn_version);

}  // namespace assay::collect
