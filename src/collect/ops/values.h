// What declarations of operators are written with.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "collect/plan/operator.h"

namespace assay::collect {

std::vector<model::PerfValue> integers(std::initializer_list<std::int64_t> values);
std::vector<model::PerfValue> texts(std::initializer_list<const char*> values);

// first, first * factor, ..., last.
std::vector<model::PerfValue> powers(std::int64_t first,
                                     std::int64_t last,
                                     std::int64_t factor = 2);

// Tokens in a cache before the new one, so that lengths with it are powers of 2 or 4: 1, 3, 7, ...
std::vector<model::PerfValue> decoding_steps(std::int64_t factor);

// One after the other.
std::vector<model::PerfValue> joined(std::vector<model::PerfValue> first,
                                     const std::vector<model::PerfValue>& second);

AxisGroup::Rows integer_rows(std::initializer_list<std::initializer_list<std::int64_t>> rows);

// What the rows have in a column, each value once.
std::vector<model::PerfValue> column_of(const AxisGroup::Rows& rows, std::size_t column);

// All axes, in their order.
std::vector<model::PerfField> key_of(const Case& point);

}  // namespace assay::collect
