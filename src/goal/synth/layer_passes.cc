#include "goal/synth/layer_passes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "goal/synth/memory_uses.h"

namespace assay::goal {
namespace {

using model::NcclFunction;
using serving::OperatorUse;

constexpr std::uint64_t kBytesOfActivation = 2;  // bfloat16

// The time of the backward pass over that of the forward pass. Attention: as measured, 1.76 ms and
// 0.53 ms with cuDNN's kernels in a step of PyTorch 2.11 on H200 (docs/goal.md); by operations it
// would be 2.5, of five products instead of two, and that of latent attention, which nobody
// measured, is. Operators that move bytes: what they read and write in either pass. Experts: each
// product has two gradients. State spaces and linear attention, whose weights are products beside
// them: as products. Sparse attention is measured as a whole module, and its multiple is that of
// its products.
struct Multiple {
  std::string_view op;
  double input = 1;
  double weights = 0;
};

constexpr std::array<Multiple, 13> kMultiples = {{{"context_attention", 3.3, 0},
                                                  {"context_mla", 2.5, 0},
                                                  {"moe", 1, 1},
                                                  {"add_rms_norm", 1, 0},
                                                  {"rms_norm", 1.5, 0},
                                                  {"silu_mul", 5.0 / 3, 0},
                                                  {"copy", 1, 0},
                                                  {"embedding", 0, 2},
                                                  {"gdn", 2, 0},
                                                  {"mamba2", 2, 0},
                                                  {"dsa", 1, 1},
                                                  {"mla_bmm_gen_pre", 2, 0},
                                                  {"mla_bmm_gen_post", 2, 0}}};

Multiple multiple_of(const OperatorUse& use) {
  const auto* const found =
      std::find_if(kMultiples.begin(), kMultiples.end(),
                   [&](const Multiple& multiple) { return multiple.op == use.op; });
  return found == kMultiples.end() ? Multiple{use.op, 2, 0} : *found;
}

// Kernels of PyTorch that move bytes slower than a copy does, by how many times: chunk_cat, which
// gathers gradients for a reduce-scatter, reaches 1.87 TB/s (1.31 GB) and 1.80 TB/s (6.30 GB), the
// fused AdamW 3.2 TB/s (19.6 GB), a copy 4.16 TB/s (PyTorch 2.11, H200, 27 November 2026).
constexpr double kCopiesOfChunkCat = 2.2;
constexpr double kCopiesOfFusedAdamW = 1.3;

// Kernels that only move bytes, as a copy of as many.
core::Result<double> moved_ns(const char* role, const char* part, double bytes, OperatorLog& log) {
  constexpr double kBytesOfElement = 4;  // that a copy reads and writes
  constexpr std::int64_t kColumns = 16384;
  const OperatorUse use = memory_use(role, "copy", kColumns);
  return ASSAY_TRY(
             log.time(part, use, {.tokens = std::max(bytes / kBytesOfElement / kColumns, 1.0)}))
      .ns;
}

// An operator in the three passes, or a collective in the middle of a block.
struct Part {
  double forward = 0;
  double input = 0;
  double weights = 0;
  std::uint64_t parameters = 0;
  double flops = 0;
  std::optional<CollectiveCall> call = std::nullopt;  // as large forward and backward
};

struct Sums {
  double forward = 0;
  double input = 0;
  double weights = 0;

  void add(const Part& part) {
    forward += part.forward;
    input += part.input;
    weights += part.weights;
  }
};

class PartMaker {
 public:
  PartMaker(const PassOptions& options, OperatorLog& log) : options_(options), log_(log) {}

  // `shares`: GPUs among which the tokens are spread.
  core::Result<Part> make(const OperatorUse& use, std::int64_t shares = 1) {
    const double tokens =
        static_cast<double>(options_.batch_tokens()) / static_cast<double>(shares);
    LaunchAmounts amounts{.tokens = tokens,
                          .requests = static_cast<double>(options_.sequences),
                          .new_tokens = static_cast<double>(options_.tokens),
                          .expert_tokens = tokens * static_cast<double>(options_.ep)};
    // Training computes the logits of all tokens, serving those of one token of each request.
    const bool is_product = use.op == "gemm";
    if (is_product) amounts.requests = tokens;
    const LaunchTime forward = ASSAY_TRY(log_.time("forward", use, amounts));
    Part part{.forward = forward.ns, .parameters = parameters_of(use), .flops = forward.flops};
    if (is_product) {
      ASSAY_TRY(add_gradients(use, tokens, part));
    } else {
      add_multiples(use, forward, part);
    }
    const bool is_attention = use.op == "context_attention" || use.op == "context_mla";
    if (is_attention && options_.recompute == Recompute::kAttention) part.input += part.forward;
    return part;
  }

