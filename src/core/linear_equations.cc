#include "core/linear_equations.h"

#include <algorithm>
#include <optional>

namespace assay::core {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr double kRounding = 1e-10;

double largest_diagonal(const Matrix& matrix) {
  double largest = 0;
  for (std::size_t i = 0; i < matrix.size(); ++i)
    largest = std::max(largest, matrix[i][i]);
  return largest;
}

// Returns the unused row with the largest diagonal; std::nullopt where none is above `least`.
std::optional<std::size_t> next_pivot(const Matrix& matrix,
                                      const std::vector<bool>& used,
                                      double least) {
  std::optional<std::size_t> pivot;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (used[i] || matrix[i][i] <= least) continue;
    least = matrix[i][i];
    pivot = i;
  }
  return pivot;
}

void eliminate(LinearEquations& equations, std::size_t pivot) {
  auto& [matrix, right] = equations;
  for (std::size_t row = 0; row < matrix.size(); ++row) {
    if (row == pivot) continue;
    const double factor = matrix[row][pivot] / matrix[pivot][pivot];
    for (std::size_t column = 0; column < matrix.size(); ++column)
      matrix[row][column] -= factor * matrix[pivot][column];
    right[row] -= factor * right[pivot];
  }
}

}  // namespace

LinearSolution solve(LinearEquations equations) {
  const std::size_t size = equations.matrix.size();
  const double least = kRounding * largest_diagonal(equations.matrix);
  std::vector<bool> used(size, false);
  LinearSolution solution{.unknowns = std::vector<double>(size, 0)};
  while (const auto pivot = next_pivot(equations.matrix, used, least)) {
    used[*pivot] = true;
    eliminate(equations, *pivot);
    ++solution.rank;
  }
  for (std::size_t i = 0; i < size; ++i)
    if (used[i]) solution.unknowns[i] = equations.right[i] / equations.matrix[i][i];
  return solution;
}

}  // namespace assay::core
