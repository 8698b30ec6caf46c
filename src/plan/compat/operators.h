// The operators of a model as the public planner lists them, each bound to the rows that answer it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/compat/measured.h"
#include "plan/engine.h"
#include "plan/search/deployments.h"

namespace assay::plan::compat {

// What an operator is asked for: new tokens in all, requests, the tokens of one request (of a
// prompt: new ones; of a request that decodes: with the one it makes), and of a prompt those before
// them.
struct Asked {
  double tokens = 0;
  double requests = 0;
  double length = 0;
  double prefix = 0;
};

// Mixed steps price operators of these kinds each in its own way.
enum class Kind : std::uint8_t { kShared, kPromptAttention, kDecodeAttention, kLogits };

struct Operator {
  std::string name = {};  // the public planner's
  Kind kind = Kind::kShared;
  bool by_tokens = true;                                   // its time follows from the tokens alone
  double weight_bytes = 0;                                 // of one GPU, of all layers
  std::function<double(const Asked& asked)> ms = nullptr;  // of all launches; NaN: unknown
};

struct Operators {
  std::vector<Operator> context;
  std::vector<Operator> generation;
  std::int64_t layers = 1;
  double cache_bytes_per_token = 0;                  // of one GPU
  Quantization attention = Quantization::kBfloat16;  // in which attention to prompts is priced

  // Of one GPU.
  [[nodiscard]] double weight_bytes() const;
};

// What decides memory beyond the operators.
enum class ModelKind : std::uint8_t { kDense, kMixture, kLatent };

// Error: the public planner's list of this model's operators is not known here.
core::Result<ModelKind> kind_of(const serving::Model& model);

// The precision that the public planner takes for a checkpoint: weights in 8 bits bring a cache in
// fp8 and attention to prompts in fp8, which vLLM computes in bfloat16.
serving::Precision assumed_precision(Engine engine, serving::Precision checkpoint);
// Returns the same for a model, whose products all have the precision of its attention's.
serving::Precision assumed_precision(Engine engine, const serving::Model& model);

// Error: the model's list is not known, the worker does not suit it, or no row answers for an
// operator.
core::Result<Operators> operators_of(const serving::Model& model,
                                     const Worker& worker,
                                     Engine engine,
                                     Measured& measured);

}  // namespace assay::plan::compat
