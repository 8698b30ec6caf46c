#include "trace/pipelines/configuration_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/files.h"
#include "report/book.h"
#include "trace/compare/combine.h"
#include "trace/pipelines/prepare.h"
#include "trace/sheets/steps_table.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReportSuffix = "_individual_report.json";

core::Error missing(const fs::path& what, const fs::path& configuration) {
  return core::Error{fmt::format(
      "cannot read '{}': run 'assay trace analyze {}' first, or leave --skip-tracelens away",
      what.string(), configuration.string())};
}

fs::path analysis_folder(const fs::path& configuration) {
  const fs::path folder = configuration_folder(configuration);
  return core::is_folder(folder / kIndividualFolder) || core::is_folder(folder / kCollectiveFolder)
             ? folder
             : folder / kAnalysisFolder;
}

// Returns N of "rankN_individual_report.json".
std::optional<int> report_rank(std::string_view name) {
  if (!name.starts_with("rank") || !name.ends_with(kReportSuffix)) return std::nullopt;
  name.remove_prefix(4);
  name.remove_suffix(kReportSuffix.size());
  int rank = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return rank;
}

// Reports of the other mode have other columns, and may include defects that this mode avoids.
core::Status check_mode(const model::Book& book, const fs::path& path, Compat compat) {
  const bool right = book.find("excluded_work") != nullptr;
  if (right == (compat == Compat::kNone)) return {};
  return core::Error{fmt::format("'{}' was made {} --compat tracelens: analyse again {} it",
                                 path.string(), right ? "without" : "with",
                                 right ? "with" : "without")};
}

core::Result<std::vector<RankReport>> read_rank_reports(const fs::path& configuration,
                                                        Compat compat) {
  const fs::path folder = analysis_folder(configuration) / kIndividualFolder;
  if (!core::is_folder(folder)) return missing(folder, configuration);
  std::vector<RankReport> reports;
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    const std::optional<int> rank = report_rank(name.string());
    if (!rank) continue;
    const std::vector<std::string> tables{"gpu_timeline", "gpu_timeline_steps", kStepsSheet,
                                          "excluded_work", "inference_steps"};
    model::Book book = ASSAY_TRY(report::read_json(folder / name, tables));
    ASSAY_TRY(check_mode(book, folder / name, compat));
    if (book.find("gpu_timeline") == nullptr) {
      return core::Error{
          fmt::format("'{}' has no table 'gpu_timeline': analyse again", (folder / name).string())};
    }
    reports.push_back({*rank, std::move(book)});
  }
  if (reports.empty()) return missing(folder / "rank0_individual_report.json", configuration);
  std::sort(reports.begin(), reports.end(),
            [](const RankReport& a, const RankReport& b) { return a.rank < b.rank; });
  return reports;
}

LeftOut left_out_of(const std::vector<RankReport>& reports) {
  LeftOut left_out;
  for (const RankReport& report : reports) {
    const model::Table* table = report.book.find("excluded_work");
    if (table == nullptr || table->columns.size() < 3) continue;
    for (std::size_t row = 0; row < table->row_count(); ++row) {
      const std::string kind = model::text(table->at(row, 0));
      const auto* count = std::get_if<std::int64_t>(&table->at(row, 1));
      const std::int64_t kernels = count != nullptr ? *count : 0;
      const double ms = model::number(table->at(row, 2));
      if (kind == "leaked") {
        left_out.leaked_kernels += kernels;
        left_out.leaked_ms += ms;
      } else if (kind == "outside") {
        left_out.outside_kernels += kernels;
        left_out.outside_ms += ms;
      }
    }
  }
  return left_out;
}

// What a run lost is told by the reports of all its ranks, of which the caller may have asked for
// either. Runs that lost nothing have no such table.
core::Result<std::vector<LostRank>> read_lost_ranks(const fs::path& configuration) {
  const fs::path folder = analysis_folder(configuration);
  for (const fs::path& report :
       {folder / kRanksReportName, folder / kCollectiveFolder / kCollectiveReportName}) {
    const fs::path file = report.string() + ".json";
    if (!core::is_regular_file(file)) continue;
    const model::Book book = ASSAY_TRY(report::read_json(file, {kIncompleteRanks}));
    if (const model::Table* table = book.find(kIncompleteRanks)) return lost_ranks_of(*table);
  }
  return std::vector<LostRank>{};
}

