// The rows that the public planner answers from: of the version that is asked for and of those
// before it, the nearest first, where the first row at a place counts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "plan/compat/grid.h"
#include "plan/compat/product_sites.h"
#include "plan/compat/rooflines.h"
#include "store/answers/work_rows.h"

namespace assay::plan::compat {

// What a column of a row must hold; rows without the column count as if they held `absent`.
struct KeyColumn {
  std::string column;
  std::string value;
  std::string absent = {};
};

// Calls `take` with the numbers in these columns (0 where there is no such column) and the time of
// each row that has the key, in the order of the rows. Rows of kernels that are launched one by
// one, without a graph, are passed over, and so are rows that have another text than a number
// there.
void visit_rows(const store::WorkRows& rows,
                std::span<const KeyColumn> key,
                std::span<const std::string> numbers,
                const std::function<void(std::span<const double> values, double ms)>& take);

// One thread at a time.
class Measured {
 public:
  // Gives the rows of a table, the nearest version first; none if there is no such table.
  using Load = std::function<core::Result<std::vector<store::WorkRows>>(const std::string& table)>;
  using GridOrNull = std::shared_ptr<const Grid>;  // null: no row has the key

  Measured(const SystemFacts& facts, Load load);

  [[nodiscard]] const SystemFacts& facts() const { return *facts_; }

  // For times that outlive this.
  [[nodiscard]] std::shared_ptr<const SystemFacts> shared_facts() const { return facts_; }

  // Null: no product with such weights was measured.
  core::Result<std::shared_ptr<const ProductSites>> products(Quantization weights);

  // Places are {heads, tokens, requests}, {heads, requests, tokens} and {tokens}.
  core::Result<GridOrNull> prompt_attention(const HeadGroup& group);
  core::Result<GridOrNull> decode_attention(const HeadGroup& group);
  core::Result<GridOrNull> latent_prompt(const serving::Precision& precision, bool is_module);
  core::Result<GridOrNull> latent_decode(const serving::Precision& precision, bool is_module);
  core::Result<GridOrNull> absorbing(Quantization quantization, std::int64_t heads, bool is_first);
  core::Result<GridOrNull> experts(Quantization quantization,
                                   const ExpertShape& shape,
                                   const std::string& distribution);
  // Whether any experts were measured with tokens spread so.
  core::Result<bool> has_distribution(Quantization quantization, const std::string& distribution);
  // Places are {numbers}: of all-reduces of an engine, and of NCCL's collectives.
  core::Result<GridOrNull> all_reduce(std::int64_t gpus);
  core::Result<GridOrNull> collective(const std::string& operation, std::int64_t gpus);
  // The most GPUs that a collective of NCCL was measured with; 0: none.
  core::Result<std::int64_t> most_gpus(const std::string& operation);
  // Places are {rows, columns}: of quantizing a product's input. "computescale_perf" computes its
  // scale, "scale_matrix_perf" applies it.
  core::Result<GridOrNull> scaling(const std::string& table);

 private:
  using Values = std::span<const double>;
  // Gives the place of a row from its numbers; std::nullopt: the row is another kind's.
  using PlaceOf = std::function<std::optional<Place>(Values values)>;

  struct Wanted {
    std::string table;
    std::vector<KeyColumn> key;
    std::vector<std::string> numbers;
    PlaceOf place;
    std::size_t axes = 1;
    std::size_t sqrt_axis = kNoAxis;
    LeastMs least_ms = nullptr;  // no row's time is below it; null: rows are taken as they are
  };

  core::Result<std::span<const store::WorkRows>> rows(const std::string& table);
  core::Result<GridOrNull> grid(const Wanted& wanted);

  std::shared_ptr<const SystemFacts> facts_;
  Load load_;
  std::map<std::string, std::vector<store::WorkRows>> rows_;
  std::map<std::string, std::shared_ptr<const ProductSites>> products_;
  std::map<std::string, GridOrNull> grids_;
};

}  // namespace assay::plan::compat
