// The kernels that operators are made of, as a device is asked for them. Shapes are of one GPU:
// tensor and expert parallelism are emulated by local sizes.
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

// Output [m, n] = input [m, k] x weight [n, k] transposed; with quantised inputs the output is
// bfloat16, sums are float32 (int8: int32).
struct GemmSpec {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  DataType type = DataType::kBfloat16;
  std::int64_t batch = 1;  // independent products, as many weights
};

// Softmax(Q K^T / sqrt(head_dim)) V. Query [batch, query_length, heads, head_dim], keys and values
// [batch, kv_length, kv_heads, ...]; the last query attends to all keys, causal counts from there.
struct AttentionSpec {
  std::int64_t batch = 1;
  std::int64_t query_length = 1;
  std::int64_t kv_length = 1;  // the new tokens included
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 128;
  std::int64_t value_dim = 128;  // head_dim but for MLA
  std::int64_t window = 0;       // keys a query attends to; 0: all
  bool causal = true;
  bool values_in_keys = false;  // MLA's latent cache: values are the first value_dim of the keys
  std::int64_t latent_dim = 0;  // of MLA's new tokens: what a cache holds instead of keys, values
  std::int64_t page_size = 0;   // tokens in a page of the cache; 0: not paged
  DataType type = DataType::kBfloat16;     // of the products
  DataType kv_type = DataType::kBfloat16;  // of the cache
};

enum class Routing : std::uint8_t { kBalanced, kPowerLaw };

// Routing, permutation, two grouped products with a gated SiLU between, and the weighted sum, on
// the GPU that has most tokens.
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

// bfloat16 [m, k] to fp8 with one scale.
struct QuantizeSpec {
  enum class Scale : std::uint8_t { kComputed, kGiven } scale = Scale::kGiven;
  std::int64_t m = 1;
  std::int64_t k = 1;
};

// What memory bounds, over [rows, columns].
struct MemorySpec {
  enum class Kind : std::uint8_t {
    kRmsNorm,    // with a weight
    kSiluMul,    // [rows, 2 columns] to [rows, columns]
    kEmbedding,  // rows looked up in a table of `vocabulary` rows
    kAdd,        // of two inputs
    kCopy,
    kRead,  // a sum of all elements
  } kind = Kind::kCopy;

  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t vocabulary = 0;
  DataType type = DataType::kBfloat16;
};

// kStrategies: assay's own all-reduce, the fastest of its strategies.
enum class CollectiveProvider : std::uint8_t { kLibrary, kStrategies };

struct CollectiveSpec {
  // kSendRecv: each rank sends to the next, as a ring. Of the others only the collectives that
  // `assay collect nccl` offers can be made.
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  CollectiveProvider provider = CollectiveProvider::kLibrary;
  std::int64_t elements = 1;  // of the whole buffer, as nccl-tests counts sizes
  int ranks = 2;
  DataType type = DataType::kFloat16;
};

// What a launch costs by itself, and copies between a GPU and the host's pinned memory.
struct TransferSpec {
  enum class Kind : std::uint8_t {
    kLaunch,  // of a kernel that does nothing
    kHostToDevice,
    kDeviceToHost,
  } kind = Kind::kLaunch;

  std::int64_t bytes = 0;  // 0 of kLaunch
};

using KernelSpec = std::variant<GemmSpec,
                                AttentionSpec,
                                MoeSpec,
                                QuantizeSpec,
                                MemorySpec,
                                CollectiveSpec,
                                TransferSpec>;

}  // namespace assay::collect
