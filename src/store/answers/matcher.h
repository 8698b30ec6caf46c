// Which families and sizes of a table the conditions of a query mean.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/answers/query.h"

namespace assay::store {

class Matcher {
 public:
  explicit Matcher(const WorkRows& rows);

  // Errors: the table has no such column, or no such exact value, or the value is no number.
  core::Status take(const Condition& condition);

  [[nodiscard]] bool has_column(const std::string& column) const;

  // Fails where the table lacks the column, or a condition has said already what it is.
  [[nodiscard]] core::Status check_column(const std::string& column) const;

  // Gives sizes with one value that value. Error: a size that lies between rows is missing.
  core::Status settle();

  // The families that the conditions mean, in the order of their values.
  [[nodiscard]] std::vector<std::size_t> families() const;

  // The sizes to ask a family for: those that were named, once for each combination of its rows'
  // values of those that were left open.
  [[nodiscard]] std::vector<std::vector<double>> sizes(std::size_t family) const;

  [[nodiscard]] std::vector<std::string> open_sizes() const;

  // The error for conditions that no family meets, each of which some family meets.
  [[nodiscard]] core::Error no_family(const std::vector<Condition>& conditions) const;

 private:
  core::Status take_exact(std::size_t number, const std::string& value);
  [[nodiscard]] std::string resolved(const std::string& name) const;
  [[nodiscard]] bool is_taken(const std::string& name) const;
  [[nodiscard]] core::Error no_column(const std::string& name) const;
  [[nodiscard]] core::Error no_value(const ExactColumn& column, const std::string& value) const;
  const WorkRows* rows_;
  // Of each size, the least and the greatest value; copies share them.
  std::shared_ptr<const std::vector<std::pair<double, double>>> ranges_;
  std::vector<std::optional<double>> sizes_;
  std::vector<std::vector<std::uint32_t>> exact_;  // the allowed values; empty for all
};

// A number of at least 0.
core::Result<double> size_of(const std::string& column, const std::string& text);

}  // namespace assay::store
