// Which families and sizes of a table the conditions of a query mean.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/answers/query.h"

namespace assay::store {

// What the rows of a table have of a size.
struct SizeRange {
  double least = 0;
  double greatest = 0;
  bool counts = false;  // tokens, heads, elements: all values are whole numbers

  [[nodiscard]] bool takes(double size) const;

  // "a whole number of at least 1"
  [[nodiscard]] std::string wanted() const;
};

class Matcher {
 public:
  explicit Matcher(const WorkRows& rows, ColumnShown column_shown = nullptr);

  // Errors: those of check(), or the table has no such exact value.
  core::Status take(const Condition& condition);

  // Fails for a condition that is none, whatever rows there are: there is no such column, another
  // condition has it already, the value is no number or no data type.
  [[nodiscard]] core::Status check(const Condition& condition) const;

  // Precondition: the table has this size.
  [[nodiscard]] const SizeRange& range_of(const std::string& size) const;

  // Fails where the text is no number that this size takes.
  [[nodiscard]] core::Result<double> size_of(const std::string& column,
                                             const std::string& text) const;

  [[nodiscard]] bool has_column(const std::string& column) const;

  // Returns the column that a name means: "dtype" is "gemm_dtype".
  [[nodiscard]] std::string resolved(const std::string& name) const;

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
  [[nodiscard]] std::vector<std::uint32_t> meant_values(std::size_t number,
                                                        const std::string& value) const;
  [[nodiscard]] std::string shown(const std::string& column) const;
  [[nodiscard]] bool is_taken(const std::string& name) const;
  [[nodiscard]] core::Error no_column(const std::string& name) const;
  [[nodiscard]] core::Error no_value(const ExactColumn& column, const std::string& value) const;
  const WorkRows* rows_;
  ColumnShown shown_;
  std::shared_ptr<const std::vector<SizeRange>> ranges_;  // of each size; copies share them
  std::vector<std::optional<double>> sizes_;
  std::vector<std::vector<std::uint32_t>> exact_;  // the allowed values; empty for all
};

}  // namespace assay::store
