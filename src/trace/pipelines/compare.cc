#include "trace/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "trace/compare/all_runs.h"
#include "trace/compare/final_report.h"
#include "trace/compare/repeated_runs.h"
#include "trace/compare/setting_figures.h"
#include "trace/compare/step_states.h"
#include "trace/compare/timeline_comparison.h"
#include "trace/compare/workbook_charts.h"
#include "trace/page/comparison_page.h"
#include "trace/page/evidence.h"
#include "trace/pipelines/configuration_reader.h"
#include "trace/pipelines/kept_runs.h"
#include "trace/pipelines/prepare.h"
#include "trace/pipelines/reduce.h"
#include "trace/run.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

struct Loaded {
  Configuration configuration;
  model::Warnings warnings;
  std::optional<RunGlimpse> glimpse = std::nullopt;  // of the first run, from its traces
  std::string lost_ranks = {};                       // says which are left out; empty: none
};

Keep keep_of(const CompareRequest& request, bool shows_step) {
  const bool is_own = request.options.compat == Compat::kNone;
  return {.timelines = request.parts != Parts::kCollective,
          .communication = request.parts != Parts::kIndividual,
          .works = is_own && (shows_step || request.final_report)};
}

// Loads one run of a side. Its traces are freed on return.
core::Result<Configuration> load_run(const fs::path& path,
                                     const CompareRequest& request,
                                     core::Progress& progress,
                                     model::Warnings& warnings,
                                     Loaded& side) {
  Configuration run;
  if (request.source == Source::kReports) {
    run = ASSAY_TRY(read_configuration(path, request.parts, request.options.compat));
  } else {
    const fs::path inputs[] = {path};
    const bool shows_step = !side.glimpse && request.options.compat == Compat::kNone;
    const Keep keep = keep_of(request, shows_step);
    ReducedRun reduced = ASSAY_TRY(reduce_files(inputs, request, keep, progress));
    warnings.merge(reduced.warnings());
    run = configuration_of(reduced, request.parts, request.gpus_per_node);
    if (keep.works) {
      const auto execution = std::make_shared<const path::Execution>(
          path::execution_of(std::move(reduced.works), reduced.communication));
      if (shows_step) side.glimpse = glimpse(*execution, reduced.gpu_name());
      if (request.final_report) run.executions = {execution};
    }
  }
  add_lost_ranks(path, lost_ranks_in_words(run.lost_ranks, Showing::kSideBySide), side.lost_ranks);
  if (request.options.compat != Compat::kNone) return run;
  if (auto facts = read_environment(path, warnings))
    run.environments = {{.run = 0, .facts = std::move(*facts)}};
  return run;
}

core::Result<Loaded> load(const fs::path& path,
                          const std::string& label,
                          const CompareRequest& request,
                          core::Progress& progress) {
  Loaded loaded;
  std::vector<Configuration> runs;
  std::vector<int> repeats;
  for (const RunFolder& run : ASSAY_TRY(runs_to_read(path, request, loaded.warnings))) {
    model::Warnings warnings;
    runs.push_back(ASSAY_TRY(load_run(run.path, request, progress, warnings, loaded)));
    merge_warnings(run, warnings, loaded.warnings);
    repeats.push_back(run.repeat);
  }
  std::vector<RepeatedRun> repeated = remove_repeated(runs, repeats);
  loaded.configuration = join_runs(std::move(runs), repeats);
  loaded.configuration.repeated = std::move(repeated);
  loaded.configuration.label = label.empty() ? path_label(path) : label;
  return loaded;
}

void warn_of_environments(const Answer& answer, model::Warnings& warnings) {
  for (const EnvironmentDifference& difference : answer.environment_differences)
    warnings.add("measured with " + in_words(difference),
                 "the comparison may show that difference instead", difference.first_run,
                 difference.runs_differing);
}

std::optional<Headline> headline_of(const Answer& answer, const Sides& sides) {
  const Change& change = answer.headline;
  if (std::isnan(change.baseline) && std::isnan(change.test)) return std::nullopt;
  const Repetition repetition = answer.basis.repetition;
  return Headline{.baseline_ms = change.baseline,
                  .test_ms = change.test,
                  .baseline_mean_ms = answer.mean.baseline,
                  .test_mean_ms = answer.mean.test,
                  .change_percent = change.percent,
                  .change_percent_low = change.percent_low,
                  .change_percent_high = change.percent_high,
                  .mean_change_percent = answer.mean.percent,
                  .mean_change_percent_low = answer.mean.percent_low,
                  .mean_change_percent_high = answer.mean.percent_high,
                  .verdict = timeline_verdict(change, answer.basis),
                  .mean_verdict = timeline_verdict(answer.mean, answer.basis),
                  .baseline_runs = sides.baseline.runs.size(),
                  .test_runs = sides.test.runs.size(),
                  .baseline_steps = answer.baseline_steps,
                  .test_steps = answer.test_steps,
                  .repetition = repetition == Repetition::kNone ? "" : noun(repetition),
                  .baseline_repetitions = change.baseline_count,
                  .test_repetitions = change.test_count,
                  .baseline_transients = answer.baseline_transients,
                  .test_transients = answer.test_transients,
                  .needed = needed_in_words(change, sides.options.criterion, noun(repetition))};
}

