#include "allreduce/tuning.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "allreduce/estimates.h"
#include "core/counted.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

std::vector<Strategy> public_ones(const std::vector<Strategy>& strategies) {
  std::vector<Strategy> kept;
  std::copy_if(strategies.begin(), strategies.end(), std::back_inserter(kept),
               [](Strategy strategy) { return spec_of(strategy).is_public; });
  return kept;
}

DecisionOptions decision_options(const TuningOptions& options,
                                 const std::vector<Strategy>& strategies,
                                 const Failures& failures = {}) {
  return {.strategies = strategies,
          .tie = options.tie,
          .fallback = options.fallback,
          .failures = failures};
}

std::vector<DecidedSlice> lookup_choices(const TunedTables& tables) {
  const TuningOptions& options = tables.options;
  DecisionOptions decision =
      decision_options(options, tables.public_strategies, bucket_failures(tables.failures));
  decision.hidden_sizes = {kPublicHiddenSizes.begin(), kPublicHiddenSizes.end()};
  decision.num_tokens = {kPublicTokens.begin(), kPublicTokens.end()};
  decision.fallback = options.lookup_fallback;
  const Timings timings = restricted(tables.timings, tables.public_strategies);
  // The shapes served tell nothing of the messages that other entries answer for.
  return decide(bucket_timings(timings, options.served, tables.failures),
                bucket_timings(timings, {}, tables.failures), decision);
}

bool any_timed(const Timings& timings) {
  return std::any_of(timings.begin(), timings.end(),
                     [](const auto& entry) { return !entry.second.empty(); });
}

core::Error all_outside(const TuningOptions& options) {
  const Thresholds& limits = options.thresholds;
  return core::Error{
      fmt::format("no time of {} launches is within the thresholds: tokens from {} to {} "
                  "(--min-tokens, --max-tokens), hidden sizes from {} to {} (--min-hidden, "
                  "--max-hidden)",
                  name_of(options.launch), limits.min_tokens, limits.max_tokens, limits.min_hidden,
                  limits.max_hidden)};
}

}  // namespace

core::Result<TunedTables> tune(const Benchmark& benchmark,
                               const TuningOptions& options,
                               const std::string& provenance) {
  TunedTables tables{.options = options, .timings = {}};
  Benchmark inside{.sm_version = benchmark.sm_version, .measurements = {}};
  std::copy_if(benchmark.measurements.begin(), benchmark.measurements.end(),
               std::back_inserter(inside.measurements), [&](const Measurement& measurement) {
                 return options.thresholds.keep(measurement.cell);
               });
  tables.outside_thresholds = benchmark.measurements.size() - inside.measurements.size();
  tables.timings = timings_of(inside, options.launch, options.noise);
  tables.decided_on = with_gaps_filled(tables.timings, inside, options.launch);
  tables.failures = failures_of(inside, options.launch);
  const bool named = !options.strategies.empty();
  tables.strategies = named ? options.strategies : all_strategies();
  tables.public_strategies = named ? public_ones(options.strategies) : options.lookup_strategies;
  if (!any_timed(tables.timings)) {
    if (any_timed(timings_of(benchmark, options.launch, options.noise)))
      return all_outside(options);
    return core::Error{
        fmt::format("no measurement of {} launches succeeded: there is nothing to "
                    "choose from",
                    name_of(options.launch))};
  }
  if (!any_timed(restricted(tables.timings, tables.strategies))) {
    return core::Error{"none of the strategies that may be chosen was timed"};
  }
  tables.choices =
      decide(tables.decided_on, decision_options(options, tables.strategies, tables.failures));
  tables.public_choices = lookup_choices(tables);
  tables.table = {.sm_version = benchmark.sm_version,
                  .launch = options.launch,
                  .fallback = options.fallback,
                  .provenance = provenance,
                  .slices = table_slices(tables.choices)};
  tables.lookup = lookup_table_of(tables.public_choices, options.data_type, benchmark.sm_version,
                                  options.lookup_fallback);
  add_estimates(tables);
  return tables;
}

