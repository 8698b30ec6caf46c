// Lists of values, with which operators are declared.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "collect/plan/operator.h"

namespace assay::collect {

std::vector<model::PerfValue> integers(std::initializer_list<std::int64_t> values);
std::vector<model::PerfValue> texts(std::initializer_list<const char*> values);

// The values first, first * factor, ..., last.
std::vector<model::PerfValue> powers(std::int64_t first,
                                     std::int64_t last,
                                     std::int64_t factor = 2);

// Numbers of tokens in a cache before the new one: with it, lengths are powers of `factor` (2 or 4)
// times 2, so that the values are 1, 3, 7, ...
std::vector<model::PerfValue> decoding_steps(std::int64_t factor);

// Fewer of them, most where prompts of thousands of tokens are decoded.
std::vector<model::PerfValue> decoding_steps_for_models();

// The values of the first list, then those of the second.
std::vector<model::PerfValue> joined(std::vector<model::PerfValue> first,
                                     const std::vector<model::PerfValue>& second);

AxisGroup::Rows integer_rows(std::initializer_list<std::initializer_list<std::int64_t>> rows);

// The values of the rows in a column, each once.
std::vector<model::PerfValue> column_of(const AxisGroup::Rows& rows, std::size_t column);

// The key columns of a row: all axes of the operator, in their order.
std::vector<model::PerfField> key_of(const Case& point);

// The sizes over which products, and the kernels around them, are swept.
std::vector<model::PerfValue> gemm_tokens(Grid grid);
std::vector<model::PerfValue> gemm_widths(Grid grid);

}  // namespace assay::collect