// A rank whose trace was cut off has a report of its own, whose figures are no others' match.
core::Status leave_out(const std::vector<LostRank>& lost,
                       const fs::path& configuration,
                       std::vector<RankReport>& reports) {
  std::erase_if(reports, [&](const RankReport& report) {
    return std::any_of(lost.begin(), lost.end(),
                       [&](const LostRank& rank) { return rank.rank == report.rank; });
  });
  if (!reports.empty()) return {};
  return core::Error{fmt::format("no rank of '{}' has a trace that is whole: {}",
                                 configuration.string(),
                                 lost_ranks_in_words(lost, Showing::kEachAlone))};
}

// Returns the folder of the run; `path` may also be its torch_profiler or analysis folder.
fs::path own_folder(const fs::path& path) {
  const fs::path folder = configuration_folder(path);
  return folder.filename() == kAnalysisFolder ? folder.parent_path() : folder;
}

}  // namespace

Configuration configuration_of(const ReducedRun& run,
                               Parts parts,
                               std::optional<int> gpus_per_node) {
  Configuration configuration;
  configuration.lost_ranks = run.lost_ranks;
  if (parts != Parts::kCollective) {
    configuration.ranks = run.timelines;
    configuration.left_out = left_out_of(configuration.ranks);
  }
  if (parts != Parts::kIndividual) {
    CollectiveBook collectives = collective_book(run, gpus_per_node);
    model::make_rows(collectives.book);
    configuration.collectives = std::move(collectives.book);
    std::erase_if(configuration.collectives.tables,
                  [](const model::Table& table) { return table.name == kIncompleteRanks; });
  }
  return configuration;
}

core::Result<Configuration> read_configuration(const fs::path& path, Parts parts, Compat compat) {
  Configuration configuration;
  std::error_code code;
  if (!fs::exists(fs::status(path, code))) {
    return core::Error{fmt::format("cannot read '{}': {}", path.string(), code.message())};
  }
  if (compat == Compat::kNone) configuration.lost_ranks = ASSAY_TRY(read_lost_ranks(path));
  if (parts != Parts::kCollective) {
    configuration.ranks = ASSAY_TRY(read_rank_reports(path, compat));
    ASSAY_TRY(leave_out(configuration.lost_ranks, path, configuration.ranks));
    configuration.left_out = left_out_of(configuration.ranks);
  }
  if (parts != Parts::kIndividual) {
    const fs::path file =
        analysis_folder(path) / kCollectiveFolder / (std::string(kCollectiveReportName) + ".json");
    if (!core::is_regular_file(file)) return missing(file, path);
    configuration.collectives = ASSAY_TRY(report::read_json(file));
    std::erase_if(configuration.collectives.tables,
                  [](const model::Table& table) { return table.name == kIncompleteRanks; });
  }
  return configuration;
}

Configuration join_runs(std::vector<Configuration> runs, const std::vector<int>& repeats) {
  if (repeats.front() == 0) return std::move(runs.front());
  Configuration joined;
  joined.runs = repeats;
  std::vector<model::Book> collectives;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (RankReport& report : runs[i].ranks) {
      report.run = repeats[i];
      joined.ranks.push_back(std::move(report));
    }
    for (LostRank& lost : runs[i].lost_ranks) {
      lost.run = repeats[i];
      joined.lost_ranks.push_back(std::move(lost));
    }
    for (auto& execution : runs[i].executions)
      joined.executions.push_back(std::move(execution));
    for (RunEnvironment& environment : runs[i].environments)
      joined.environments.push_back({repeats[i], std::move(environment.facts)});
    collectives.push_back(std::move(runs[i].collectives));
  }
  joined.collectives = stacked_runs(collectives, repeats);
  if (!joined.ranks.empty()) joined.left_out = left_out_of(joined.ranks);
  return joined;
}

std::optional<model::Facts> read_environment(const fs::path& run_folder,
                                             model::Warnings& warnings) {
  const fs::path file = own_folder(run_folder) / model::kRunRecordFile;
  if (!core::is_regular_file(file)) return std::nullopt;
  const auto book = report::read_json(file, {model::kEnvironmentTable});
  if (!book.ok()) {
    warnings.add("unreadable record of a run",
                 "what it was measured with is not known, nor compared", book.error().message);
    return std::nullopt;
  }
  model::Facts facts = model::facts_of(book.value().find(model::kEnvironmentTable));
  return facts.empty() ? std::nullopt : std::optional(std::move(facts));
}

std::string path_label(const fs::path& path) {
  return own_folder(path).filename().string();
}

}  // namespace assay::trace