std::shared_ptr<ComparisonEvidence> evidence_of(Comparison& comparison,
                                                const Loaded& baseline,
                                                Loaded& test,
                                                const CompareRequest& request,
                                                const model::Warnings& warnings) {
  auto evidence = std::make_shared<ComparisonEvidence>();
  evidence->report = std::move(comparison.final_report);
  evidence->baseline = side_evidence(baseline.configuration);
  evidence->test = side_evidence(test.configuration);
  if (baseline.glimpse) evidence->baseline.glimpse = *baseline.glimpse;
  if (test.glimpse) evidence->test.glimpse = std::move(*test.glimpse);
  evidence->warnings = warnings;
  evidence->provenance = {{"baseline", request.baseline.string()}, {"test", request.test.string()}};
  const std::string& gpu = evidence->baseline.glimpse.gpu_name;
  if (!gpu.empty()) evidence->provenance.emplace_back("GPU", gpu);
  if (!request.written_by.empty())
    evidence->provenance.emplace_back("written by", request.written_by);
  return evidence;
}

// The page stands beside the final workbook, and where the request asks for it.
core::Status write_pages(const CompareRequest& request, CommandResult& result) {
  const auto& formats = request.output.formats;
  const bool beside = request.output.kind == Output::Kind::kFiles && request.final_report &&
                      report::has_pages() &&
                      std::find(formats.begin(), formats.end(), FileFormat::kXlsx) != formats.end();
  std::vector<fs::path> paths;
  if (beside) paths.push_back(request.output.folder / "final_analysis_report.html");
  if (!request.page.empty()) paths.push_back(request.page);
  if (paths.empty()) return {};
  const std::string html =
      ASSAY_TRY(report::page_html(comparison_page(*result.evidence, result.headline)));
  for (fs::path& path : paths) {
    ASSAY_TRY(core::write_file(path, html));
    result.written.push_back(std::move(path));
  }
  return {};
}

core::Status write_books(const Comparison& comparison,
                         const CompareRequest& request,
                         CommandResult& result) {
  const struct {
    bool wanted;
    const model::Book& book;
    const char* name;
  } books[] = {
      {request.gpu_timeline, comparison.timeline_combined, "gpu_timeline_combined"},
      {request.gpu_timeline, comparison.timeline_comparison, "gpu_timeline_comparison"},
      {request.collective, comparison.collective_combined, "collective_combined"},
      {request.collective, comparison.collective_comparison, "collective_comparison"},
      {request.final_report, comparison.final_report, "final_analysis_report"},
  };

  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(request.output.folder));
  for (const auto& [wanted, book, name] : books) {
    if (!wanted || book.tables.empty()) continue;
    for (fs::path& path : ASSAY_TRY(write_book(book, request.output.folder / name, request.output)))
      result.written.push_back(std::move(path));
  }
  return {};
}

std::shared_ptr<const SettingFigures> figures_of_side(const Loaded& side, Compat compat) {
  return std::make_shared<const SettingFigures>(figures_of(side.configuration, compat));
}

model::Warnings with_baseline(const Loaded& baseline, const model::Warnings& warnings) {
  model::Warnings all = baseline.warnings;
  all.merge(warnings);
  return all;
}

// The answer comes first, in the table "summary".
model::Book whole_book(const model::Book& summary, const model::Book& report) {
  model::Book book{.title = report.title, .tables = summary.tables};
  book.tables.insert(book.tables.end(), report.tables.begin(), report.tables.end());
  return book;
}

