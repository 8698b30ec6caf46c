#include "allreduce/plot/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "allreduce/plot/drawings.h"
#include "allreduce/plot/heatmaps.h"
#include "core/statistics.h"

namespace assay::allreduce {
namespace {

constexpr const char* kBenchmark = "Benchmark";
constexpr const char* kFusion = "Fusion";
constexpr const char* kHidden = "Hidden size";
constexpr const char* kAllSizes = "all";

// "tp4.sm90" of "benchmark.tp4.sm90".
std::string short_name(const std::string& source) {
  constexpr std::string_view kPrefix = "benchmark.";
  return source.starts_with(kPrefix) ? source.substr(kPrefix.size()) : source;
}

template <class Function>
void each_place(const Grid& grid, const Function& function) {
  for (std::size_t row = 0; row < grid.hidden_sizes.size(); ++row) {
    for (std::size_t column = 0; column < grid.token_counts.size(); ++column)
      function(row, column);
  }
}

report::MapChart empty_map(const Grid& grid, report::MapChart::Scale scale, std::string unit) {
  report::MapChart map{.scale = scale,
                       .x_title = "num_tokens",
                       .y_title = "hidden_size",
                       .unit = std::move(unit),
                       .columns = {},
                       .rows = {},
                       .panels = {}};
  for (const std::int64_t tokens : grid.token_counts)
    map.columns.push_back(std::to_string(tokens));
  for (const std::int64_t hidden : grid.hidden_sizes)
    map.rows.push_back(std::to_string(hidden));
  return map;
}

// Describes how sure a time is, or why there is none.
std::string note_of(const Measurement* one) {
  if (one == nullptr) return "not measured";
  if (one->outcome != Outcome::kOk) {
    std::string note(kOutcomeNames.at(static_cast<std::size_t>(one->outcome)));
    return one->reason.empty() ? note : note + ": " + one->reason;
  }
  if (std::isnan(one->low_us)) return "no interval";
  return fmt::format("{}: {:.3g} to {:.3g} μs, n = {}",
                     confidence_text(interval_confidence(one->samples)), one->low_us, one->high_us,
                     one->samples);
}

// Returns what stands in the place of a time: a cross where the strategy failed.
std::string mark_without_time(const Grid& grid,
                              Strategy strategy,
                              std::size_t row,
                              std::size_t column) {
  if (grid.timed(strategy, row, column) != nullptr) return {};
  return cell_without_time(grid.tried(strategy, row, column)).text;
}

// Explains the crosses of a map that has any.
std::vector<std::string> notes_of_marks(const report::MapChart& map) {
  for (const report::MapPanel& panel : map.panels) {
    for (const std::string& text : panel.texts) {
      if (!text.empty()) return {text + ": wrong result, error or hang."};
    }
  }
  return {};
}

report::MapChart time_map(const Grid& grid) {
  report::MapChart map = empty_map(grid, report::MapChart::Scale::kMagnitude, "μs");
  for (const Strategy strategy : grid.strategies) {
    report::MapPanel panel{.title = std::string(name_of(strategy))};
    each_place(grid, [&](std::size_t row, std::size_t column) {
      const Measurement* one = grid.timed(strategy, row, column);
      panel.values.push_back(one == nullptr ? kUnknown : one->time_us);
      panel.texts.push_back(mark_without_time(grid, strategy, row, column));
      panel.notes.push_back(note_of(grid.tried(strategy, row, column)));
    });
    map.panels.push_back(std::move(panel));
  }
  return map;
}

std::string best_note(const Measurement& best, const Measurement* next) {
  std::string note = fmt::format("{:.3g} μs", best.time_us);
  if (next == nullptr) return note;
  note += fmt::format("; next {}: {:.3g} μs, {:.3g} % more", name_of(next->strategy), next->time_us,
                      kPercent * (next->time_us / best.time_us - 1));
  return are_tied(best, next) ? note + "\na tie: " + tie_text() : note;
}

report::MapChart best_map(const Grid& grid) {
  report::MapChart map = empty_map(grid, report::MapChart::Scale::kCategories, "");
  report::MapPanel panel{.title = ""};
  each_place(grid, [&](std::size_t row, std::size_t column) {
    const Measurement* best = grid.best(row, column);
    const Measurement* next = grid.runner_up(row, column);
    panel.names.emplace_back(best == nullptr ? std::string_view() : name_of(best->strategy));
    panel.texts.emplace_back(best != nullptr && are_tied(*best, next) ? "•" : "");
    panel.notes.push_back(best == nullptr ? "" : best_note(*best, next));
  });
  map.panels = {std::move(panel)};
  for (const Share& share : shares_of(grid))
    map.categories.push_back({std::string(name_of(share.strategy)), color_of(share.strategy)});
  return map;
}

report::MapChart difference_map(const Grid& grid) {
  report::MapChart map = empty_map(grid, report::MapChart::Scale::kDifference, "%");
  for (const Strategy strategy : grid.strategies) {
    report::MapPanel panel{.title = std::string(name_of(strategy))};
    each_place(grid, [&](std::size_t row, std::size_t column) {
      panel.values.push_back(grid.difference_percent(strategy, row, column).value_or(kUnknown));
      panel.texts.push_back(mark_without_time(grid, strategy, row, column));
    });
    map.panels.push_back(std::move(panel));
  }
  return map;
}

report::MapChart regret_map(const Grid& grid, const std::vector<Chooser>& choices) {
  report::MapChart map = empty_map(grid, report::MapChart::Scale::kDifference, "%");
  for (const Chooser& choice : choices) {
    report::MapPanel panel{.title = choice.name};
    each_place(grid, [&](std::size_t row, std::size_t column) {
      panel.values.push_back(regret_percent(grid, choice, row, column).value_or(kUnknown));
      const auto chosen = choice.strategy(cell_of(grid, row, column), grid.launch);
      panel.notes.push_back(chosen ? fmt::format("chooses {}", name_of(*chosen)) : "no choice");
    });
    map.panels.push_back(std::move(panel));
  }
  return map;
}

report::CurveFigure latency_of(const Grid& grid) {
  report::CurveFigure figure = latency_figure(grid);
  figure.x.values = report::Axis::Values::kBytes;
  figure.x.title = "message size";
  return figure;
}

std::string best_title(const Grid& grid) {
  const std::vector<Share> shares = shares_of(grid);
  if (shares.empty()) return "The fastest strategy of each cell";
  return fmt::format("{} is the fastest in {:.3g} % of the cells", name_of(shares.front().strategy),
                     shares.front().percent);
}

// Returns how much slower than the best a choice is, over the cells of some grids.
std::vector<double> regrets(const std::vector<Source>& sources, const Chooser& choice) {
  std::vector<double> found;
  for (const Source& source : sources) {
    for (const Grid& grid : source.grids) {
      each_place(grid, [&](std::size_t row, std::size_t column) {
        if (const auto percent = regret_percent(grid, choice, row, column))
          found.push_back(*percent);
      });
    }
  }
  return found;
}

class Cards {
 public:
  explicit Cards(const std::vector<Chooser>& choices) : choices_({always(Strategy::kNccl)}) {
    choices_.insert(choices_.end(), choices.begin(), choices.end());
  }

