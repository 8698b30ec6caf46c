#include "plan/support/support_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"

namespace assay::plan {
namespace {

using model::Cell;
using model::Table;

constexpr std::array<Fidelity, 7> kFidelities = {
    Fidelity::kEngine, Fidelity::kOtherVersion, Fidelity::kKernels, Fidelity::kOtherEngine,
    Fidelity::kScaled, Fidelity::kFormula,      Fidelity::kBound};

Table support_table(const std::vector<ModelSupport>& all) {
  Table table{.name = "support",
              .title = "What can be priced",
              .columns = {{.name = "model"},
                          {.name = "engine"},
                          {.name = "workers"},
                          {.name = "priced"},
                          {.name = "shapes"}}};
  for (const Fidelity fidelity : kFidelities)
    table.columns.push_back({.name = std::string(name_of(fidelity))});
  table.columns.push_back({.name = "missing"});
  for (const ModelSupport& one : all) {
    std::vector<Cell> row = {one.model, std::string(name_of(one.engine)),
                             static_cast<std::int64_t>(one.workers.possible.size()),
                             one.priced_workers(), static_cast<std::int64_t>(one.uses.size())};
    for (const Fidelity fidelity : kFidelities) {
      row.emplace_back(std::int64_t{
          std::count_if(one.uses.begin(), one.uses.end(),
                        [&](const SupportedUse& use) { return use.fidelity == fidelity; })});
    }
    row.emplace_back(one.missing_uses());
    table.add_row(std::move(row));
  }
  table.notes.emplace_back(
      "workers: ways to spread the model over GPUs; priced: those of which every operator has a "
      "price; then operators with their shapes, by what prices them");
  return table;
}

// Operators that the same rows answer for, in the order of a layer.
Table operators_table(const std::vector<ModelSupport>& all) {
  struct Group {
    const ModelSupport* of = nullptr;
    const SupportedUse* first = nullptr;
    std::int64_t shapes = 0;
    std::int64_t measured = 0;
  };

  std::vector<Group> groups;
  for (const ModelSupport& support : all) {
    for (const SupportedUse& one : support.uses) {
      const auto is_same = [&](const Group& group) {
        return group.of == &support && group.first->use.table == one.use.table &&
               group.first->use.op_name == one.use.op_name && group.first->source == one.source;
      };
      auto same = std::find_if(groups.begin(), groups.end(), is_same);
      if (same == groups.end()) same = groups.insert(groups.end(), {&support, &one, 0, 0});
      ++same->shapes;
      same->measured += one.has_key ? 1 : 0;
    }
  }
  Table table{.name = "operators",
              .title = "What prices the operators",
              .columns = {{.name = "engine"},
                          {.name = "table"},
                          {.name = "operator"},
                          {.name = "shapes"},
                          {.name = "measured"},
                          {.name = "fidelity"},
                          {.name = "source"}}};
  for (const Group& group : groups) {
    const SupportedUse& one = *group.first;
    table.add_row({std::string(name_of(group.of->engine)), one.use.table, one.use.op_name,
                   group.shapes, group.measured,
                   one.is_missing() ? "missing" : std::string(name_of(*one.fidelity)), one.source});
  }
  table.notes.emplace_back("measured: shapes that have rows of their own; others are derived");
  const bool has_scaled = std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return group.first->fidelity == Fidelity::kScaled;
  });
  if (has_scaled) {
    table.notes.emplace_back(
        "scaled: nobody measured so many GPUs; rows of 2 and 4 tell by the operation's peers and "
        "bus factor, with one sigma of 14 to 25 %");
  }
  const bool has_bounds = std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return group.first->fidelity == Fidelity::kBound;
  });
  if (has_bounds) {
    table.notes.emplace_back(
        "lower bound: bytes over bandwidth, of operators that compute, too; no table has rows of "
        "them, and no command measures them yet");
  }
  return table;
}

std::string text_of(const std::vector<Worker>& workers) {
  const std::string first = workers.front().text();
  return workers.size() == 1 ? first : fmt::format("{} and {} more", first, workers.size() - 1);
}

