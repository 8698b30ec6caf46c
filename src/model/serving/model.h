// A decoder as the sizes that decide how fast it is served. Families of models make one from a
// config.json (family.h); uses_of() turns it into the operators that a GPU runs (uses.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::serving {

// The weights of a product are kept in one of these ways.
enum class Quantization : std::uint8_t {
  kBfloat16,
  kFp8,
  kFp8Block,
  kMxfp4,    // 4-bit floats with a scale for 32, activations in bfloat16; only experts have it
  kInt4,     // 4-bit integers with a scale for a group, activations in bfloat16
  kInt4Fp8,  // the same with activations in fp8
  kNvfp4,    // 4-bit floats with a scale for 16, activations alike
};

// The spelling of performance tables: "bfloat16", "fp8_block", "w4a16_mxfp4", "int4_wo".
std::string_view name_of(Quantization quantization);
std::optional<Quantization> quantization_named(std::string_view name);

// fp8_block has one scale for this many rows and columns of a weight.
inline constexpr std::int64_t kScaleBlock = 128;

// The matrices of a layer that a checkpoint may keep each in its own way. Those of the input and
// output of a mixer are so whatever it is.
enum class Projection : std::uint8_t {
  kMixerInput,   // to queries, keys and values, or into linear attention and state spaces
  kMixerGates,   // of linear attention
  kMixerOutput,  // of the mixer
  kQueryDown,    // of latent attention: to the queries' latent
  kLatentDown,   // to that of keys and values
  kQueryUp,      // to queries
  kLatentUp,     // to keys and values
  kUp,           // of a feed-forward layer
  kDown,
  kToLatent,  // of the experts
  kFromLatent,
  kSharedUp,
  kSharedDown,
  kExperts,
};

inline constexpr int kProjections = 14;

// Some of the projections.
class Projections {
 public:
  [[nodiscard]] bool has(Projection one) const { return (bits_ & bit(one)) != 0; }

  [[nodiscard]] bool is_empty() const { return bits_ == 0; }

  void add(Projection one) { bits_ |= bit(one); }

  void remove(const Projections& others) { bits_ &= ~others.bits_; }

  bool operator==(const Projections& other) const = default;

 private:
  static std::uint32_t bit(Projection one) {
    return std::uint32_t{1} << static_cast<std::uint32_t>(one);
  }

  std::uint32_t bits_ = 0;
};

struct Precision {
  Quantization linear = Quantization::kBfloat16;     // projections and dense feed-forward layers
  Quantization experts = Quantization::kBfloat16;    // of mixtures
  Quantization cache = Quantization::kBfloat16;      // of keys and values: kBfloat16 or kFp8
  Quantization attention = Quantization::kBfloat16;  // the products of attention to a prompt
  // Elements of 4-bit integers that share a scale; 0: too many for scales to count.
  std::int64_t integer_group = 128;

  bool operator==(const Precision& other) const = default;
};

// The precision of a model whose weights are kept so. kMxfp4 is that of experts beside projections
// in bfloat16.
Precision weights_of(Quantization quantization);
// Returns whether both keep weights alike, but for the scales of integers.
bool has_same_weights(const Precision& a, const Precision& b);
// Returns the quantization whose weights_of() has the same weights.
Quantization quantization_of(const Precision& precision);

// Attention with softmax; the heads share keys and values in groups.
struct Attention {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 128;
  std::int64_t window = 0;        // number of keys that a query attends to; 0: all
  bool is_chunked = false;        // the window is a chunk, which all its queries share
  bool normalises_heads = false;  // queries and keys pass a norm
  bool norm_spans_heads = false;  // that of queries is over all heads at once, and that of keys
  bool has_output_gate = false;   // the first projection also makes a gate as wide as the queries

  bool operator==(const Attention& other) const = default;
};

// Multi-head latent attention: the cache holds one latent and one positional key for all heads.
struct LatentAttention {
  std::int64_t heads = 1;
  std::int64_t query_rank = 0;  // 0: queries are projected at once
  std::int64_t latent_rank = 512;
  std::int64_t nope_dim = 128;  // part of a head's query and key without position
  std::int64_t rope_dim = 64;   // part with position
  std::int64_t value_dim = 128;

  bool operator==(const LatentAttention& other) const = default;
};

// Latent attention in which a query attends to the tokens that an indexer chose: DeepSeek's sparse
// attention. Every GPU runs the whole indexer and keeps its keys, of 8 bits with a scale for 128.
struct SparseAttention {
  LatentAttention latent = {};
  std::int64_t index_heads = 1;
  std::int64_t index_dim = 128;
  std::int64_t top_k = 2048;      // tokens that a query attends to
  std::string architecture = {};  // by which tables tell the sizes of whole modules apart

