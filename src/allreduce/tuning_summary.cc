#include "allreduce/tuning_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/text.h"

namespace assay::allreduce {
namespace {

std::size_t count(const std::vector<DecidedSlice>& slices, Why why) {
  std::size_t found = 0;
  for (const DecidedSlice& slice : slices) {
    for (const DecidedRow& row : slice.rows) {
      found += static_cast<std::size_t>(
          std::count_if(row.choices.begin(), row.choices.end(),
                        [&](const Choice& choice) { return choice.why == why; }));
    }
  }
  return found;
}

std::string names_of(const std::vector<Strategy>& strategies) {
  std::vector<std::string> names;
  names.reserve(strategies.size());
  for (const Strategy strategy : strategies)
    names.emplace_back(name_of(strategy));
  return core::join(names, " ");
}

void add_counts(model::Table& table,
                const std::string& name,
                const std::vector<Strategy>& strategies,
                const std::vector<DecidedSlice>& slices) {
  const auto cells = [&](Why why) { return static_cast<std::int64_t>(count(slices, why)); };
  table.add_row({name, names_of(strategies), cells(Why::kFaster), cells(Why::kTie),
                 cells(Why::kKeepsOrder), cells(Why::kAgainstOrder), cells(Why::kOnly),
                 cells(Why::kNoData)});
}

model::Table counts_table(const TunedTables& tables) {
  const LookupTable& lookup = tables.lookup;
  model::Table table{
      .name = "tables",
      .title = "How many cells were decided how",
      .columns = {{.name = "table"}, {.name = "may choose"}},
      .notes = {fmt::format("The lookup table is [{}][{}][{}][{}]: {} of {} cells measured, {}.",
                            lookup.world_sizes.size(), lookup.fusions.size(),
                            lookup.hidden_sizes.size(), lookup.num_tokens.size(),
                            lookup.measured_count(), lookup.cells.size(),
                            name_of(tables.options.data_type))}};
  for (const Why why :
       {Why::kFaster, Why::kTie, Why::kKeepsOrder, Why::kAgainstOrder, Why::kOnly, Why::kNoData}) {
    table.columns.push_back(
        {.name = std::string(name_of(why)), .description = std::string(meaning_of(why))});
  }
  add_counts(table, "strategy table", tables.strategies, tables.choices);
  add_counts(table, "lookup table", tables.public_strategies, tables.public_choices);
  return table;
}

std::string digits_of(std::span<const LookupCell> cells) {
  std::string text;
  for (const LookupCell& cell : cells)
    text += cell.is_measured ? std::to_string(static_cast<int>(cell.strategy)) : "-";
  return text;
}

const TableRow* find_row(const TunedTables& tables, const Cell& cell) {
  for (const TableSlice& slice : tables.table.slices) {
    if (slice.world_size != cell.world_size || slice.fusion != cell.fusion ||
        slice.data_type != cell.data_type) {
      continue;
    }
    for (const TableRow& row : slice.rows) {
      if (row.hidden_size == cell.hidden_size) return &row;
    }
  }
  return nullptr;
}

model::Table rows_table(const TunedTables& tables) {
  model::Table table{
      .name = "rows",
      .title = "The rows of both tables",
      .columns = {{.name = "TP"},
                  {.name = "fusion"},
                  {.name = "hidden size"},
                  {.name = "lookup table",
                   .description = "a strategy's number for each of 1, 2, 4 ... 16384 tokens"},
                  {.name = "strategy table", .description = "by the bytes of a message"}},
      .notes = {"Numbers: 0 NCCL, 4 ONESHOT, 5 TWOSHOT, 8 NCCL_SYMMETRIC, - not measured."}};
  const LookupTable& lookup = tables.lookup;
  const std::size_t width = lookup.num_tokens.size();
  std::size_t at = 0;
  for (const int world_size : lookup.world_sizes) {
    for (const Fusion fusion : lookup.fusions) {
      for (const std::int64_t hidden_size : lookup.hidden_sizes) {
        const std::string digits = digits_of(std::span(lookup.cells).subspan(at, width));
        at += width;
        const TableRow* row = find_row(tables, {.world_size = world_size,
                                                .data_type = tables.options.data_type,
                                                .fusion = fusion,
                                                .hidden_size = hidden_size});
        if (!row && digits.find_first_not_of('-') == std::string::npos) continue;
        table.add_row({static_cast<std::int64_t>(world_size), std::string(name_of(fusion)),
                       hidden_size, digits, row ? segments_text(*row) : ""});
      }
    }
  }
  return table;
}

void add_against_order(model::Table& table,
                       const std::string& name,
                       const std::vector<DecidedSlice>& slices) {
  for (const DecidedSlice& slice : slices) {
    for (const DecidedRow& row : slice.rows) {
      for (const Choice& choice : row.choices) {
        if (choice.why != Why::kAgainstOrder) continue;
        const Timing& second = *choice.runner_up();
        table.add_row({name, static_cast<std::int64_t>(slice.world_size),
                       std::string(name_of(slice.fusion)), row.hidden_size, choice.cell.num_tokens,
                       std::string(name_of(choice.strategy)), choice.chosen()->time_us,
                       std::string(name_of(second.strategy)), second.time_us});
      }
    }
  }
}

model::Table against_order_table(const TunedTables& tables) {
  model::Table table{.name = "against_order",
                     .title = "Where a larger message goes back to an earlier strategy",
                     .columns = {{.name = "table"},
                                 {.name = "TP"},
                                 {.name = "fusion"},
                                 {.name = "hidden size"},
                                 {.name = "tokens"},
                                 {.name = "choice"},
                                 {.name = "time", .unit = "us"},
                                 {.name = "next best"},
                                 {.name = "its time", .unit = "us"}}};
  add_against_order(table, "strategy table", tables.choices);
  add_against_order(table, "lookup table", tables.public_choices);
  return table;
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string segments_text(const TableRow& row) {
  std::vector<std::string> parts;
  for (const TableSegment& segment : row.segments) {
    std::string part(name_of(segment.strategy));
    if (!parts.empty()) part = fmt::format("from {} {}", bytes_text(segment.from_bytes), part);
    parts.push_back(part);
  }
  return core::join(parts, ", ");
}

model::Book tuning_summary(const TunedTables& tables) {
  model::Book book{.title = "All-reduce tables",
                   .tables = {counts_table(tables), rows_table(tables)}};
  model::Table against_order = against_order_table(tables);
  if (!against_order.cells.empty()) book.tables.push_back(std::move(against_order));
  return book;
}

}  // namespace assay::allreduce
