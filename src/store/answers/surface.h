// A question that is asked many times: exact values, and the sizes that stay, are bound once.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/answers/query.h"

namespace assay::store {

class Surface {
 public:
  // `conditions` name every exact value that tells the table's rows apart, and the sizes that stay;
  // `free` names the others, in the order in which at() takes them. The index must outlive it.
  // Errors: as query(); several combinations are meant; a size is neither bound nor free.
  static core::Result<Surface> bind(const WorkIndex& index,
                                    const std::vector<Condition>& conditions,
                                    const std::vector<std::string>& free,
                                    Beyond beyond = Beyond::kRefuse);

  // Takes no memory, and less than a microsecond where the size alone is free; sizes that were
  // asked lately take a tenth of that. A refusal is told by WorkEstimate::refused. Not for several
  // threads at once: bind one for each.
  [[nodiscard]] WorkEstimate at(std::span<const double> free) const;

  // The same for numbers that nobody has checked: what is no size has no answer.
  [[nodiscard]] WorkEstimate at_any(std::span<const double> free) const;
  // What is wrong with the first number that is no size of this table's work; "" for nothing.
  [[nodiscard]] std::string problem(std::span<const double> free) const;

  // What an estimate came from, and why it is none, for people.
  [[nodiscard]] std::string method(const WorkEstimate& estimate,
                                   std::span<const double> free) const;
  [[nodiscard]] std::string refusal(const WorkEstimate& estimate,
                                    std::span<const double> free) const;

 private:
  using Sizes = std::array<double, kMostWorkAxes>;

  // A plan asks for the same batches again and again.
  struct Remembered {
    Sizes sizes = {};
    WorkEstimate estimate = {};
  };

  struct FreeSize {
    std::string name;
    std::uint32_t place = 0;
    std::string zero_problem;  // "" where 0 is a size as others
  };

  static constexpr std::size_t kRemembered = 1024;  // a power of 2

  Surface(std::unique_ptr<const Family> family,
          const std::vector<double>& sizes,
          std::vector<FreeSize> free,
          Beyond beyond);
  [[nodiscard]] Sizes with(std::span<const double> free) const;

  std::unique_ptr<const Family> family_;
  std::size_t num_sizes_;
  Sizes bound_ = {};
  std::vector<FreeSize> free_;
  Beyond beyond_;
  // By a hash of the sizes; all 0 where there is none yet.
  mutable std::vector<Remembered> remembered_;
};

}  // namespace assay::store
