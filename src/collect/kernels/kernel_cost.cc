#include "collect/kernels/kernel_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <vector>

#include "collect/kernels/attention_layout.h"
#include "collect/kernels/block_scales.h"
#include "collect/kernels/moe_routing.h"

namespace assay::collect {
namespace {

constexpr double kScaleBytes = 4;  // float32
constexpr double kIndexBytes = 4;  // int32

double real(std::int64_t value) {
  return static_cast<double>(value);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Quantised kernels write bfloat16.
double output_bytes(DataType type) {
  return real(std::max(bytes_of(type), bytes_of(DataType::kBfloat16)));
}

// The bytes of an input; in kFp8Block each row has a scale for every 128 elements.
double input_bytes(std::int64_t rows, std::int64_t columns, DataType type) {
  const double elements = real(rows) * real(columns) * real(bytes_of(type));
  if (type != DataType::kFp8Block) return elements;
  return elements + kScaleBytes * real(rows) * real(scale_blocks(columns));
}

// The bytes of a weight; in kFp8Block it has a scale for every 128 x 128 elements, in kMxfp4 a byte
// for every 32 elements of a row.
double weight_bytes(std::int64_t rows, std::int64_t columns, DataType type) {
  if (type == DataType::kMxfp4)
    return real(rows) * (real(columns) / 2 + real(ceil_div(columns, 32)));
  const double elements = real(rows) * real(columns) * real(bytes_of(type));
  if (type != DataType::kFp8Block) return elements;
  const std::int64_t blocks = scale_blocks(rows) * scale_blocks(columns);
  return elements + kScaleBytes * real(blocks);
}

// Both inputs are read and the output is written once; each m, n and k takes a fused pair of
// operations.
Cost cost_of_kernel(const GemmSpec& spec) {
  const double output = real(spec.m) * real(spec.n) * output_bytes(spec.type);
  const double bytes =
      input_bytes(spec.m, spec.k, spec.type) + weight_bytes(spec.n, spec.k, spec.type) + output;
  return {.bytes = real(spec.batch) * bytes,
          .flops = 2 * real(spec.batch) * real(spec.m) * real(spec.n) * real(spec.k),
          .type = spec.type};
}

double footprint_of_kernel(const GemmSpec& spec) {
  return cost_of_kernel(spec).bytes;
}

double query_and_output_bytes(const AttentionSpec& spec) {
  const double queries = real(spec.batch) * real(spec.query_length) * real(spec.heads);
  return queries * (real(spec.head_dim) * real(bytes_of(spec.type)) +
                    real(spec.value_dim) * output_bytes(spec.type));
}

// Keys and values that were made just before are read in their own type and written to the cache.
double cache_bytes(const AttentionSpec& spec, std::int64_t keys) {
  const std::int64_t width = spec.head_dim + (spec.values_in_keys ? 0 : spec.value_dim);
  const double elements = real(spec.batch) * real(keys) * real(spec.kv_heads) * real(width);
  if (!fills_cache(spec)) return elements * real(bytes_of(spec.kv_type));
  const double cached = real(cached_elements(spec));
  const double latents = spec.latent_dim > 0 ? cached * real(bytes_of(spec.type)) : 0;
  return elements * real(bytes_of(spec.type)) + latents + cached * real(bytes_of(spec.kv_type));
}

// Q K^T takes 2 head_dim operations for each pair of a query and a key, and P V takes 2 value_dim;
// the softmax is not counted. The part of the cache before the first query's window is not read.
Cost cost_of_kernel(const AttentionSpec& spec) {
  const std::int64_t reach = spec.window + spec.query_length - 1;
  const std::int64_t keys = spec.window > 0 ? std::min(spec.kv_length, reach) : spec.kv_length;
  const double products = attended_keys(spec) * real(spec.batch) * real(spec.heads);
  return {.bytes = query_and_output_bytes(spec) + cache_bytes(spec, keys),
          .flops = 2 * products * real(spec.head_dim + spec.value_dim),
          .type = spec.type};
}

double footprint_of_kernel(const AttentionSpec& spec) {
  return query_and_output_bytes(spec) + cache_bytes(spec, spec.kv_length);
}

std::int64_t local_intermediate(const MoeSpec& spec) {
  return ceil_div(spec.intermediate, spec.tp);
}

// An expert has the gate and the up projection, [2 intermediate, hidden], and the down projection.
double expert_bytes(const MoeSpec& spec) {
  const std::int64_t width = local_intermediate(spec);
  return weight_bytes(2 * width, spec.hidden, spec.type) +
         weight_bytes(spec.hidden, width, spec.type);
}

// Counts the weights of the experts that are drawn, and the tokens of this GPU, which are read and
// written once as bfloat16 (a token has at most one pair with each of this GPU's experts). Data
// between the two products could stay on the chip. 4-bit weights are multiplied as bfloat16.
Cost cost_of_kernel(const MoeSpec& spec) {
  const DrawnExperts drawn = drawn_experts(spec);
  const std::int64_t pairs_of_token = std::min(spec.top_k, ceil_div(spec.experts, spec.ep));
  const std::int64_t tokens = ceil_div(drawn.pairs, pairs_of_token);
  const double activations = 2 * real(tokens) * real(spec.hidden) * output_bytes(spec.type);
  return {.bytes = real(drawn.experts) * expert_bytes(spec) + activations,
          .flops = 6 * real(drawn.pairs) * real(spec.hidden) * real(local_intermediate(spec)),
          .type = spec.type == DataType::kMxfp4 ? DataType::kBfloat16 : spec.type};
}

// Counts all local weights, the tokens before and after, and for each pair its permuted input and
// output and both sides of the activation. With block scales, the rows of an expert are filled up
// to a multiple of 4.
double footprint_of_kernel(const MoeSpec& spec) {
  const std::int64_t local_experts = ceil_div(spec.experts, spec.ep);
  const double pair_width = real(2 * spec.hidden + 3 * local_intermediate(spec));
  const double width = output_bytes(spec.type);
  const std::int64_t padding_rows = spec.type == DataType::kFp8Block ? 3 * local_experts : 0;
  return real(local_experts) * expert_bytes(spec) +
         real(drawn_experts(spec).pairs + padding_rows) * pair_width * width +
         2 * real(spec.tokens) * real(spec.hidden) * width;
}

Cost cost_of_kernel(const QuantizeSpec& spec) {
  const double elements = real(spec.m) * real(spec.k);
  const double bytes_each = real(bytes_of(DataType::kBfloat16)) + real(bytes_of(DataType::kFp8));
  return {.bytes = elements * bytes_each, .type = DataType::kBfloat16};
}

double footprint_of_kernel(const QuantizeSpec& spec) {
  return cost_of_kernel(spec).bytes;
}

double channels_of_net(const DeltaNetSpec& spec) {
  return 2 * real(spec.key_heads * spec.key_dim) + real(spec.value_heads * spec.value_dim);
}

// A prompt's state is only written; a request that decodes reads it, too.
double state_passes(const DeltaNetSpec& spec) {
  return spec.phase == DeltaNetSpec::Phase::kDecode ? 2 : 1;
}

Cost cost_of_convolution(const DeltaNetSpec& spec) {
  const double tokens = real(spec.batch * spec.length);
  const double window = real(spec.batch * (spec.taps - 1)) * state_passes(spec);
  return {.bytes = channels_of_net(spec) * (2 * tokens + real(spec.taps) + window) *
                   real(bytes_of(DataType::kBfloat16)),
          .flops = 2 * tokens * channels_of_net(spec) * real(spec.taps)};
}

// Counts the input, the two gates of a head, the output and the float32 states; and for each token
// the two products of a state and its update, since the chunks of a prompt compute more.
Cost cost_of_kernel(const DeltaNetSpec& spec) {
  if (spec.part == DeltaNetSpec::Part::kConvolution) return cost_of_convolution(spec);
  const double tokens = real(spec.batch * spec.length);
  const double state = real(spec.value_heads * spec.key_dim * spec.value_dim);
  const double numbers =
      channels_of_net(spec) + real(spec.value_heads * spec.value_dim) + 2 * real(spec.value_heads);
  return {
      .bytes = tokens * numbers * real(bytes_of(DataType::kBfloat16)) +
               state_passes(spec) * real(spec.batch) * state * real(bytes_of(DataType::kFloat32)),
      .flops = 6 * tokens * state};
}

// The products within a chunk of a prompt, which pass through memory: two matrices of bfloat16 and
// four float32 numbers for each token.
double footprint_of_kernel(const DeltaNetSpec& spec) {
  constexpr std::int64_t kChunk = 64;
  constexpr double kBytesOfToken = 2 * kChunk * 2 + 4 * 4;
  const double bytes = cost_of_kernel(spec).bytes;
  if (spec.part == DeltaNetSpec::Part::kConvolution || spec.phase == DeltaNetSpec::Phase::kDecode)
    return bytes;
  const std::int64_t tokens = spec.batch * ceil_div(spec.length, kChunk) * kChunk;
  return bytes + real(tokens * spec.value_heads) * kBytesOfToken;
}

// The number of buffers of [rows, columns] that are read or written.
double passes(MemorySpec::Kind kind) {
  switch (kind) {
    case MemorySpec::Kind::kAddRmsNorm:
      return 4;
    case MemorySpec::Kind::kSiluMul:
    case MemorySpec::Kind::kAdd:
      return 3;
    case MemorySpec::Kind::kRmsNorm:
    case MemorySpec::Kind::kEmbedding:
    case MemorySpec::Kind::kCopy:
      return 2;
    case MemorySpec::Kind::kRead:
      return 1;
  }
  return 0;
}

// The bytes of the norm's weight or the embedding's indices, which passes() does not count.
double side_bytes(const MemorySpec& spec) {
  if (spec.kind == MemorySpec::Kind::kRmsNorm || spec.kind == MemorySpec::Kind::kAddRmsNorm) {
    return real(spec.columns) * real(bytes_of(spec.type));
  }
  return spec.kind == MemorySpec::Kind::kEmbedding ? real(spec.rows) * kIndexBytes : 0;
}

// The average number of different rows among `rows` that are drawn from the table.
double distinct_rows(const MemorySpec& spec) {
  return -real(spec.vocabulary) * std::expm1(-real(spec.rows) / real(spec.vocabulary));
}

Cost cost_of_kernel(const MemorySpec& spec) {
  const double row = real(spec.columns) * real(bytes_of(spec.type));
  const bool is_embedding = spec.kind == MemorySpec::Kind::kEmbedding;
  const double rows =
      is_embedding ? real(spec.rows) + distinct_rows(spec) : passes(spec.kind) * real(spec.rows);
  return {.bytes = rows * row + side_bytes(spec), .type = spec.type};
}

double footprint_of_kernel(const MemorySpec& spec) {
  const double row = real(spec.columns) * real(bytes_of(spec.type));
  const double table = row * real(spec.vocabulary);
  return passes(spec.kind) * real(spec.rows) * row + table + side_bytes(spec);
}

// The bytes that a rank sends, in units of S, the size of the whole buffer: the bus factor
// (Patarasu and Yuan 2009).
double sent_share(const CollectiveSpec& spec) {
  return spec.ranks > 1 ? model::bus_factor(spec.function, spec.ranks) : 0;
}

// The bytes that a rank reads and writes in its own buffers, in units of S.
double local_share(const CollectiveSpec& spec) {
  const bool is_partial = spec.function == model::NcclFunction::kAllGather ||
                          spec.function == model::NcclFunction::kReduceScatter;
  return is_partial ? 1 + 1 / real(spec.ranks) : 2;
}

Cost cost_of_kernel(const CollectiveSpec& spec) {
  const double size = real(spec.elements) * real(bytes_of(spec.type));
  return {
      .bytes = local_share(spec) * size, .type = spec.type, .link_bytes = sent_share(spec) * size};
}

double footprint_of_kernel(const CollectiveSpec& spec) {
  return cost_of_kernel(spec).bytes;
}

// Only the GPU's side of a copy counts: no peak is known for the bus.
Cost cost_of_kernel(const TransferSpec& spec) {
  return {.bytes = real(spec.bytes)};
}

double footprint_of_kernel(const TransferSpec& spec) {
  return cost_of_kernel(spec).bytes;
}

}  // namespace

Cost cost_of(const KernelSpec& spec) {
  return std::visit([](const auto& held) { return cost_of_kernel(held); }, spec);
}

double footprint_bytes(const KernelSpec& spec) {
  return std::visit([](const auto& held) { return footprint_of_kernel(held); }, spec);
}

// Query i attends to min(first + i, limit) keys, where `first` is the number of keys of query 0:
// the numbers rise at first and then stay flat.
double attended_keys(const AttentionSpec& spec) {
  const std::int64_t limit = spec.window > 0 ? spec.window : spec.kv_length;
  if (!spec.causal) return real(spec.query_length) * real(std::min(spec.kv_length, limit));
  const std::int64_t first = spec.kv_length - spec.query_length + 1;
  const std::int64_t rising =
      std::clamp<std::int64_t>(limit - first, 0, spec.query_length);  // queries below the limit
  const double below = real(rising) * real(first) + real(rising) * real(rising - 1) / 2;
  return below + real(spec.query_length - rising) * real(limit);
}

namespace {

// The sizes and the exponent decide which experts are drawn.
struct Draw {
  std::array<std::int64_t, 5> numbers;
  double exponent = 0;