 private:
  static std::uint64_t parameters_of(const OperatorUse& use) {
    if (use.op == "gemm")
      return static_cast<std::uint64_t>(number_in(use, "n") * number_in(use, "k"));
    if (use.module.weights > 0) return static_cast<std::uint64_t>(use.module.weights);
    const bool is_norm = use.op == "add_rms_norm" || use.op == "rms_norm";
    return is_norm ? static_cast<std::uint64_t>(number_in(use, "columns")) : 0;
  }

  // Of Y = X W', with X of m x k and W of n x k: dX = dY W is m x n by n x k, and dW = dY' X is
  // n x m by m x k.
  core::Status add_gradients(const OperatorUse& use, double tokens, Part& part) {
    const std::int64_t n = number_in(use, "n");
    const std::int64_t k = number_in(use, "k");
    part.input = ASSAY_TRY(product_ns("input gradient", use, {tokens, k, n}));
    part.weights = ASSAY_TRY(product_ns(
        "weight gradient", use, {static_cast<double>(n), k, static_cast<std::int64_t>(tokens)}));
    return {};
  }

  struct Product {
    double m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
  };

  core::Result<double> product_ns(const char* what,
                                  const OperatorUse& use,
                                  const Product& product) {
    OperatorUse gradient = use;
    for (model::PerfField& field : gradient.key) {
      if (field.column == "n") field.value = product.n;
      if (field.column == "k") field.value = product.k;
    }
    return ASSAY_TRY(log_.time(what, gradient, {.tokens = product.m, .requests = product.m})).ns;
  }

  void add_multiples(const OperatorUse& use, const LaunchTime& forward, Part& part) {
    const Multiple multiple = multiple_of(use);
    part.input = multiple.input * forward.ns;
    part.weights = multiple.weights * forward.ns;
    if (multiple.input > 0) log_.note_multiple("input gradient", use, forward, multiple.input);
    if (multiple.weights > 0) log_.note_multiple("weight gradient", use, forward, multiple.weights);
  }

  const PassOptions& options_;
  OperatorLog& log_;
};

// What lies between two additions to the residual stream.
struct Block {
  Sums norm;
  std::vector<Part> parts =
      {};  // of all tokens, or the router where tokens go to experts elsewhere
  bool exchanges = false;
  Sums experts;
  std::vector<Part> shared = {};
};

// Adds the passes of blocks, the backward ones in reverse.
class PassMaker {
 public:
  explicit PassMaker(const PassOptions& options, std::int64_t top_k = 1)
      : options_(options), top_k_(static_cast<std::uint64_t>(top_k)) {}

  LayerPasses made(const std::vector<Block>& blocks) {
    for (const Block& block : blocks)
      add_forward(block);
    if (options_.recompute == Recompute::kLayers) made_.backward = made_.forward;
    for (std::size_t i = blocks.size(); i-- > 0;)
      add_backward(blocks[i]);
    return std::move(made_);
  }

  [[nodiscard]] CollectiveCall gather() const {
    return {Group::kTensor, NcclFunction::kAllGather, share_bytes(), kBytesOfActivation};
  }

  [[nodiscard]] CollectiveCall scatter() const {
    return {Group::kTensor, NcclFunction::kReduceScatter, share_bytes(), kBytesOfActivation};
  }

  [[nodiscard]] CollectiveCall reduce() const {
    return {Group::kTensor, NcclFunction::kAllReduce, activation_bytes(), kBytesOfActivation};
  }

  [[nodiscard]] bool is_split() const { return options_.deployment.tp > 1; }

 private:
  static void compute(Stretches& to, double ns) {
    if (ns <= 0) return;
    if (!to.empty() && !to.back().call) {
      to.back().compute_ns += ns;
    } else {
      to.push_back({.compute_ns = ns});
    }
  }

  static void call(Stretches& to, const CollectiveCall& collective, double beside_ns = 0) {
    to.push_back({.call = collective, .compute_ns = beside_ns});
  }

  [[nodiscard]] std::uint64_t activation_bytes() const {
    return static_cast<std::uint64_t>(options_.batch_tokens() * options_.hidden) *
           kBytesOfActivation;
  }

