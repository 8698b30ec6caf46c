#include "allreduce/decision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "allreduce/time_curves.h"
#include "core/check.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

constexpr std::array<std::string_view, 7> kWhyNames = {
    "faster", "tie", "keeps order", "against order", "only", "no data", "failed"};
constexpr std::array<std::string_view, 7> kWhyMeanings = {
    "faster than all others beyond the tie and their noise",
    "another is as fast within the tie or its noise: of both, the one by which the row loses less",
    "a little slower than the fastest, by less than leaving the order of the row is worth",
    "faster beyond the tie and the noise than the strategy of the next smaller message, though it "
    "comes before that one in order",
    "no other strategy that may be chosen was timed here",
    "nothing was timed here: the choice of the nearest message size of the row, or the fallback",
    "everything that was tried here failed: the fallback"};

// Returns the strategies that may be chosen, and that failed in the cell.
std::vector<Strategy> failed_in(const DecisionOptions& options, const Cell& cell) {
  const auto found = options.failures.find(cell);
  if (found == options.failures.end()) return {};
  std::vector<Strategy> failed;
  std::copy_if(options.strategies.begin(), options.strategies.end(), std::back_inserter(failed),
               [&](Strategy strategy) { return found->second.contains(strategy); });
  return failed;
}

Choice undecided(const Timings& timings, const DecisionOptions& options, const Cell& cell) {
  const auto found = timings.find(cell);
  Choice choice{.cell = cell, .failed = failed_in(options, cell)};
  if (found != timings.end()) choice.timings = found->second;
  if (choice.timings.empty() && !choice.failed.empty()) choice.why = Why::kFailed;
  return choice;
}

void add_failed(Choice& choice, Strategy strategy) {
  if (!choice.has_failed(strategy)) choice.failed.push_back(strategy);
}

// A strategy is not trusted between a size at which it failed and the next one that it was tried
// at. The cells are a row's, in either direction.
template <class Iterator>
void spread_failure(Iterator cell, Iterator end, Strategy strategy) {
  bool has_failed = false;
  for (; cell != end; ++cell) {
    if (find_timing(cell->timings, strategy)) {
      has_failed = false;
    } else if (has_failed || cell->has_failed(strategy)) {
      has_failed = true;
      add_failed(*cell, strategy);
    }
  }
}

void spread_failures(DecidedRow& row, const std::vector<Strategy>& strategies) {
  for (const Strategy strategy : strategies) {
    spread_failure(row.choices.begin(), row.choices.end(), strategy);
    spread_failure(row.choices.rbegin(), row.choices.rend(), strategy);
  }
}

// Returns all slices and rows with their timings; no strategy is chosen yet.
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
        row.choices.push_back(undecided(timings, options,
                                        {.world_size = slice.world_size,
                                         .data_type = slice.data_type,
                                         .fusion = slice.fusion,
                                         .hidden_size = hidden_size,
                                         .num_tokens = num_tokens}));
      }
      if (!options.failures.empty()) spread_failures(row, options.strategies);
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

