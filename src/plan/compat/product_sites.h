// Times of matrix products by the public planner's rules: each measured shape of a weight is a site
// with a curve over rows; a shape that was not measured gets the share of its roofline that the
// nearest sites reach.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "plan/compat/grid.h"

namespace assay::plan::compat {

// A place of a product is {m, n, k}.
class ProductSites {
 public:
  // Of several times at one place the first counts.
  void add(const Place& place, double ms);
  // Is called once, when all rows are there. No time is below its roofline.
  void finish(const LeastMs& least_ms);

  [[nodiscard]] bool empty() const { return sites_.empty(); }

  // NaN where no site is near enough.
  [[nodiscard]] double at(const Place& place, const LeastMs& least_ms) const;

 private:
  struct Row {
    Place place;
    double ms = 0;
  };

  struct Site {
    std::size_t begin = 0;  // of its rows, by m
    std::size_t end = 0;
    double n_log = 0;
    double k_log = 0;
  };

  struct Near {
    double distance = 0;
    std::size_t site = 0;
  };

  [[nodiscard]] double on_curve(const Site& site, double m, const LeastMs& least_ms) const;
  [[nodiscard]] double held(const Site& site, double m, const LeastMs& least_ms) const;
  [[nodiscard]] std::vector<Near> ranked(const Place& place, bool only_covering) const;
  // Those within the largest distance; empty if none may answer.
  [[nodiscard]] std::vector<Near> admitted(const Place& place, std::vector<Near> near) const;
  [[nodiscard]] std::vector<Near> beyond_largest(const Place& place,
                                                 const std::vector<Near>& near) const;

  std::vector<Row> rows_;  // by n, k, m
  std::vector<Site> sites_;
};

}  // namespace assay::plan::compat