std::vector<int> missing_world_sizes(const LookupTable& table) {
  std::vector<int> missing;
  const std::size_t count = table.cells.size() / table.world_sizes.size();
  for (std::size_t i = 0; i < table.world_sizes.size(); ++i) {
    const auto from = table.cells.begin() + static_cast<std::ptrdiff_t>(i * count);
    const bool measured = std::any_of(from, from + static_cast<std::ptrdiff_t>(count),
                                      [](const LookupCell& cell) { return cell.is_measured; });
    if (!measured) missing.push_back(table.world_sizes[i]);
  }
  return missing;
}

namespace {

// Returns by how many us `one` takes longer than `other` in a cell that both were timed in.
double excess(const Choice& cell, Strategy one, Strategy other) {
  return find_timing(cell.timings, one)->time_us - find_timing(cell.timings, other)->time_us;
}

// Returns the part of the way from the smaller cell (0) to the larger (1) where the times cross.
// Both strategies were timed in both cells.
double crossing(const Choice& smaller, const Choice& larger) {
  const double before = excess(smaller, smaller.strategy, larger.strategy);
  const double after = excess(larger, smaller.strategy, larger.strategy);
  if (before >= 0) return 0;
  if (after <= 0) return 1;
  return before / (before - after);
}

bool has_time(const Choice& cell, Strategy strategy) {
  return find_timing(cell.timings, strategy) != nullptr;
}

// Returns the cells in which something was tried, in ascending order.
std::vector<const Choice*> tried_cells(const DecidedRow& row) {
  std::vector<const Choice*> cells;
  for (const Choice& choice : row.choices) {
    if (choice.why != Why::kNoData) cells.push_back(&choice);
  }
  return cells;
}

// Returns these and the cells between them that have a time of the strategy chosen in the one
// below.
std::vector<const Choice*> cells_of_borders(const DecidedRow& row) {
  const std::vector<const Choice*> measured = tried_cells(row);
  std::vector<const Choice*> cells = measured;
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
  for (const Choice* choice : cells_of_borders(row)) {
    if (!last) {
      result.segments.push_back({.from_bytes = 0, .strategy = choice->strategy});
    } else if (last->strategy != choice->strategy) {
      const std::int64_t largest = largest_timed_bytes(slice, last->strategy);
      result.segments.push_back(
          {.from_bytes = border_bytes(*last, *choice, largest), .strategy = choice->strategy});
    }
    if (choice->why != Why::kFailed) result.measured_to_bytes = choice->cell.size_bytes();
    last = choice;
  }
  return result;
}

}  // namespace