namespace {

constexpr double kChangePrice = 0.1;  // in ties
constexpr double kBackPrice = 1;      // in ties
constexpr double kCostUnits = 1e9;    // per unit of the natural logarithm

std::int64_t cost_of(double logarithm) {
  return std::llround(logarithm * kCostUnits);
}

// The strategies that may be chosen, in the order of their ranks.
std::vector<Strategy> in_order(const std::vector<Strategy>& strategies) {
  std::vector<Strategy> ordered;
  for (const StrategySpec& spec : kStrategies) {
    const bool allowed =
        std::find(strategies.begin(), strategies.end(), spec.strategy) != strategies.end();
    if (allowed && spec.strategy != Strategy::kAuto) ordered.push_back(spec.strategy);
  }
  std::sort(ordered.begin(), ordered.end(),
            [](Strategy a, Strategy b) { return spec_of(a).rank < spec_of(b).rank; });
  return ordered;
}

// Returns what a strategy loses against the fastest, up to the tie if there is one, and 0 where it
// has no time.
double small_loss(const std::vector<Timing>& timings, Strategy strategy, double tie) {
  const Timing* timing = find_timing(timings, strategy);
  if (timing == nullptr) return 0;
  const double loss = std::log(timing->time_us / timings.front().time_us);
  return tie > 0 ? std::min(loss, std::log1p(tie)) : loss;
}

// Returns the mean over the cell, which counts half, and those beside it.
double mean_small_loss(const Choice& cell, Strategy strategy, double tie) {
  const double own = small_loss(cell.timings, strategy, tie);
  if (cell.beside.empty() || tie == 0) return own;
  double beside = 0;
  for (const std::vector<Timing>& timings : cell.beside)
    beside += small_loss(timings, strategy, tie);
  return (own + beside / static_cast<double>(cell.beside.size())) / 2;
}

// A loss within the tie or the noise costs at most as much as a change, so that one cell is not
// worth one. Many cells are: it is unlikely that noise makes all of them lose.
std::vector<std::int64_t> costs_of(const Choice& cell,
                                   const std::vector<Strategy>& strategies,
                                   double tie) {
  std::vector<std::int64_t> costs;
  for (const Strategy strategy : strategies) {
    const Timing* timing = find_timing(cell.timings, strategy);
    costs.push_back(timing ? cost_of(kChangePrice * mean_small_loss(cell, strategy, tie) +
                                     loss_beyond_noise(*timing, cell.timings.front(), tie))
                           : kImpossible);
  }
  return costs;
}

Why why_chosen(const Choice& choice, const Choice* neighbour, double tie) {
  if (choice.timings.size() == 1) return Why::kOnly;
  const Timing& fastest = choice.timings.front();
  if (loss_beyond_noise(*choice.chosen(), fastest, tie) > 0) return Why::kKeepsOrder;
  if (neighbour && spec_of(choice.strategy).rank < spec_of(neighbour->strategy).rank) {
    const Timing* other = find_timing(choice.timings, neighbour->strategy);
    if (other && loss_beyond_noise(*other, *choice.chosen(), tie) > 0) return Why::kAgainstOrder;
  }
  return is_tie(*choice.runner_up(), *choice.chosen(), tie) ? Why::kTie : Why::kFaster;
}

std::int64_t halfway_by_ratio(std::int64_t one, std::int64_t other) {
  return std::llround(std::sqrt(static_cast<double>(one) * static_cast<double>(other)));
}

// Returns the cell halfway between the two, with the strategies that were timed in both. It has no
// timings if no token count lies between them.
Choice halfway(const Choice& smaller, const Choice& larger) {
  Choice middle{.cell = smaller.cell};
  middle.cell.num_tokens = halfway_by_ratio(smaller.cell.num_tokens, larger.cell.num_tokens);
  if (middle.cell == smaller.cell || middle.cell == larger.cell) return middle;
  const double part =
      part_of_bytes(middle.cell.size_bytes(), smaller.cell.size_bytes(), larger.cell.size_bytes());
  for (const Timing& timing : smaller.timings) {
    const Timing* other = find_timing(larger.timings, timing.strategy);
    if (other) middle.timings.push_back(interpolated(timing, *other, part));
  }
  sort_by_time(middle.timings);
  middle.failed = smaller.failed;
  for (const Strategy strategy : larger.failed)
    add_failed(middle, strategy);
  return middle;
}

std::vector<Choice> halfway_cells(const DecidedRow& row) {
  std::vector<Choice> cells;
  const Choice* smaller = nullptr;
  for (const Choice& choice : row.choices) {
    if (choice.why == Why::kFailed) smaller = nullptr;
    if (choice.timings.empty()) continue;
    if (smaller) {
      Choice cell = halfway(*smaller, choice);
      if (!cell.timings.empty()) cells.push_back(std::move(cell));
    }
    smaller = &choice;
  }
  return cells;
}

// Returns the times of messages with as many bytes at another hidden size.
std::vector<Timing> timings_at(const Choice& choice,
                               std::int64_t hidden_size,
                               const TimeCurves& curves) {
  Cell cell = choice.cell;
  const std::int64_t token_bytes = hidden_size * bytes_of(cell.data_type);
  cell.num_tokens = std::max<std::int64_t>(1, (cell.size_bytes() + token_bytes / 2) / token_bytes);
  cell.hidden_size = hidden_size;
  std::vector<Timing> times;
  for (const Timing& timing : choice.timings) {
    const auto time = curves.at(cell, timing.strategy);
    if (time) times.push_back(*time);
  }
  sort_by_time(times);
  return times;
}

void look_at_hidden_size(DecidedRow& row, std::int64_t hidden_size, const TimeCurves& curves) {
  for (std::vector<Choice>* choices : {&row.choices, &row.between}) {
    for (Choice& choice : *choices) {
      std::vector<Timing> times = timings_at(choice, hidden_size, curves);
      if (!times.empty()) choice.beside.push_back(std::move(times));
    }
  }
}

void look_beside(DecidedSlice& slice, const TimeCurves& curves) {
  for (std::size_t i = 1; i < slice.rows.size(); ++i) {
    DecidedRow& narrower = slice.rows[i - 1];
    DecidedRow& wider = slice.rows[i];
    const std::int64_t middle = halfway_by_ratio(narrower.hidden_size, wider.hidden_size);
    look_at_hidden_size(narrower, middle, curves);
    look_at_hidden_size(wider, middle, curves);
  }
}

void choose_path(const std::vector<Choice*>& cells, const DecisionOptions& options) {
  const std::vector<Strategy> strategies = in_order(options.strategies);
  std::vector<int> ranks;
  ranks.reserve(strategies.size());
  for (const Strategy strategy : strategies)
    ranks.push_back(spec_of(strategy).rank);
  std::vector<std::vector<std::int64_t>> costs;
  costs.reserve(cells.size());
  for (const Choice* choice : cells)
    costs.push_back(costs_of(*choice, strategies, options.tie));
  const auto in_ties = [&](double price) { return cost_of(price * std::log1p(options.tie)); };
  const std::vector<std::size_t> path =
      cheapest_path(costs, ranks, {.change = in_ties(kChangePrice), .back = in_ties(kBackPrice)});
  for (std::size_t i = 0; i < cells.size(); ++i)
    cells[i]->strategy = strategies[path[i]];
}

void choose_measured(const std::vector<Choice*>& measured,
                     std::vector<Choice>& between,
                     const DecisionOptions& options) {
  std::vector<Choice*> cells = measured;
  for (Choice& cell : between)
    cells.push_back(&cell);
  std::sort(cells.begin(), cells.end(),
            [](const Choice* a, const Choice* b) { return a->cell < b->cell; });
  choose_path(cells, options);
  for (std::size_t i = 0; i < measured.size(); ++i)
    measured[i]->why = why_chosen(*measured[i], i == 0 ? nullptr : measured[i - 1], options.tie);
  for (Choice& cell : between)
    cell.why = why_chosen(cell, nullptr, options.tie);
}

// Returns the cell that is nearest by the ratio of bytes, the smaller of two equally near.
const Choice* nearest(const std::vector<Choice*>& cells, const Cell& cell) {
  const auto distance = [&](const Choice* choice) {
    return std::abs(std::log2(static_cast<double>(choice->cell.num_tokens) /
                              static_cast<double>(cell.num_tokens)));
  };
  const auto found =
      std::min_element(cells.begin(), cells.end(),
                       [&](const Choice* a, const Choice* b) { return distance(a) < distance(b); });
  return found == cells.end() ? nullptr : *found;
}

template <class Condition>
std::vector<Choice*> cells_where(DecidedRow& row, const Condition& holds) {
  std::vector<Choice*> cells;
  for (Choice& choice : row.choices) {
    if (holds(choice)) cells.push_back(&choice);
  }
  return cells;
}

void decide_row(DecidedRow& row, const DecisionOptions& options) {
  const std::vector<Choice*> measured =
      cells_where(row, [](const Choice& cell) { return !cell.timings.empty(); });
  choose_measured(measured, row.between, options);
  const std::vector<Choice*> tried = cells_where(
      row, [](const Choice& cell) { return !cell.timings.empty() || cell.why == Why::kFailed; });
  for (Choice& choice : row.choices) {
    if (!choice.timings.empty()) continue;
    choice.strategy = options.fallback;
    if (choice.why == Why::kFailed) continue;
    const Choice* neighbour = nearest(tried, choice.cell);
    if (neighbour && neighbour->why != Why::kFailed) choice.strategy = neighbour->strategy;
  }
}

}  // namespace

