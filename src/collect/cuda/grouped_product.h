// The products of a mixture's experts: of each its own rows and its own weight.
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
  // Of each expert, one expert's after another's; of fp8_block multiples of 4.
  std::vector<std::int64_t> rows;
  std::int64_t n = 1;
  std::int64_t k = 1;
  DataType type = DataType::kBfloat16;
};

// kGrouped: one launch by cuBLAS. kPerExpert: a product by cuBLASLt for each expert that has rows.
enum class Grouping : std::uint8_t { kGrouped, kPerExpert };

class GroupedProduct {
 public:
  // Why it cannot be, or nothing.
  static core::Result<std::optional<Unsupported>> make(Gpu& gpu,
                                                       const GroupedShape& shape,
                                                       Grouping grouping,
                                                       std::unique_ptr<GroupedProduct>& made);

  // Device memory that a set of arguments needs for the addresses of its matrices; 0: none.
  [[nodiscard]] std::size_t addresses_bytes() const;
  // Writes them there and waits.
  core::Status set_addresses(const ProductArguments& arguments, void* addresses) const;

  // `addresses`: as set for these arguments.
  core::Status enqueue(const ProductArguments& arguments, const void* addresses) const;

 private:
  GroupedProduct(Gpu& gpu, GroupedShape shape, Grouping grouping);

  core::Result<std::optional<Unsupported>> make_products();
  core::Status enqueue_grouped(const void* addresses) const;
  [[nodiscard]] ProductArguments of_expert(const ProductArguments& all, std::size_t active) const;

  Gpu& gpu_;
  GroupedShape shape_;
  Grouping grouping_;
  // Of the experts that have rows.
  std::vector<std::int64_t> experts_;
  std::vector<std::int64_t> first_rows_;
  std::vector<int> counts_;
  // cuBLAS's arguments are kept: a captured graph may refer to them.
  std::vector<cublasOperation_t> transposed_;
  std::vector<cublasOperation_t> plain_;
  std::vector<int> widths_;
  std::vector<int> lengths_;
  std::vector<int> sizes_;
  std::vector<float> ones_;
  std::vector<float> zeros_;
  std::map<int, std::unique_ptr<LtProduct>> products_;  // by rows
};

}  // namespace assay::collect