std::int64_t border_bytes(const Choice& smaller, const Choice& larger, std::int64_t largest_bytes) {
  const std::int64_t from = smaller.cell.size_bytes();
  const std::int64_t to = larger.cell.size_bytes();
  if (larger.has_failed(smaller.strategy)) return from + 1;
  if (smaller.has_failed(larger.strategy)) return to;
  if (!has_time(larger, smaller.strategy)) {
    return std::clamp<std::int64_t>(largest_bytes + 1, from + 1, to);
  }
  const double bytes =
      has_time(smaller, larger.strategy)
          ? static_cast<double>(from) + crossing(smaller, larger) * static_cast<double>(to - from)
          : std::sqrt(static_cast<double>(from) * static_cast<double>(to));
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

namespace {

void add_other_world_sizes(TunedTables& tables) {
  for (TableSlice& slice : table_slices(tables.estimated_choices)) {
    slice.origin = Origin::kExtrapolated;
    slice.from_world_size = nearest_world_size(
        measured_world_sizes(tables.timings, slice.data_type, slice.fusion), slice.world_size);
    tables.table.slices.push_back(std::move(slice));
  }
}

}  // namespace

void add_estimates(TunedTables& tables) {
  std::vector<int> world_sizes(kMostRanks - kFewestRanks + 1);
  std::iota(world_sizes.begin(), world_sizes.end(), kFewestRanks);
  tables.estimated_failures = extrapolated_failures(tables.failures, tables.timings, world_sizes);
  const DecisionOptions options =
      decision_options(tables.options, tables.strategies, tables.estimated_failures);
  tables.estimated_choices = decide(
      extrapolated_timings(tables.decided_on, world_sizes, tables.table.sm_version), options);
  add_other_world_sizes(tables);
}

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

void add_counts(model::Table& table,
                const std::string& name,
                const std::vector<Strategy>& strategies,
                const std::vector<DecidedSlice>& slices) {
  const auto cells = [&](Why why) { return static_cast<std::int64_t>(count(slices, why)); };
  table.add_row({name, names_of(strategies, " "), cells(Why::kFaster), cells(Why::kTie),
                 cells(Why::kKeepsOrder), cells(Why::kAgainstOrder), cells(Why::kOnly),
                 cells(Why::kNoData), cells(Why::kFailed)});
}

// Returns "3 times (ONESHOT TWOSHOT)": what no run has measured and the table is decided on.
std::string gaps_text(const TunedTables& tables) {
  std::size_t times = 0;
  std::set<Strategy> strategies;
  for (const auto& [cell, of_cell] : restricted(tables.decided_on, tables.strategies)) {
    for (const Timing& timing : of_cell) {
      if (timing.runs > 0) continue;
      ++times;
      strategies.insert(timing.strategy);
    }
  }
  if (times == 0) return "";
  return fmt::format("{} ({})", core::counted(times, "time"),
                     names_of({strategies.begin(), strategies.end()}, " "));
}

model::Table counts_table(const TunedTables& tables) {
  const LookupTable& lookup = tables.lookup;
  model::Table table{
      .name = "tables",
      .title = "How many cells were decided how",
      .columns = {{.name = "table"}, {.name = "may choose"}},
      .notes = {fmt::format("The lookup table is [{}][{}][{}][{}]: {} of {} measured, {}.",
                            lookup.world_sizes.size(), lookup.fusions.size(),
                            lookup.hidden_sizes.size(), lookup.num_tokens.size(),
                            lookup.measured_count(), core::counted(lookup.cells.size(), "cell"),
                            name_of(tables.options.data_type))}};
  for (const Why why : {Why::kFaster, Why::kTie, Why::kKeepsOrder, Why::kAgainstOrder, Why::kOnly,
                        Why::kNoData, Why::kFailed}) {
    table.columns.push_back(
        {.name = std::string(name_of(why)), .description = std::string(meaning_of(why))});
  }
  add_counts(table, "strategy table", tables.strategies, tables.choices);
  add_counts(table, "lookup table", tables.public_strategies, tables.public_choices);
  if (tables.outside_thresholds > 0) {
    table.notes.push_back(fmt::format("Outside of the thresholds, and left out: {}.",
                                      core::counted(tables.outside_thresholds, "measurement")));
  }
  if (const std::string gaps = gaps_text(tables); !gaps.empty()) {
    table.notes.push_back(fmt::format(
        "Without a line in the file, and taken from the sizes before and behind: {}.", gaps));
  }
  return table;
}

std::string digits_of(std::span<const LookupCell> cells) {
  std::string text;
  for (const LookupCell& cell : cells)
    text += cell.is_measured ? std::to_string(static_cast<int>(cell.strategy)) : "-";
  return text;
}

// Returns the segments of a row of the strategy table, or "" where it has no such row.
std::string strategies_at(const TunedTables& tables, const Cell& cell) {
  for (const TableSlice& slice : tables.table.slices) {
    if (slice.world_size != cell.world_size || slice.fusion != cell.fusion ||
        slice.data_type != cell.data_type) {
      continue;
    }
    const char* mark = slice.origin == Origin::kExtrapolated ? " (extrapolated)" : "";
    for (const TableRow& row : slice.rows) {
      if (row.hidden_size == cell.hidden_size) return segments_text(row) + mark;
    }
  }
  return "";
}

// Returns the digits of a row of the lookup table, or "" where it has no such row.
std::string digits_at(const LookupTable& lookup, const Cell& row) {
  const std::size_t width = lookup.num_tokens.size();
  std::size_t at = 0;
  for (const int world_size : lookup.world_sizes) {
    for (const Fusion fusion : lookup.fusions) {
      for (const std::int64_t hidden_size : lookup.hidden_sizes) {
        if (world_size == row.world_size && fusion == row.fusion &&
            hidden_size == row.hidden_size) {
          return digits_of(std::span(lookup.cells).subspan(at, width));
        }
        at += width;
      }
    }
  }
  return "";
}

// Returns the rows that either table has, of the numbers of GPUs that were measured or that the
// lookup table has.
std::set<Cell> rows_shown(const TunedTables& tables) {
  const LookupTable& lookup = tables.lookup;
  std::set<Cell> rows;
  const auto add = [&](int world_size, Fusion fusion, std::int64_t hidden_size) {
    rows.insert({.world_size = world_size,
                 .data_type = tables.options.data_type,
                 .fusion = fusion,
                 .hidden_size = hidden_size});
  };
  for (const int world_size : lookup.world_sizes)
    for (const Fusion fusion : lookup.fusions)
      for (const std::int64_t hidden_size : lookup.hidden_sizes)
        add(world_size, fusion, hidden_size);
  for (const TableSlice& slice : tables.table.slices) {
    const bool is_in_lookup = std::find(lookup.world_sizes.begin(), lookup.world_sizes.end(),
                                        slice.world_size) != lookup.world_sizes.end();
    if (slice.data_type != tables.options.data_type) continue;
    if (slice.origin == Origin::kExtrapolated && !is_in_lookup) continue;
    for (const TableRow& row : slice.rows)
      add(slice.world_size, slice.fusion, row.hidden_size);
  }
  return rows;
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
      .notes = {"Numbers: 0 NCCL, 4 ONESHOT, 5 TWOSHOT, 8 NCCL_SYMMETRIC, - not measured. Rows of "
                "other TP, all extrapolated, are in the JSON."}};
  for (const Cell& shown : rows_shown(tables)) {
    const std::string digits = digits_at(tables.lookup, shown);
    const std::string strategies = strategies_at(tables, shown);
    if (strategies.empty() && digits.find_first_not_of('-') == std::string::npos) continue;
    table.add_row({static_cast<std::int64_t>(shown.world_size), std::string(name_of(shown.fusion)),
                   shown.hidden_size, digits, strategies});
  }
  return table;
}

