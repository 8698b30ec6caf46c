// A layer of a model as what a GPU does of it in the passes of a training step: computation, and
// the collectives of tensor and expert parallelism between and beside it.
//
// Forward as Megatron-LM computes: the projections into a block are cut by columns, those out of it
// by rows. Without sequence parallelism an all-reduce follows each block, and in the backward pass
// runs beside the weight gradient of the block's first product. With it, a block begins with an
// all-gather of the sequence's parts and ends with a reduce-scatter; in the backward pass an
// all-gather of the gradient comes first, one of the block's input runs beside the first product's
// input gradient, and the reduce-scatter beside its weight gradient.
//
// The times of the backward pass: a product's gradients are products with shapes of their own, as
// performance tables answer for them; all else is a multiple of its forward time (kMultiples in
// layer_passes.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.h"
#include "goal/synth/operator_log.h"
#include "model/collective.h"
#include "model/serving/model.h"
#include "model/serving/uses.h"

namespace assay::goal {

// The GPUs that a collective joins.
enum class Group : std::uint8_t {
  kTensor,
  kExpert,
  kData,        // replicas of the dense parameters
  kExpertData,  // replicas of the experts
  kEmbedding,   // the first and the last stage
  kServing,     // all GPUs of a deployment that share experts
};

struct CollectiveCall {
  Group group = Group::kTensor;
  // kAllToAll: a group of sends to and receives from all others, `bytes` with each.
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  std::uint64_t bytes = 0;  // as model::Operation::bytes
  std::uint32_t element_bytes = 2;
};

// A collective and computation beside it. What comes next waits for both.
struct Stretch {
  std::optional<CollectiveCall> call = std::nullopt;
  double compute_ns = 0;
};

using Stretches = std::vector<Stretch>;

enum class Recompute : std::uint8_t { kNone, kAttention, kLayers };

// How a step is cut; all sizes are those of one GPU's micro-batch.
struct PassOptions {
  serving::Deployment deployment = {};
  std::int64_t sequences = 1;  // of a micro-batch
  std::int64_t tokens = 4096;  // of a sequence
  std::int64_t hidden = 1;
  bool sequence_parallel = false;
  std::int64_t ep = 1;  // GPUs of an expert group, of different replicas
  Recompute recompute = Recompute::kNone;
  bool shares_embedding = false;  // the head has the embedding's parameters on the same GPU
  bool weights_apart = false;     // the gradients of weights are a pass of their own (zero-bubble)

  [[nodiscard]] std::int64_t batch_tokens() const { return sequences * tokens; }
};

// What PyTorch's FSDP2 copies on a GPU beside what it computes (fully_shard() with parameters and
// gradients of 32 bits, products in bfloat16).
struct ShardingCopies {
  double cast_ns = 0;       // its shard, made an all-gather's part
  double gathered_ns = 0;   // parameters, out of the all-gather's buffer
  double gradients_ns = 0;  // into the reduce-scatter's
};

struct LayerPasses {
  Stretches forward;
  Stretches backward;                   // with weights_apart only the gradients of inputs
  Stretches weights;                    // only with weights_apart
  std::uint64_t dense_parameters = 0;   // on a GPU
  std::uint64_t expert_parameters = 0;  // on a GPU; only where ep > 1, else they are dense
  double flops = 0;                     // of the forward pass on a GPU, products and attention
  ShardingCopies sharding = {};         // 0 where parameters are whole
};

// Error: no time for an operator, or a mixture of experts that cannot be cut so.
core::Result<LayerPasses> layer_passes(const serving::Model& model,
                                       const serving::Layer& layer,
                                       const PassOptions& options,
                                       OperatorLog& log);

// What stands before the first and after the last layer. The head ends with the loss.
struct EndPasses {
  LayerPasses embedding;
  LayerPasses head;
};

core::Result<EndPasses> end_passes(const serving::Model& model,
                                   const PassOptions& options,
                                   OperatorLog& log);

// Adam on a GPU: 30 bytes for each parameter that it updates (it reads and writes the weight and
// two moments in 32 bits, reads the gradient in 32 and writes the weight in 16).
core::Result<double> optimizer_ns(std::uint64_t parameters, OperatorLog& log);

// PyTorch's fused AdamW, which does not write the weight of 16 bits.
core::Result<double> fused_adamw_ns(std::uint64_t parameters, OperatorLog& log);

// Of parameters that `replicas` GPUs gather and whose gradients they scatter, once each.
core::Result<ShardingCopies> sharding_copies(std::uint64_t parameters,
                                             std::uint64_t replicas,
                                             OperatorLog& log);

double compute_ns(const Stretches& stretches);

}  // namespace assay::goal