  [[nodiscard]] std::uint64_t share_bytes() const {
    return activation_bytes() / static_cast<std::uint64_t>(options_.deployment.tp);
  }

  void add_forward(const Block& block) {
    compute(made_.forward, block.norm.forward);
    if (block.exchanges) return add_exchanging(block);
    add_inside(block.parts, made_.forward);
  }

  void add_inside(const std::vector<Part>& parts, Stretches& to) const {
    if (is_split() && options_.sequence_parallel) call(to, gather());
    for (const Part& part : parts) {
      if (part.call) call(to, *part.call);
      compute(to, part.forward);
    }
    if (is_split()) call(to, options_.sequence_parallel ? scatter() : reduce());
  }

  void add_backward(const Block& block) {
    if (block.exchanges) {
      add_exchanging_backward(block);
    } else {
      add_inside_backward(block.parts);
    }
    compute(made_.backward, block.norm.input);
    add_weights(block.norm.weights);
  }

  // Weight gradients: a pass of their own, or where the other gradients are.
  void add_weights(double ns) {
    compute(options_.weights_apart ? made_.weights : made_.backward, ns);
  }

  void add_inside_backward(const std::vector<Part>& parts) {
    if (parts.empty()) return;
    const bool gathers = is_split() && options_.sequence_parallel;
    if (gathers) call(made_.backward, gather());
    for (std::size_t i = parts.size(); i-- > 1;) {
      if (parts[i].call) call(made_.backward, *parts[i].call);
      compute(made_.backward, parts[i].input);
      add_weights(parts[i].weights);
    }
    const Part& first = parts.front();
    if (!is_split()) {
      compute(made_.backward, first.input);
      add_weights(first.weights);
      return;
    }
    const CollectiveCall out = options_.sequence_parallel ? scatter() : reduce();
    if (options_.weights_apart) {
      compute(made_.backward, first.input);
      call(made_.backward, out);
      if (gathers) call(made_.weights, gather());
      compute(made_.weights, first.weights);
      return;
    }
    if (gathers) {
      call(made_.backward, gather(), first.input);
    } else {
      compute(made_.backward, first.input);
    }
    call(made_.backward, out, first.weights);
  }

  // Tokens that a GPU has after the router; their parts of the sequence, where it is spread.
  [[nodiscard]] std::uint64_t routed_bytes() const { return top_k_ * share_bytes(); }

  [[nodiscard]] CollectiveCall exchange() const {
    return {Group::kExpert, NcclFunction::kAllToAll,
            routed_bytes() / static_cast<std::uint64_t>(options_.ep), kBytesOfActivation};
  }

  [[nodiscard]] CollectiveCall of_routed(NcclFunction function) const {
    return {Group::kTensor, function, routed_bytes(), kBytesOfActivation};
  }

  void add_to_experts(Stretches& to, double experts_ns) const {
    call(to, exchange());
    if (is_split()) call(to, of_routed(NcclFunction::kAllGather));
    compute(to, experts_ns);
    if (is_split()) call(to, of_routed(NcclFunction::kReduceScatter));
    call(to, exchange());
  }

  void add_exchanging(const Block& block) {
    for (const Part& router : block.parts)
      compute(made_.forward, router.forward);
    add_to_experts(made_.forward, block.experts.forward);
    if (!block.shared.empty()) add_inside(block.shared, made_.forward);
  }

  void add_exchanging_backward(const Block& block) {
    add_inside_backward(block.shared);
    const bool apart = options_.weights_apart;
    add_to_experts(made_.backward, block.experts.input + (apart ? 0 : block.experts.weights));
    if (apart) compute(made_.weights, block.experts.weights);
    for (const Part& router : block.parts) {
      compute(made_.backward, router.input);
      add_weights(router.weights);
    }
  }

  const PassOptions& options_;
  std::uint64_t top_k_;  // experts that a token goes to
  LayerPasses made_;
};

// Sorts the uses of a layer into blocks.
class BlockReader {
 public:
  BlockReader(const PassOptions& options, OperatorLog& log)
      : options_(options), parts_(options, log) {}

  core::Status add(const OperatorUse& use) {
    if (use.table == "custom_allreduce_perf") {
      add_all_reduce(use.sizes.front().factor);
      return {};
    }
    if (use.table == "nccl_perf") {
      blocks_.back().exchanges = true;
      return {};
    }
    const bool is_norm = use.role.starts_with("norm before");
    if (is_norm || blocks_.empty()) blocks_.emplace_back();
    if (use.op == "context_attention") ASSAY_TRY(add(rotary_use(use)));
    const bool spreads = options_.sequence_parallel && (is_norm || use.role == "router") &&
                         (is_norm || options_.ep > 1);
    const Part part = ASSAY_TRY(parts_.make(use, spreads ? options_.deployment.tp : 1));
    flops_ += part.flops;
    place(use, part, is_norm);
    return {};
  }

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

