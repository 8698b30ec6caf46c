#include "allreduce/borders.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace assay::allreduce {
namespace {

// ln(time of one / time of the other) in this cell; NaN when one was not timed.
double lead(const Choice& cell, Strategy one, Strategy other) {
  const Timing* first = find_timing(cell.timings, one);
  const Timing* second = find_timing(cell.timings, other);
  return first && second ? std::log(first->time_us / second->time_us) : kUnknown;
}

// How far from the smaller cell (0) to the larger (1) the times cross.
double crossing(const Choice& smaller, const Choice& larger) {
  const double before = lead(smaller, smaller.strategy, larger.strategy);
  const double after = lead(larger, smaller.strategy, larger.strategy);
  if (std::isnan(before) || std::isnan(after)) return 0.5;
  if (before >= 0) return 0;
  if (after <= 0) return 1;
  return before / (before - after);
}

bool has_time(const Choice& cell, Strategy strategy) {
  return find_timing(cell.timings, strategy) != nullptr;
}

// Measured ones, and those between them where all that was timed below was timed above, ascending.
std::vector<const Choice*> cells_with_times(const DecidedRow& row) {
  std::vector<const Choice*> cells;
  for (const Choice& choice : row.choices) {
    if (choice.why != Why::kNoData) cells.push_back(&choice);
  }
  const std::vector<const Choice*> measured = cells;
  for (const Choice& choice : row.between) {
    const auto above = std::find_if(measured.begin(), measured.end(),
                                    [&](const Choice* cell) { return choice.cell < cell->cell; });
    if (above != measured.begin() && has_time(choice, (*(above - 1))->strategy)) {
      cells.push_back(&choice);
    }
  }
  std::sort(cells.begin(), cells.end(),
            [](const Choice* a, const Choice* b) { return a->cell < b->cell; });
  return cells;
}

std::int64_t largest_timed_bytes(const DecidedSlice& slice, Strategy strategy) {
  std::int64_t largest = 0;
  for (const DecidedRow& row : slice.rows) {
    for (const Choice& choice : row.choices) {
      if (has_time(choice, strategy)) largest = std::max(largest, choice.cell.size_bytes());
    }
  }
  return largest;
}

TableRow table_row(const DecidedSlice& slice, const DecidedRow& row) {
  TableRow result{.hidden_size = row.hidden_size, .segments = {}};
  const Choice* last = nullptr;
  for (const Choice* choice : cells_with_times(row)) {
    if (!last) {
      result.segments.push_back({.from_bytes = 0, .strategy = choice->strategy});
    } else if (last->strategy != choice->strategy) {
      const std::int64_t largest = largest_timed_bytes(slice, last->strategy);
      result.segments.push_back(
          {.from_bytes = border_bytes(*last, *choice, largest), .strategy = choice->strategy});
    }
    last = choice;
  }
  return result;
}

}  // namespace

std::int64_t border_bytes(const Choice& smaller, const Choice& larger, std::int64_t largest_bytes) {
  const std::int64_t from = smaller.cell.size_bytes();
  const std::int64_t to = larger.cell.size_bytes();
  if (!has_time(larger, smaller.strategy)) {
    return std::clamp<std::int64_t>(largest_bytes + 1, from + 1, to);
  }
  const double ratio = static_cast<double>(to) / static_cast<double>(from);
  const double bytes = static_cast<double>(from) * std::pow(ratio, crossing(smaller, larger));
  return std::clamp<std::int64_t>(std::llround(bytes), from + 1, to);
}

std::vector<TableSlice> table_slices(const std::vector<DecidedSlice>& slices) {
  std::vector<TableSlice> result;
  for (const DecidedSlice& slice : slices) {
    TableSlice table{.world_size = slice.world_size,
                     .fusion = slice.fusion,
                     .data_type = slice.data_type,
                     .rows = {}};
    for (const DecidedRow& row : slice.rows) {
      if (row.has_data()) table.rows.push_back(table_row(slice, row));
    }
    if (!table.rows.empty()) result.push_back(std::move(table));
  }
  return result;
}

}  // namespace assay::allreduce