std::vector<DecidedSlice> decide(const Timings& timings, const DecisionOptions& options) {
  return decide(timings, timings, options);
}

std::vector<DecidedSlice> decide(const Timings& timings,
                                 const Timings& beside,
                                 const DecisionOptions& options) {
  const Timings allowed = restricted(timings, options.strategies);
  const TimeCurves curves(restricted(beside, options.strategies), options.failures);
  std::vector<DecidedSlice> slices = layout(allowed, options);
  for (DecidedSlice& slice : slices) {
    for (DecidedRow& row : slice.rows)
      row.between = halfway_cells(row);
    look_beside(slice, curves);
    for (DecidedRow& row : slice.rows)
      decide_row(row, options);
  }
  return slices;
}

namespace {

class RowSearch {
 public:
  RowSearch(const std::vector<std::vector<std::int64_t>>& costs,
            const std::vector<int>& ranks,
            const RowPrices& prices)
      : costs_(costs), ranks_(ranks), prices_(prices), ahead_(costs) {
    for (std::size_t cell = costs.size(); cell-- > 1;) {
      for (std::size_t state = 0; state < ranks.size(); ++state) {
        const std::size_t next = best_after(state, cell);
        ahead_[cell - 1][state] = std::min(
            kImpossible, costs_[cell - 1][state] + price(state, next) + ahead_[cell][next]);
      }
    }
  }

