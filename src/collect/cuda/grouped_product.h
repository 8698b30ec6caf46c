// The products of a mixture's experts. Each expert has its rows and its weight.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/cuda/gpu.h"
#include "collect/cuda/lt_product.h"
#include "core/result.h"

namespace assay::collect {

struct GroupedShape {
  // The number of rows of each expert, a multiple of 4 for fp8_block. The rows of the experts
  // follow each other.
  std::vector<std::int64_t> rows;
  std::int64_t n = 1;
  std::int64_t k = 1;
  DataType type = DataType::kBfloat16;
};

// kGrouped is one launch by cuBLAS, kPerExpert a product by cuBLASLt for each expert that has rows.
enum class Grouping : std::uint8_t { kGrouped, kPerExpert };

class GroupedProduct {
 public:
  // Sets `made`, or returns why the product is not supported.
  static core::Result<std::optional<Unsupported>> make(Gpu& gpu,
                                                       const GroupedShape& shape,
                                                       Grouping grouping,
                                                       std::unique_ptr<GroupedProduct>& made);

  // Returns the bytes of device memory that hold the addresses of the matrices of one set of
  // arguments.
  [[nodiscard]] std::size_t addresses_bytes() const;
  // Writes the addresses to device memory and waits.
  core::Status set_addresses(const ProductArguments& arguments, void* addresses) const;

  // `addresses` must have been set for these arguments.
  core::Status enqueue(const ProductArguments& arguments, const void* addresses) const;

 private:
  GroupedProduct(Gpu& gpu, GroupedShape shape, Grouping grouping);

  core::Result<std::optional<Unsupported>> make_products();
  core::Status enqueue_grouped(const void* addresses) const;
  [[nodiscard]] ProductArguments of_expert(const ProductArguments& all, std::size_t active) const;

  Gpu& gpu_;
  GroupedShape shape_;
  Grouping grouping_;
  // The experts that have rows.
  std::vector<std::int64_t> experts_;
  std::vector<std::int64_t> first_rows_;
  std::vector<int> counts_;
  // The arguments of cuBLAS are kept, because a captured graph may refer to them.
  std::vector<cublasOperation_t> transposed_;
  std::vector<cublasOperation_t> plain_;
  std::vector<int> widths_;
  std::vector<int> lengths_;
  std::vector<int> sizes_;
  std::vector<float> ones_;
  std::vector<float> zeros_;
  std::map<int, std::unique_ptr<LtProduct>> products_;  // keyed by number of rows
};

}  // namespace assay::collect
