// The operators that one GPU runs for a step of a model: which table prices each, the columns that
// the model and its deployment fix, the sizes that follow from the batch, and how often it runs.
// Columns and names are those of performance tables and of assay collect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/perf.h"
#include "model/serving/model.h"

namespace assay::serving {

// A step computes new tokens of prompts, or one new token of each request.
enum class Phase : std::uint8_t { kContext, kGeneration };

std::string_view name_of(Phase phase);

// Names how GPUs that have some of the heads each make a norm over all
// (Attention::norm_spans_heads): they sum the squares of queries and keys, in one all-reduce or in
// two, or each gathers all heads and normalises them.
enum class HeadNorm : std::uint8_t { kOneSum, kTwoSums, kGathered };

// How a model is spread over GPUs. Heads, projections and dense layers are shared by `tp` GPUs;
// mixtures by moe_tp x moe_ep. Where these are more than tp, groups of tp GPUs have requests of
// their own (attention data parallelism), and exchange tokens before and after the experts.
struct Deployment {
  std::int64_t tp = 1;
  std::int64_t moe_tp = 1;  // GPUs that share an expert
  std::int64_t moe_ep = 1;  // groups of GPUs that have experts of their own
  Precision precision = {};
  std::string distribution = "balanced";  // how tokens choose experts, as in moe_perf
  // Tokens that the model's own layers draft of each request in a step (Model::mtp); 0: none.
  std::int64_t speculative_tokens = 0;
  std::int64_t most_tokens = 0;  // of a request, prompt and answer; 0: not known
  HeadNorm head_norm = HeadNorm::kOneSum;
};

// Error: why engines cannot serve the model so: sizes that the GPUs do not divide evenly, blocks of
// fp8_block that they would cut, or groups of 4-bit integers in dense layers. GPUs that are a
// multiple of the heads of keys and values repeat those, and a single group of a state space; vLLM,
// SGLang and TensorRT-LLM stop at any other number.
core::Status check_deployment(const Model& model, const Deployment& deployment);

// What a size counts. Tokens and requests are those of the GPU's own group.
enum class Amount : std::uint8_t {
  kTokens,        // new tokens of all requests
  kRequests,      // requests
  kNewTokens,     // new tokens of one request
  kCachedTokens,  // tokens of one request that are in the cache already
  kExpertTokens,  // new tokens of all groups, which their experts get
};

struct SizeField {
  std::string column;
  Amount amount = Amount::kTokens;
  std::int64_t factor = 1;

  bool operator==(const SizeField& other) const = default;
};

// Tells what an operator of several products holds on a GPU; 0 where its key tells that.
struct ModuleSize {
  std::int64_t weights = 0;  // elements, in the precision of `type`
  std::int64_t columns = 0;  // of its widest activations
  std::string type = {};     // the key's column with the precision: "gemm_type"
};

struct OperatorUse {
  std::string role = {};                   // "qkv projection"
  std::string op;                          // the operator of assay collect: "gemm"
  std::string table = {};                  // "gemm_perf"
  std::string op_name = {};                // as rows of the table have it: "gemm"
  std::vector<model::PerfField> key = {};  // columns with a value that the batch does not change
  std::vector<SizeField> sizes = {};
  std::int64_t count = 1;  // launches in a step of the whole model
  ModuleSize module = {};
  std::int64_t most_tokens = 0;  // that a request may have; 0: not known
  // Tokens of a request that attention takes as if they were a request; 0: all.
  std::int64_t chunk = 0;
};

// The value that the use's key gives a column; null if it gives none.
inline const model::PerfValue* find_key(const OperatorUse& use, std::string_view column) {
  for (const model::PerfField& field : use.key) {
    if (field.column == column) return &field.value;
  }
  return nullptr;
}

// Returns whether assay collect measures such uses, by their operator and types: it has neither
// whole modules nor state spaces, nor weights of 4 bits but for mxfp4.
bool is_collected(const OperatorUse& use);

// "gemm_dtype=fp8 n=4096 k=4096"
std::string key_text(const OperatorUse& use);

// The uses in the order of a layer, with a use for each kind of layer. Precondition:
// check_deployment() accepts.
//
// With speculative tokens a step that decodes verifies all of them beside the next token. Its
// attention reads the cache of a request once for the queries of all these tokens, which is the
// work of as many times the heads with the same keys and values, and is asked of tables so. Linear
// attention moves its state once for each token. The layers that predict tokens run for all tokens
// of the step, for their own cache and the first draft; draft_uses_of() has the others.
std::vector<OperatorUse> uses_of(const Model& model, const Deployment& deployment, Phase phase);

// What drafts cost beyond uses_of(): the passes of the layers that predict tokens, after the first
// one, for one token of each request, and the logits of all passes. Amount::kTokens counts drafted
// rows. Empty where nothing is drafted.
std::vector<OperatorUse> draft_uses_of(const Model& model, const Deployment& deployment);

// The uses of one layer of the model, in their order; each has a count of 1.
std::vector<OperatorUse> uses_of_layer(const Model& model,
                                       const Layer& layer,
                                       const Deployment& deployment,
                                       Phase phase);

}  // namespace assay::serving
