// The two products of a mixture's experts, with the activation between them. There are several
// kinds, which work on the same memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collect/cuda/buffers.h"
#include "collect/cuda/gpu.h"
#include "collect/cuda/lt_product.h"
#include "collect/cuda/moe_buffers.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/kernels/device.h"
#include "core/result.h"

namespace assay::collect {

// The memory of a mixture, with one or more copies of everything.
struct MoeMemory {
  const MoeShape& shape;
  const Buffers& buffers;

  template <class T = void>
  [[nodiscard]] T* at(MoeBuffer buffer, std::int64_t copy) const {
    return buffers.at<T>(static_cast<std::size_t>(buffer), copy);
  }

  [[nodiscard]] MoeArguments arguments_of(std::int64_t copy) const;
  // The operands of both products.
  [[nodiscard]] ProductArguments up(std::int64_t copy) const;
  [[nodiscard]] ProductArguments down(std::int64_t copy) const;
};

class MoeProducts {
 public:
  MoeProducts() = default;
  MoeProducts(const MoeProducts&) = delete;
  MoeProducts& operator=(const MoeProducts&) = delete;
  virtual ~MoeProducts() = default;

  [[nodiscard]] virtual std::string kernel_source() const = 0;

  // Returns the bytes of device memory for the addresses of one product's matrices.
  [[nodiscard]] virtual std::size_t addresses_bytes() const { return 0; }

  // The arguments of the kernels around these products.
  [[nodiscard]] virtual MoeArguments arguments_of(const MoeMemory& memory,
                                                  std::int64_t copy) const {
    return memory.arguments_of(copy);
  }

  // Called once, when the memory is there.
  virtual core::Status prepare(const MoeMemory& memory) = 0;

  // Enqueues the gate and up projections and the activation: `gathered`, or the input if that is
  // not gathered, becomes `activated`.
  virtual core::Status enqueue_up(const MoeMemory& memory, std::int64_t copy) = 0;
  // Enqueues the down projection: `activated` becomes `expert_output`.
  virtual core::Status enqueue_down(const MoeMemory& memory, std::int64_t copy) = 0;

  // Compares what the last launch wrote, the first copy of it, with what the products read.
  virtual core::Result<Accuracy> compare_up(const MoeMemory& memory) = 0;
  virtual core::Result<Accuracy> compare_down(const MoeMemory& memory) = 0;
};

// Products that can be made, or why not.
struct MadeProducts {
  std::unique_ptr<MoeProducts> products;
  std::string reason;
};

// One launch of cuBLAS for all experts, or one of cuBLASLt for each, and Assay's activation.
enum class CublasGrouping : std::uint8_t { kGrouped, kPerExpert };

core::Result<MadeProducts> make_cublas_products(Gpu& gpu,
                                                const MoeShape& shape,
                                                CublasGrouping grouping);

// Whether the weighted sum is a kernel after the products, or the second one adds its rows to the
// output: in bfloat16 and in any order, as TensorRT-LLM does.
enum class GroupedSum : std::uint8_t { kAfterwards, kWithin };

// Assay's grouped product, with the activation in it, and for many tokens with the gathering.
// `kWithin` only where may_add_rows_up().
core::Result<MadeProducts> make_grouped_products(Gpu& gpu, const MoeShape& shape, GroupedSum sum);

// Compares the down projection, which has the same form in all kinds.
core::Result<Accuracy> compare_down_product(Gpu& gpu,
                                            const MoeMemory& memory,
                                            const LtAlgorithm& algorithm);

}  // namespace assay::collect