  bool operator==(const Draw&) const = default;
};

struct DrawHash {
  std::size_t operator()(const Draw& draw) const {
    std::size_t hash = std::hash<double>()(draw.exponent);
    for (const std::int64_t number : draw.numbers)
      hash = hash * 1000003 + static_cast<std::size_t>(number);
    return hash;
  }
};

DrawnExperts count_drawn_experts(const MoeSpec& spec) {
  DrawnExperts drawn;
  const std::vector<std::int64_t> counts = expert_counts(spec);
  for (std::int64_t expert = 0; expert < spec.experts / spec.ep; ++expert) {
    const std::int64_t tokens = counts[static_cast<std::size_t>(expert)];
    drawn.pairs += tokens;
    if (tokens > 0) ++drawn.experts;
  }
  return drawn;
}

}  // namespace

// Drawing from a power law takes a tenth of a millisecond, and rows of several types and widths
// have the same draw.
DrawnExperts drawn_experts(const MoeSpec& spec) {
  constexpr std::size_t kMostKept = 1 << 16;
  const bool is_sound = spec.top_k <= spec.experts && spec.experts % spec.ep == 0;
  if (!is_sound) return {};  // limit_of() says so
  thread_local std::unordered_map<Draw, DrawnExperts, DrawHash> kept;
  if (kept.size() > kMostKept) kept.clear();
  const Draw draw{.numbers = {spec.tokens, spec.top_k, spec.experts, spec.ep,
                              static_cast<std::int64_t>(spec.routing)},
                  .exponent = spec.exponent};
  const auto [at, is_new] = kept.try_emplace(draw);
  if (is_new) at->second = count_drawn_experts(spec);
  return at->second;
}

}  // namespace assay::collect
