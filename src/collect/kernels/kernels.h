// The kernels of which operators consist. A device makes one from its spec. Shapes are those of one
// GPU: tensor and expert parallelism are emulated by local sizes.
#pragma once

#include <cstdint>
#include <variant>

#include "model/collective.h"
#include "model/data_type.h"

namespace assay::collect {

using model::bytes_of;
using model::data_type_named;
using model::DataType;
using model::name_of;

// Output [m, n] = input [m, k] x weight [n, k] transposed. With quantised inputs the output is
// bfloat16. Sums are float32, or int32 for int8.
struct GemmSpec {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  DataType type = DataType::kBfloat16;
  std::int64_t batch = 1;  // number of independent products, each with its weight
};

// Softmax(Q K^T / sqrt(head_dim)) V. Query [batch, query_length, heads, head_dim], keys and values
// [batch, kv_length, kv_heads, ...]. With `causal` the last query attends to all keys, the query
// before it to one key less, and so on.
struct AttentionSpec {
  std::int64_t batch = 1;
  std::int64_t query_length = 1;
  std::int64_t kv_length = 1;  // including the new tokens
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 128;
  std::int64_t value_dim = 128;  // equals head_dim except for MLA
  std::int64_t window = 0;       // number of keys that a query attends to; 0: all
  bool causal = true;
  bool values_in_keys =
      false;  // MLA's latent cache: a value is the first value_dim elements of its key
  std::int64_t latent_dim = 0;          // of MLA: a cache holds latents instead of keys and values
  std::int64_t page_size = 0;           // number of tokens in a page of the cache; 0: no pages
  DataType type = DataType::kBfloat16;  // of the products
  DataType kv_type = DataType::kBfloat16;  // of the cache
};

enum class Routing : std::uint8_t { kBalanced, kPowerLaw };

// A mixture of experts on the GPU that has most tokens: routing, permutation, two grouped products
// with a gated SiLU between them, and the weighted sum.
struct MoeSpec {
  std::int64_t tokens = 1;
  std::int64_t hidden = 1;
  std::int64_t intermediate = 1;  // of an expert, on all GPUs
  std::int64_t top_k = 1;
  std::int64_t experts = 1;  // on all GPUs
  std::int64_t tp = 1;
  std::int64_t ep = 1;
  Routing routing = Routing::kBalanced;
  double exponent = 0;  // of the power law: 1.01, 1.2
  DataType type = DataType::kBfloat16;
};

// The conversion of bfloat16 [m, k] to fp8 with one scale.
struct QuantizeSpec {
  enum class Scale : std::uint8_t { kComputed, kGiven } scale = Scale::kGiven;
  std::int64_t m = 1;
  std::int64_t k = 1;
};

// A part of a layer of linear attention, the gated delta net: either the causal convolution of each
// channel of queries, keys and values over its last tokens, with SiLU, or the gated delta rule,
// which updates a float32 matrix [key_dim, value_dim] of each value head with each token. Prompts
// begin with no state; a request that decodes has one token and reads and writes its state.
struct DeltaNetSpec {
  enum class Part : std::uint8_t { kConvolution, kRule } part = Part::kRule;
  enum class Phase : std::uint8_t { kPrompt, kDecode } phase = Phase::kPrompt;
  std::int64_t batch = 1;
  std::int64_t length = 1;  // tokens of a request; 1 in decoding
  std::int64_t key_heads = 1;
  std::int64_t key_dim = 128;
  std::int64_t value_heads = 1;  // a multiple of key_heads
  std::int64_t value_dim = 128;
  std::int64_t taps = 4;  // tokens of the convolution
};

// A kernel over [rows, columns] that the memory bandwidth limits.
struct MemorySpec {
  enum class Kind : std::uint8_t {
    kRmsNorm,     // with a weight
    kAddRmsNorm,  // the sum of input and residual, which is written, and its norm
    kSiluMul,     // [rows, 2 columns] to [rows, columns]
    kEmbedding,   // rows looked up in a table of `vocabulary` rows
    kAdd,         // the sum of two inputs
    kCopy,
    kRead,  // the sum of all elements
  } kind = Kind::kCopy;

  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t vocabulary = 0;
  DataType type = DataType::kBfloat16;
};

// kStrategies is assay's own all-reduce, with the fastest of its strategies.
enum class CollectiveProvider : std::uint8_t { kLibrary, kStrategies };

struct CollectiveSpec {
  // kSendRecv means that each rank sends to the next one, in a ring. No functions can be made other
  // than those that `assay collect nccl` offers.
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  CollectiveProvider provider = CollectiveProvider::kLibrary;
  std::int64_t elements = 1;  // of the whole buffer, as nccl-tests counts sizes
  int ranks = 2;
  DataType type = DataType::kFloat16;
};

// The cost of a launch itself, or a copy between a GPU and the host's pinned memory.
struct TransferSpec {
  enum class Kind : std::uint8_t {
    kLaunch,  // launches an empty kernel
    kHostToDevice,
    kDeviceToHost,
  } kind = Kind::kLaunch;

  std::int64_t bytes = 0;  // 0 for kLaunch
};

using KernelSpec = std::variant<GemmSpec,
                                AttentionSpec,
                                MoeSpec,
                                QuantizeSpec,
                                DeltaNetSpec,
                                MemorySpec,
                                CollectiveSpec,
                                TransferSpec>;

}  // namespace assay::collect