  void add(const Source& source, const Grid& grid) {
    const std::string name = short_name(source.name);
    when_ = {{kBenchmark, name}, {kFusion, std::string(name_of(grid.fusion))}};
    prefix_ = name + "." + std::string(name_of(grid.fusion));
    add("best", best_title(grid), best_map(grid),
        fmt::format("A dot: a tie of the fastest two, {}.", tie_text()));
    add_marked("times", "Times of each strategy (μs)", time_map(grid));
    cards_.back().notes.insert(cards_.back().notes.begin(), grid.subject());
    add_marked("difference", "How much slower than the fastest each strategy is (%)",
               difference_map(grid));
    add("regret", "What fixed choices lose against the fastest (%)", regret_map(grid, choices_));
    for (std::string& text : texts_of_arms(choices_))
      cards_.back().notes.push_back(std::move(text));
    add_latencies(grid);
  }

  std::vector<report::PageCard> take() { return std::move(cards_); }

  std::vector<std::string> hidden_sizes() { return hidden_sizes_; }

 private:
  void add(const std::string& kind,
           std::string title,
           report::PageContent content,
           std::string note = {}) {
    report::PageCard card{.id = report::card_id(prefix_ + "." + kind),
                          .title = std::move(title),
                          .content = std::move(content),
                          .when = when_};
    if (!note.empty()) card.notes = {std::move(note)};
    cards_.push_back(std::move(card));
  }

  void add_marked(const std::string& kind, std::string title, report::MapChart map) {
    std::vector<std::string> notes = notes_of_marks(map);
    add(kind, std::move(title), std::move(map));
    cards_.back().notes = std::move(notes);
  }

  void add_latency(const Grid& grid, const std::string& hidden) {
    if (std::find(hidden_sizes_.begin(), hidden_sizes_.end(), hidden) == hidden_sizes_.end())
      hidden_sizes_.push_back(hidden);
    const report::CurveFigure figure = latency_of(grid);
    add("latency." + hidden, "Time over message size", figure, figure.subtitle);
    cards_.back().when.emplace_back(kHidden, hidden);
  }

  void add_latencies(const Grid& grid) {
    add_latency(grid, kAllSizes);
    if (grid.hidden_sizes.size() < 2) return;
    for (const std::int64_t hidden : grid.hidden_sizes) {
      Grid one = grid;
      std::erase_if(one.measurements,
                    [&](const Measurement& m) { return m.cell.hidden_size != hidden; });
      add_latency(one, std::to_string(hidden));
    }
  }

