#include "plan/experiments/experiments_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace assay::plan {
namespace {

using model::Better;
using model::Cell;
using model::Table;

// Places in the table below of what answers of one token do not have.
constexpr std::size_t kTpotColumn = 10;
constexpr std::size_t kSpeedColumn = 11;

Table table_of_experiments() {
  return {.name = "experiments",
          .title = "The best deployment of each experiment",
          .columns = {{.name = "experiment"},
                      {.name = "model"},
                      {.name = "engine"},
                      {.name = "limits kept"},
                      {.name = "with a chance of", .unit = "%"},
                      {.name = "one copy"},
                      {.name = "copies"},
                      {.name = "concurrency"},
                      {.name = "tokens/s per GPU", .better = Better::kHigher},
                      {.name = "TTFT", .unit = "ms", .better = Better::kLower},
                      {.name = "TPOT", .unit = "ms", .better = Better::kLower},
                      {.name = "tokens/s per user", .better = Better::kHigher},
                      {.name = "requests", .unit = "1/s", .better = Better::kHigher},
                      {.name = "gpus"},
                      {.name = "system"},
                      {.name = "version"},
                      {.name = "isl"},
                      {.name = "osl"},
                      {.name = "drafted tokens"},
                      {.name = "accepted in the mean"},
                      {.name = "tokens of a step"}}};
}

std::vector<Cell> cells_of(const std::optional<Candidate>& best) {
  constexpr std::size_t kCells = 8;
  if (!best) return std::vector<Cell>(kCells);
  const auto copies = static_cast<double>(best->copies);
  return {best->text(),
          best->copies,
          best->concurrency * best->copies,
          best->cluster_tokens_per_s_per_gpu,
          best->ttft_ms,
          best->tpot_ms,
          best->tokens_per_s_per_user,
          best->requests_per_s * copies};
}

// That of the best deployment, where several were asked for.
std::string engine_of(const ExperimentResult& result) {
  const std::vector<Engine>& asked = result.experiment.engines;
  if (asked.size() == 1) return std::string(name_of(asked.front()));
  return result.best ? std::string(name_of(result.best->engine)) : "any";
}

void add_row(const ExperimentResult& result, Table& table) {
  const Experiment& asked = result.experiment;
  std::vector<Cell> row = {asked.name, result.model, engine_of(result),
                           std::string(result.meets ? "yes" : "no"), 100 * asked.confidence};
  const std::vector<Cell> best = cells_of(result.best);
  row.insert(row.end(), best.begin(), best.end());
  row.insert(row.end(),
             {asked.gpus, asked.system, result.version, asked.prompt_tokens, asked.output_tokens});
  if (asked.speculation.tokens > 0) {
    row.insert(row.end(), {asked.speculation.tokens, asked.speculation.tokens_per_step() - 1});
  } else {
    row.insert(row.end(), 2, Cell());
  }
  const bool has_step = result.best && result.best->step_tokens > 0;
  row.push_back(has_step ? Cell(result.best->step_tokens) : Cell());
  if (asked.output_tokens == 1) row[kTpotColumn] = row[kSpeedColumn] = Cell();
  table.add_row(std::move(row));
}

Table refused_experiments(const std::vector<ExperimentResult>& results) {
  Table table{.name = "refused",
              .title = "Experiments without a deployment",
              .columns = {{.name = "experiment"}, {.name = "why"}}};
  for (const ExperimentResult& one : results) {
    if (!one.best) table.add_row({one.experiment.name, one.refused});
  }
  return table;
}

}  // namespace

model::Book experiments_book(const std::string& title,
                             const std::vector<ExperimentResult>& results) {
  Table table = table_of_experiments();
  for (const ExperimentResult& one : results)
    add_row(one, table);
  const auto is_worse = [](const ExperimentResult& a, const ExperimentResult& b) {
    const auto figure = [](const ExperimentResult& one) {
      return one.meets ? one.best->cluster_tokens_per_s_per_gpu : -1;
    };
    return figure(a) < figure(b);
  };
  const auto best = std::max_element(results.begin(), results.end(), is_worse);
  if (best != results.end() && best->meets)
    table.notes.push_back(
        fmt::format("most tokens/s per GPU within its limits: {}", best->experiment.name));
  if (std::any_of(results.begin(), results.end(),
                  [](const ExperimentResult& one) { return one.best && !one.meets; }))
    table.notes.emplace_back(
        "where limits are not kept, the deployment is the one that comes "
        "closest");
  for (const ExperimentResult& one : results) {
    const std::string bound = one.best ? bound_note(one.best->parts) : std::string();
    if (!bound.empty()) table.notes.push_back(one.experiment.name + ": " + bound);
    for (const std::string& note : one.notes)
      table.notes.push_back(one.experiment.name + ": " + note);
    if (one.best && one.experiment.speculation.tokens > 0)
      table.notes.push_back(one.experiment.name + ": " +
                            speculation_note(one.experiment.speculation));
  }
  model::Book book{.title = title};
  book.tables.push_back(std::move(table));
  Table refused = refused_experiments(results);
  if (refused.row_count() > 0) book.tables.push_back(std::move(refused));
  return book;
}

}  // namespace assay::plan
