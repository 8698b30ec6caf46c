// Scaled dot-product attention: what its shapes mean and cost. Softmax is not counted: it is
// smaller than the products by the order of the head dimension.
#pragma once

#include <optional>
#include <vector>

#include "trace/perf/operator_family.h"

namespace assay::trace {

// Which pairs a causal mask keeps when queries and keys differ in number: the mask's diagonal
// ends at the first (top left) or at the last key (bottom right).
enum class CausalDiagonal { kTopLeft, kBottomRight };
enum class AttentionPass { kForward, kBackward };

struct Attention {
  double batch = 1;
  double queries = 0;  // sequence lengths
  double keys = 0;
  double query_heads = 0;
  double key_heads = 0;
  double key_width = 0;  // elements a head
  double value_width = 0;
  bool causal = false;
  bool flash = false;
  CausalDiagonal diagonal = CausalDiagonal::kTopLeft;
};

Work attention_work(const Attention& attention,
                    AttentionPass pass,
                    std::optional<double> element_size);

// [batch, heads, length, width] of each.
struct AttentionShapes {
  Shape query;
  Shape key;
  Shape value;
};

// Fails unless query, key and value fit together.
core::Result<AttentionShapes> checked_shapes(const OperatorCall& call, AttentionShapes shapes);

Attention attention_of(const AttentionShapes& shapes);
std::vector<Parameter> attention_parameters(const AttentionShapes& shapes);

// Where a call records what.
struct AttentionArguments {
  std::size_t query = 0;  // key and value follow
  std::size_t dropout = 0;
  std::size_t causal = 0;
};

// "dropout", "causal", "flash_impl", "dtype_A_B".
void add_attention_flags(std::vector<Parameter>& parameters,
                         const OperatorCall& call,
                         const AttentionArguments& at,
                         bool flash);

void add_attention_strides(std::vector<Parameter>& parameters,
                           const OperatorCall& call,
                           std::size_t query);

// Bytes of an element of the argument. The public tool counts two whatever the type.
std::optional<double> attention_element_bytes(const OperatorCall& call, std::size_t position);

}  // namespace assay::trace