  std::vector<Chooser> choices_;
  std::vector<std::pair<std::string, std::string>> when_;
  std::string prefix_;
  std::vector<report::PageCard> cards_;
  std::vector<std::string> hidden_sizes_;
};

void add_value(report::PageChoice& choice, const std::string& value) {
  if (std::find(choice.values.begin(), choice.values.end(), value) == choice.values.end())
    choice.values.push_back(value);
}

std::vector<report::PageChoice> choices_of(const std::vector<Source>& sources,
                                           std::vector<std::string> hidden_sizes) {
  report::PageChoice benchmark{.name = kBenchmark, .values = {}};
  report::PageChoice fusion{.name = kFusion, .values = {}};
  for (const Source& source : sources) {
    add_value(benchmark, short_name(source.name));
    for (const Grid& grid : source.grids)
      add_value(fusion, std::string(name_of(grid.fusion)));
  }
  return {benchmark, fusion, {.name = kHidden, .values = std::move(hidden_sizes)}};
}

}  // namespace

model::Table measurements_table(const std::vector<Source>& sources) {
  model::Table table{
      .name = "measurements",
      .title = "Every time that the figures show",
      .columns = {
          {.name = "benchmark"},
          {.name = "fusion"},
          {.name = "strategy"},
          {.name = "hidden_size"},
          {.name = "num_tokens"},
          {.name = "size", .unit = "bytes"},
          {.name = "time", .unit = "μs"},
          {.name = "low", .unit = "μs", .description = "end of the interval of the median"},
          {.name = "high", .unit = "μs", .description = "end of the interval of the median"},
          {.name = "samples"},
          {.name = "outcome"}}};
  for (const Source& source : sources) {
    for (const Grid& grid : source.grids) {
      for (const Measurement& one : grid.measurements) {
        const bool ok = one.outcome == Outcome::kOk;
        table.add_row({short_name(source.name), std::string(name_of(grid.fusion)),
                       std::string(name_of(one.strategy)), one.cell.hidden_size,
                       one.cell.num_tokens, one.cell.size_bytes(), model::cell_of(one.time_us),
                       model::cell_of(one.low_us), model::cell_of(one.high_us), one.samples,
                       ok ? std::string("ok") : note_of(&one)});
      }
    }
  }
  return table;
}

std::string answer_of(const std::vector<Source>& sources) {
  std::map<Strategy, std::size_t> wins;
  std::size_t cells = 0;
  std::size_t ties = 0;
  for (const Source& source : sources) {
    for (const Grid& grid : source.grids) {
      each_place(grid, [&](std::size_t row, std::size_t column) {
        const Measurement* best = grid.best(row, column);
        if (best == nullptr) return;
        ++cells;
        ++wins[best->strategy];
        if (are_tied(*best, grid.runner_up(row, column))) ++ties;
      });
    }
  }
  if (cells == 0) return "No strategy has a time.";
  const auto most = std::max_element(
      wins.begin(), wins.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto share = [&](std::size_t count) {
    return kPercent * static_cast<double>(count) / static_cast<double>(cells);
  };
  std::string text = fmt::format(
      "{} is the fastest in {:.3g} % of {} cells (in {:.3g} % of all cells the fastest two are a "
      "tie: {}).",
      name_of(most->first), share(most->second), cells, share(ties), tie_text());
  const std::vector<double> nccl = regrets(sources, always(Strategy::kNccl));
  if (nccl.empty()) return text;
  return text + fmt::format(
                    " Always using NCCL takes {:.3g} % longer than the fastest on average, "
                    "{:.3g} % at worst.",
                    core::mean(nccl), core::maximum(nccl));
}

report::Page page_of(const std::vector<Source>& sources,
                     const std::vector<Chooser>& choices,
                     const std::vector<model::Table>& tables) {
  report::Page page{.title = "All-reduce strategies", .answer = {.sentence = answer_of(sources)}};
  page.answer.next = {
      {"assay allreduce codegen makes a table that chooses the fastest strategy of each message."}};
  Cards cards(choices);
  for (const Source& source : sources) {
    for (const Grid& grid : source.grids)
      cards.add(source, grid);
  }
  for (const Source& source : sources) {
    if (!source.measured_on.empty()) page.provenance.emplace_back(source.name, source.measured_on);
  }
  page.choices = choices_of(sources, cards.hidden_sizes());
  page.cards = cards.take();
  for (const model::Table& table : tables) {
    using Shown = report::TableCard::Shown;
    const Shown shown = table.name == "strategies" ? Shown::kOpen : Shown::kClosed;
    page.cards.push_back({.id = table.name,
                          .title = table.title,
                          .content = report::TableCard{.table = table, .shown = shown}});
  }
  return page;
}

core::Result<std::string> page_html(const std::vector<Source>& sources,
                                    const std::vector<Chooser>& choices) {
  const std::vector<model::Table> tables = {strategies_table(sources), benchmarks_table(sources),
                                            measurements_table(sources)};
  return report::page_html(page_of(sources, choices, tables));
}

}  // namespace assay::allreduce