// "nccl all_gather"
std::string operator_text(const serving::OperatorUse& use) {
  return use.op_name == use.op ? use.op : use.op + " " + use.op_name;
}

Table missing_table(const std::vector<ModelSupport>& all) {
  Table table{.name = "missing",
              .title = "What has no price",
              .columns = {{.name = "model"},
                          {.name = "engine"},
                          {.name = "operator"},
                          {.name = "shape"},
                          {.name = "workers"}}};
  for (const ModelSupport& support : all) {
    for (const SupportedUse& one : support.uses) {
      if (!one.is_missing()) continue;
      table.add_row({support.model, std::string(name_of(support.engine)), operator_text(one.use),
                     serving::key_text(one.use), text_of(one.workers)});
    }
  }
  return table;
}

std::string command_for(const MissingMeasurements& missing, const std::string& config) {
  std::vector<std::string> gpus;
  for (const std::int64_t number : missing.gpus)
    gpus.push_back(std::to_string(number));
  std::string beside =
      missing.uncollected.empty()
          ? ""
          : fmt::format("assay measures no {} yet; engines' own tables may have it",
                        core::join(missing.uncollected, ", "));
  if (missing.operators.empty()) return beside;
  return fmt::format("assay collect {} --for-model {} --tp {} -o perf{}{}",
                     core::join(missing.operators, " "), config, core::join(gpus, ","),
                     beside.empty() ? "" : "; ", beside);
}

Table commands_table(const std::vector<ModelSupport>& all,
                     const std::map<std::string, std::string>& configs) {
  Table table{.name = "collect",
              .title = "What measures it",
              .columns = {{.name = "model"}, {.name = "command"}}};
  table.notes.emplace_back(
      "on these GPUs; 'assay store place perf/perf.db' then puts the rows where --systems-paths "
      "finds them");
  std::map<std::string, std::vector<const ModelSupport*>> models;
  for (const ModelSupport& support : all) {
    if (support.wants_rows()) models[support.model].push_back(&support);
  }
  for (const auto& [name, engines] : models)
    table.add_row({name, command_for(measurements_for(engines), configs.at(name))});
  return table;
}

Table excluded_table(const std::vector<ModelSupport>& all) {
  // The first worker that a reason rules out, and how many it does.
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<std::string, std::int64_t>>
      reasons;
  for (const ModelSupport& support : all) {
    for (const ExcludedWorker& excluded : support.workers.excluded) {
      auto& [first, count] =
          reasons[{support.model, std::string(name_of(support.engine)), excluded.reason}];
      if (count++ == 0) first = excluded.worker.text();
    }
  }
  Table table{.name = "ruled out",
              .title = "Workers that the model or the engine rules out",
              .columns = {{.name = "model"},
                          {.name = "engine"},
                          {.name = "workers"},
                          {.name = "the first"},
                          {.name = "why"}}};
  for (const auto& [key, workers] : reasons) {
    table.add_row(
        {std::get<0>(key), std::get<1>(key), workers.second, workers.first, std::get<2>(key)});
  }
  return table;
}

}  // namespace

model::Book support_book(const std::string& title,
                         const std::vector<ModelSupport>& all,
                         const std::map<std::string, std::string>& configs) {
  model::Book book{.title = title};
  book.tables.push_back(support_table(all));
  std::set<std::string> models;
  for (const ModelSupport& one : all)
    models.insert(one.model);
  if (models.size() == 1) book.tables.push_back(operators_table(all));
  if (std::any_of(all.begin(), all.end(),
                  [](const ModelSupport& one) { return one.missing_uses() > 0; })) {
    book.tables.push_back(missing_table(all));
  }
  if (std::any_of(all.begin(), all.end(), [](const ModelSupport& one) { return one.wants_rows(); }))
    book.tables.push_back(commands_table(all, configs));
  if (models.size() == 1) {
    Table excluded = excluded_table(all);
    if (excluded.row_count() > 0) book.tables.push_back(std::move(excluded));
  }
  return book;
}

}  // namespace assay::plan