  bool operator==(const SparseAttention& other) const = default;
};

// Mamba-2: each head keeps a matrix of head_dim x state; groups of heads share its inputs.
struct StateSpace {
  std::int64_t heads = 1;
  std::int64_t head_dim = 64;
  std::int64_t state = 128;
  std::int64_t groups = 1;
  std::int64_t convolution = 4;  // tokens that the convolution before it spans
  std::int64_t chunk = 128;      // tokens that a scan of a prompt takes at once

  [[nodiscard]] std::int64_t width() const { return heads * head_dim; }

  // Columns that pass the convolution.
  [[nodiscard]] std::int64_t channels() const { return width() + 2 * groups * state; }

  bool operator==(const StateSpace& other) const = default;
};

// A layer has it that is a feed-forward layer alone.
struct NoMixer {
  bool operator==(const NoMixer& /*other*/) const = default;
};

// Linear attention by the gated delta rule: each value head keeps a matrix of key_dim x value_dim.
struct DeltaNet {
  std::int64_t key_heads = 1;
  std::int64_t value_heads = 1;
  std::int64_t key_dim = 128;
  std::int64_t value_dim = 128;
  std::int64_t convolution = 4;  // tokens that the convolution before it spans

  bool operator==(const DeltaNet& other) const = default;
};

// Two products with an activation between them, which a third may gate.
struct FeedForward {
  std::int64_t intermediate = 1;
  bool is_gated = true;

  bool operator==(const FeedForward& other) const = default;
};

struct Experts {
  std::int64_t count = 1;
  std::int64_t top_k = 1;
  std::int64_t intermediate = 1;         // of an expert
  std::int64_t shared_intermediate = 0;  // of the experts that every token goes to; 0: none
  bool has_shared_gate = false;          // a product of one column scales the shared experts
  bool is_gated = true;                  // as of FeedForward
  // The columns of tokens in the routed experts, between a projection from and one to the model's;
  // 0: they are the model's own.
  std::int64_t latent = 0;

  bool operator==(const Experts& other) const = default;
};

// A layer has it that is a mixer alone.
struct NoFeedForward {
  bool operator==(const NoFeedForward& /*other*/) const = default;
};

using Mixer =
    std::variant<Attention, LatentAttention, DeltaNet, SparseAttention, StateSpace, NoMixer>;

struct Layer {
  Mixer mixer;
  std::variant<FeedForward, Experts, NoFeedForward> feed_forward;
  // What the checkpoint leaves in bfloat16 of what the model's precision has otherwise.
  Projections left_out = {};
  bool normalises_outputs = false;  // what both give passes a norm before it is added

  bool operator==(const Layer& other) const = default;
};

struct EqualLayers {
  Layer layer;
  std::int64_t count = 0;
  std::vector<std::int64_t> indices = {};  // in the model, from 0, growing; none: not known
};

struct Model {
  std::string name;    // "qwen3-32b", or as its file is called
  std::string family;  // "qwen3"
  std::int64_t hidden = 1;
  std::int64_t vocabulary = 1;
  Precision precision;              // as its config.json tells
  std::vector<EqualLayers> layers;  // no two are equal
  bool ties_embedding = false;      // the logits take the embedding's weights
  std::int64_t context = 0;         // the most tokens of a sequence; 0: not known
  // Layers that predict tokens beyond the next one (multi-token prediction), with which engines
  // draft; they are none of `layers`.
  std::optional<EqualLayers> mtp = std::nullopt;
  // The distribution of tokens over experts, as moe_perf names it. The public planner prices
  // DeepSeek-V3, Kimi-K2 and Llama 4 by an exponent of 1.01, all others by 1.2.
  std::string skew = "power_law_1.2";
  // The types that its config.json asks for the states of linear attention and of state spaces:
  // mamba_ssm_dtype and mamba_ssm_cache_dtype; "": none. Engines read one or the other.
  std::string state_type = {};
  std::string state_cache_type = {};

  [[nodiscard]] std::int64_t num_layers() const;
  // The kind of layer that it has most of, and of several the first. Precondition: it has layers.
  [[nodiscard]] const EqualLayers& most_frequent_layers() const;
  [[nodiscard]] bool has_experts() const;
  // Returns whether the checkpoint leaves the output projection of attention in bfloat16 in most
  // layers that attend, though other products have another precision.
  [[nodiscard]] bool leaves_attention_out() const;
};

}  // namespace assay::serving
