#include "allreduce/decision.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "allreduce/decide_row.h"

namespace assay::allreduce {
namespace {

constexpr std::array<std::string_view, 6> kWhyNames = {"faster",        "tie",  "keeps order",
                                                       "against order", "only", "no data"};
constexpr std::array<std::string_view, 6> kWhyMeanings = {
    "faster than all others beyond the tie and their noise",
    "another is as fast within the tie or its noise: the strategy of the next smaller message, or "
    "the one that spares the row a change",
    "a little slower than the fastest, by less than leaving the order of the row is worth",
    "faster beyond the tie and the noise than the strategy of the next smaller message, though it "
    "comes before that one in order",
    "no other strategy was timed here",
    "nothing was timed here: the choice of the nearest message size of the row, or the fallback"};

// All slices and rows with their timings; nothing chosen yet.
std::vector<DecidedSlice> layout(const Timings& timings, const DecisionOptions& options) {
  using SliceKey = std::tuple<int, DataType, Fusion>;
  std::map<SliceKey, std::map<std::int64_t, std::set<std::int64_t>>> shapes;
  for (const auto& [cell, of_cell] : timings) {
    shapes[{cell.world_size, cell.data_type, cell.fusion}][cell.hidden_size].insert(
        cell.num_tokens);
  }
  std::vector<DecidedSlice> slices;
  for (auto& [key, rows] : shapes) {
    for (const std::int64_t hidden_size : options.hidden_sizes)
      rows[hidden_size];
    DecidedSlice slice{.world_size = std::get<int>(key),
                       .fusion = std::get<Fusion>(key),
                       .data_type = std::get<DataType>(key),
                       .rows = {}};
    for (auto& [hidden_size, tokens] : rows) {
      tokens.insert(options.num_tokens.begin(), options.num_tokens.end());
      DecidedRow row{.hidden_size = hidden_size, .choices = {}};
      for (const std::int64_t num_tokens : tokens) {
        const Cell cell{.world_size = slice.world_size,
                        .data_type = slice.data_type,
                        .fusion = slice.fusion,
                        .hidden_size = hidden_size,
                        .num_tokens = num_tokens};
        const auto found = timings.find(cell);
        row.choices.push_back({.cell = cell});
        if (found != timings.end()) row.choices.back().timings = found->second;
      }
      slice.rows.push_back(std::move(row));
    }
    slices.push_back(std::move(slice));
  }
  return slices;
}

}  // namespace

std::string_view name_of(Why why) {
  return kWhyNames.at(static_cast<std::size_t>(why));
}

std::string_view meaning_of(Why why) {
  return kWhyMeanings.at(static_cast<std::size_t>(why));
}

const Timing* Choice::runner_up() const {
  const auto found = std::find_if(timings.begin(), timings.end(), [&](const Timing& timing) {
    return timing.strategy != strategy;
  });
  return found == timings.end() ? nullptr : &*found;
}

bool DecidedRow::has_data() const {
  return std::any_of(choices.begin(), choices.end(),
                     [](const Choice& choice) { return choice.why != Why::kNoData; });
}

std::vector<DecidedSlice> decide(const Timings& timings, const DecisionOptions& options) {
  std::vector<DecidedSlice> slices = layout(restricted(timings, options.strategies), options);
  for (DecidedSlice& slice : slices) {
    for (DecidedRow& row : slice.rows)
      decide_row(row, options);
  }
  return slices;
}

const Choice* find_choice(const std::vector<DecidedSlice>& slices, const Cell& cell) {
  for (const DecidedSlice& slice : slices) {
    if (slice.world_size != cell.world_size || slice.fusion != cell.fusion ||
        slice.data_type != cell.data_type) {
      continue;
    }
    for (const DecidedRow& row : slice.rows) {
      const auto found = std::find_if(row.choices.begin(), row.choices.end(),
                                      [&](const Choice& choice) { return choice.cell == cell; });
      if (found != row.choices.end()) return &*found;
    }
  }
  return nullptr;
}

std::vector<DecidedSlice> decide_by_smallest_time(const Timings& timings,
                                                  const std::vector<Strategy>& strategies) {
  std::vector<DecidedSlice> slices =
      layout(restricted(timings, strategies), {.strategies = strategies});
  for (DecidedSlice& slice : slices) {
    for (DecidedRow& row : slice.rows) {
      std::erase_if(row.choices, [](const Choice& choice) { return choice.timings.empty(); });
      for (Choice& choice : row.choices) {
        choice.strategy = choice.timings.front().strategy;
        choice.why = choice.timings.size() == 1 ? Why::kOnly : Why::kFaster;
      }
    }
  }
  return slices;
}

std::vector<Strategy> all_strategies() {
  std::vector<Strategy> strategies;
  for (const StrategySpec& spec : kStrategies) {
    if (spec.strategy != Strategy::kAuto) strategies.push_back(spec.strategy);
  }
  return strategies;
}

std::vector<Strategy> public_strategies() {
  return {Strategy::kOneshot, Strategy::kTwoshot, Strategy::kNccl};
}

}  // namespace assay::allreduce