  [[nodiscard]] std::size_t first() const {
    const auto& start = ahead_.front();
    return static_cast<std::size_t>(std::min_element(start.begin(), start.end()) - start.begin());
  }

  // Returns the best state of `cell` after `previous`: the same state unless another is cheaper.
  [[nodiscard]] std::size_t best_after(std::size_t previous, std::size_t cell) const {
    std::size_t best = previous;
    for (std::size_t state = 0; state < ranks_.size(); ++state) {
      if (price(previous, state) + ahead_[cell][state] <
          price(previous, best) + ahead_[cell][best]) {
        best = state;
      }
    }
    return best;
  }

 private:
  [[nodiscard]] std::int64_t price(std::size_t from, std::size_t to) const {
    if (from == to) return 0;
    return prices_.change + (ranks_[to] < ranks_[from] ? prices_.back : 0);
  }

  const std::vector<std::vector<std::int64_t>>& costs_;
  const std::vector<int>& ranks_;
  const RowPrices& prices_;
  std::vector<std::vector<std::int64_t>> ahead_;  // the least cost from a cell to the row's end
};

}  // namespace

std::vector<std::size_t> cheapest_path(const std::vector<std::vector<std::int64_t>>& costs,
                                       const std::vector<int>& ranks,
                                       const RowPrices& prices) {
  if (costs.empty()) return {};
  const RowSearch search(costs, ranks, prices);
  std::vector<std::size_t> path{search.first()};
  for (std::size_t cell = 1; cell < costs.size(); ++cell)
    path.push_back(search.best_after(path.back(), cell));
  for (std::size_t cell = 0; cell < costs.size(); ++cell)
    ASSAY_CHECK(costs[cell][path[cell]] < kImpossible, "a cell without a possible state");
  return path;
}

std::string names_of(const std::vector<Strategy>& strategies, std::string_view separator) {
  std::vector<std::string> names;
  names.reserve(strategies.size());
  for (const Strategy strategy : strategies)
    names.emplace_back(name_of(strategy));
  return core::join(names, separator);
}

}  // namespace assay::allreduce