// The warnings of the result lack those of the baseline, which several tests share.
core::Result<CommandResult> compare_loaded(const Loaded& baseline,
                                           Loaded& test,
                                           const CompareRequest& request) {
  const Sides sides{baseline.configuration,
                    test.configuration,
                    {.compat = request.options.compat,
                     .criterion = {.confidence = request.confidence,
                                   .tolerance_percent = request.tolerance_percent}}};
  ASSAY_TRY(check_sides(sides));
  Comparison comparison = ASSAY_TRY(compare(sides));
  if (request.options.compat == Compat::kNone) add_charts(comparison.collective_comparison);
  CommandResult result;
  result.warnings = test.warnings;
  warn_of_environments(comparison.answer, result.warnings);
  result.headline = headline_of(comparison.answer, sides);
  result.summary.title = "Comparison";
  if (const model::Table* dashboard = comparison.final_report.find("Summary_Dashboard")) {
    result.summary.tables.push_back(terminal_summary(*dashboard, comparison.answer, sides));
  }
  const bool both = !baseline.lost_ranks.empty() && !test.lost_ranks.empty();
  tell_incomplete(baseline.lost_ranks + (both ? "; " : "") + test.lost_ranks, result);
  result.regression = comparison.answer.regression ? Regression::kFound : Regression::kNone;
  result.test_figures = figures_of_side(test, request.options.compat);
  if (request.output.kind == Output::Kind::kBook) {
    result.book = whole_book(result.summary, comparison.final_report);
  } else {
    ASSAY_TRY(write_books(comparison, request, result));
  }
  if (request.options.compat != Compat::kNone) return result;
  result.evidence =
      evidence_of(comparison, baseline, test, request, with_baseline(baseline, result.warnings));
  ASSAY_TRY(write_pages(request, result));
  return result;
}

// Returns which modes count in the comparisons of one baseline with all tests, so that it has the
// same figures in each. A test that cannot be read has no steps; its comparison tells the reason.
core::Result<Modes> modes_of_all(const Loaded& baseline,
                                 std::span<const ComparedTest> tests,
                                 const CompareRequest& request,
                                 core::Progress& progress) {
  CompareRequest brief = request;
  brief.final_report = false;
  const std::vector<RankStep> steps = rank_steps(baseline.configuration.ranks);
  Modes modes = Modes::kUsual;
  for (const ComparedTest& test : tests) {
    const auto loaded = load(test.configuration, test.label, brief, progress);
    ASSAY_TRY(core::check_interrupt());
    if (loaded.ok() &&
        common_modes(steps, rank_steps(loaded.value().configuration.ranks)) == Modes::kAll)
      modes = Modes::kAll;
  }
  return modes;
}

core::Result<CommandResult> compare_with(const Loaded& baseline,
                                         const CompareRequest& request,
                                         core::Progress& progress) {
  Loaded test = ASSAY_TRY(load(request.test, request.test_label, request, progress));
  test.configuration.modes = baseline.configuration.modes;
  return compare_loaded(baseline, test, request);
}

}  // namespace

std::shared_ptr<KeptRuns> keep_for(const CompareRequest& request) {
  return std::make_shared<KeptRuns>(KeptRuns{.keep = keep_of(request, true)});
}

core::Result<CommandResult> run_compare(const CompareRequest& request, core::Progress& progress) {
  Loaded baseline = ASSAY_TRY(load(request.baseline, request.baseline_label, request, progress));
  Loaded test = ASSAY_TRY(load(request.test, request.test_label, request, progress));
  settle_modes(baseline.configuration, test.configuration);
  CommandResult result = ASSAY_TRY(compare_loaded(baseline, test, request));
  result.warnings = with_baseline(baseline, result.warnings);
  return result;
}

core::Result<std::vector<core::Result<CommandResult>>> run_compare_each(
    const CompareRequest& request, std::span<const ComparedTest> tests, core::Progress& progress) {
  CompareRequest shared = request;
  if (shared.kept == nullptr) {
    shared.kept = keep_for(shared);
    shared.kept->damage = FileDamage::kIgnore;
  }
  Loaded baseline = ASSAY_TRY(load(shared.baseline, shared.baseline_label, shared, progress));
  baseline.configuration.modes = ASSAY_TRY(modes_of_all(baseline, tests, shared, progress));
  const auto figures = figures_of_side(baseline, shared.options.compat);
  std::vector<core::Result<CommandResult>> results;
  bool is_first = true;
  for (const ComparedTest& test : tests) {
    CompareRequest own = shared;
    own.test = test.configuration;
    own.test_label = test.label;
    own.output.folder = test.folder;
    auto result = compare_with(baseline, own, progress);
    ASSAY_TRY(core::check_interrupt());
    if (!result.ok() && result.error().is_of_output) return result.error();
    if (result.ok()) {
      result.value().baseline_figures = figures;
      if (std::exchange(is_first, false))
        result.value().warnings = with_baseline(baseline, result.value().warnings);
    }
    results.push_back(std::move(result));
  }
  return results;
}

core::Result<std::vector<fs::path>> write_all_runs(const model::Book& book,
                                                   const CompareRequest& request) {
  if (book.tables.empty()) return std::vector<fs::path>();
  return write_book(book, request.output.folder / kAllRunsReport, request.output);
}

}  // namespace assay::trace