using CellsOfRow = std::vector<const Choice*> (*)(const DecidedRow& row);

// Adds a line for each cell that takes a strategy of lower rank than the one before it.
void add_against_order(model::Table& table,
                       const std::string& name,
                       const std::vector<DecidedSlice>& slices,
                       CellsOfRow cells_of) {
  for (const DecidedSlice& slice : slices) {
    for (const DecidedRow& row : slice.rows) {
      const Choice* smaller = nullptr;
      for (const Choice* choice : cells_of(row)) {
        if (smaller && spec_of(choice->strategy).rank < spec_of(smaller->strategy).rank) {
          const Timing* chosen = choice->chosen();
          const Timing* second = find_timing(choice->timings, smaller->strategy);
          table.add_row({name, static_cast<std::int64_t>(slice.world_size),
                         std::string(name_of(slice.fusion)), row.hidden_size,
                         choice->cell.num_tokens, std::string(name_of(choice->strategy)),
                         model::cell_of(chosen ? chosen->time_us : kUnknown),
                         std::string(name_of(smaller->strategy)),
                         model::cell_of(second ? second->time_us : kUnknown),
                         std::string(name_of(choice->why))});
        }
        smaller = choice;
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
                                 {.name = "instead of"},
                                 {.name = "its time", .unit = "us"},
                                 {.name = "why"}}};
  add_against_order(table, "strategy table", tables.choices, cells_of_borders);
  add_against_order(table, "extrapolated", tables.estimated_choices, cells_of_borders);
  add_against_order(table, "lookup table", tables.public_choices, tried_cells);
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