  void count(LayerPasses& passes) const {
    passes.dense_parameters = dense_;
    passes.expert_parameters = expert_;
    passes.flops = flops_;
  }

 private:
  // A block's own sum of the whole hidden state is PassMaker's.
  void add_all_reduce(std::int64_t columns) {
    if (columns == options_.hidden) return;
    const auto elements = static_cast<std::uint64_t>(options_.batch_tokens() * columns);
    blocks_.back().parts.push_back(
        {.call = CollectiveCall{Group::kTensor, NcclFunction::kAllReduce,
                                elements * kBytesOfActivation, kBytesOfActivation}});
  }

  void place(const OperatorUse& use, const Part& part, bool is_norm) {
    Block& block = blocks_.back();
    const bool is_expert = use.op == "moe";
    (is_expert && options_.ep > 1 ? expert_ : dense_) += part.parameters;
    if (is_norm) {
      block.norm.add(part);
    } else if (!block.exchanges) {
      block.parts.push_back(part);
    } else if (is_expert) {
      block.experts.add(part);
    } else {
      block.shared.push_back(part);
    }
  }

  const PassOptions& options_;
  PartMaker parts_;
  std::vector<Block> blocks_;
  std::uint64_t dense_ = 0;
  std::uint64_t expert_ = 0;
  double flops_ = 0;
};

std::uint64_t embedding_parameters(const serving::Model& model, const PassOptions& options) {
  return static_cast<std::uint64_t>(model.vocabulary / options.deployment.tp * model.hidden);
}

core::Result<LayerPasses> embedding_passes(const OperatorUse& use,
                                           const serving::Model& model,
                                           const PassOptions& options,
                                           OperatorLog& log) {
  const Part part = ASSAY_TRY(PartMaker(options, log).make(use));
  const PassMaker maker(options);
  LayerPasses passes;
  passes.forward.push_back({.compute_ns = part.forward});
  if (maker.is_split())
    passes.forward.push_back({options.sequence_parallel ? maker.scatter() : maker.reduce()});
  Stretches& gradients = options.weights_apart ? passes.weights : passes.backward;
  if (maker.is_split() && options.sequence_parallel) gradients.push_back({maker.gather()});
  const double filled_ns =
      ASSAY_TRY(moved_ns("gradient of the embedding, filled with zeros", "weight gradient",
                         static_cast<double>(embedding_parameters(model, options)) *
                             static_cast<double>(kBytesOfActivation),
                         log));
  gradients.push_back({.compute_ns = filled_ns + part.weights});
  passes.dense_parameters = embedding_parameters(model, options);
  return passes;
}

// Cross-entropy over a vocabulary that is shared: the largest logit, the sum, and the token's own
// are each reduced over its GPUs, 4 bytes a token. Logits have 16 bits, the softmax 32: forward it
// is made of them, backward their gradients of it.
core::Status add_loss(const serving::Model& model,
                      const PassOptions& options,
                      OperatorLog& log,
                      LayerPasses& head) {
  constexpr double kBytesOfLogit = 2 + 4;
  constexpr const char* kRole = "loss, as a copy of 6 bytes a logit";
  const std::int64_t columns =
      (model.vocabulary + options.deployment.tp - 1) / options.deployment.tp;
  const double moved = static_cast<double>(options.batch_tokens() * columns) * kBytesOfLogit;
  const auto bytes = 4 * static_cast<std::uint64_t>(options.batch_tokens());
  head.forward.push_back({.compute_ns = ASSAY_TRY(moved_ns(kRole, "forward", moved, log))});
  if (options.deployment.tp > 1) {
    for (int i = 0; i < 3; ++i)
      head.forward.push_back({CollectiveCall{Group::kTensor, NcclFunction::kAllReduce, bytes, 4}});
  }
  head.backward.insert(head.backward.begin(),
                       {.compute_ns = ASSAY_TRY(moved_ns(kRole, "input gradient", moved, log))});
  return {};
}

core::Result<LayerPasses> head_passes(const std::vector<OperatorUse>& uses,
                                      const serving::Model& model,
                                      const PassOptions& options,
                                      OperatorLog& log) {
  PartMaker parts(options, log);
  Block block;
  const std::int64_t spread = options.sequence_parallel ? options.deployment.tp : 1;
  LayerPasses head;
  double flops = 0;
  for (const OperatorUse& use : uses) {
    const bool is_norm = use.role == "last norm";
    if (!is_norm && use.role != "logits") continue;
    const Part part = ASSAY_TRY(parts.make(use, is_norm ? spread : 1));
    head.dense_parameters += is_norm || !options.shares_embedding ? part.parameters : 0;
    flops += part.flops;
    if (is_norm) {
      block.norm.add(part);
    } else {
      block.parts.push_back(part);
    }
  }
  const std::uint64_t parameters = head.dense_parameters;
  PassOptions once = options;
  once.recompute = Recompute::kNone;
  head = PassMaker(once).made({block});
  head.dense_parameters = parameters;
  head.flops = flops;
  // The logits' columns are spread over the GPUs, and stay so: nothing is reduced behind them.
  if (options.deployment.tp > 1) head.forward.pop_back();
  if (options.deployment.tp > 1 && options.sequence_parallel)
    head.backward.erase(head.backward.begin());
  ASSAY_TRY(add_loss(model, options, log, head));
  return head;
}

}  // namespace

core::Result<LayerPasses> layer_passes(const serving::Model& model,
                                       const serving::Layer& layer,
                                       const PassOptions& options,
                                       OperatorLog& log) {
  BlockReader reader(options, log);
  for (const OperatorUse& use :
       serving::uses_of_layer(model, layer, options.deployment, serving::Phase::kContext)) {
    ASSAY_TRY(reader.add(use));
  }
  const auto* const experts = std::get_if<serving::Experts>(&layer.feed_forward);
  LayerPasses passes =
      PassMaker(options, experts == nullptr ? 1 : experts->top_k).made(reader.blocks());
  reader.count(passes);
  return passes;
}

core::Result<EndPasses> end_passes(const serving::Model& model,
                                   const PassOptions& options,
                                   OperatorLog& log) {
  serving::Model ends = model;
  ends.layers.clear();
  ends.mtp.reset();
  const std::vector<OperatorUse> uses =
      serving::uses_of(ends, options.deployment, serving::Phase::kContext);
  return EndPasses{.embedding = ASSAY_TRY(embedding_passes(uses.front(), model, options, log)),
                   .head = ASSAY_TRY(head_passes(uses, model, options, log))};
}

core::Result<double> optimizer_ns(std::uint64_t parameters, OperatorLog& log) {
  constexpr double kBytesOfParameter = 30;
  return moved_ns("optimizer, as a copy of as many bytes", "optimizer",
                  static_cast<double>(parameters) * kBytesOfParameter, log);
}

core::Result<double> fused_adamw_ns(std::uint64_t parameters, OperatorLog& log) {
  constexpr double kBytesOfParameter = 28;
  return moved_ns("optimizer, as 1.3 copies of as many bytes", "optimizer",
                  static_cast<double>(parameters) * kBytesOfParameter * kCopiesOfFusedAdamW, log);
}

core::Result<ShardingCopies> sharding_copies(std::uint64_t parameters,
                                             std::uint64_t replicas,
                                             OperatorLog& log) {
  // From 32 to 16 bits into a tensor, and from that into the all-gather's buffer.
  constexpr double kCastBytes = 4 + 2 + 2 + 2;
  constexpr double kGatheredBytes = 2 + 2;
  constexpr double kGradientBytes = (2 + 4) * kCopiesOfChunkCat;
  const auto whole = static_cast<double>(parameters);
  const double shard = whole / static_cast<double>(replicas);
  return ShardingCopies{
      .cast_ns = ASSAY_TRY(moved_ns("shard of 32 bits, cast and copied for an all-gather",
                                    "sharding", shard * kCastBytes, log)),
      .gathered_ns = ASSAY_TRY(
          moved_ns("gathered parameters, copied out", "sharding", whole * kGatheredBytes, log)),
      .gradients_ns =
          ASSAY_TRY(moved_ns("gradients for a reduce-scatter, as 2.2 copies of as many bytes",
                             "sharding", whole * kGradientBytes, log))};
}

double compute_ns(const Stretches& stretches) {
  return std::accumulate(
      stretches.begin(), stretches.end(), 0.0,
      [](double sum, const Stretch& stretch) { return sum + stretch.compute_ns; });
}

}  // namespace assay::goal
