// Normal equations of least squares, of few unknowns.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::core {

struct LinearEquations {
  std::vector<std::vector<double>> matrix = {};  // symmetric, positive semidefinite
  std::vector<double> right = {};
};

struct LinearSolution {
  std::vector<double> unknowns = {};
  std::size_t rank = 0;
};

// Returns a solution by Gauss-Jordan elimination with diagonal pivots. The unknowns that the
// equations leave free are 0.
LinearSolution solve(LinearEquations equations);

}  // namespace assay::core
