#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <type_traits>

#include "cli/compared_settings.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/trace_options.h"
#include "cli/version.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/statistics.h"
#include "report/book.h"
#include "report/gnuplot.h"
#include "sweep/command_line.h"
#include "sweep/made_order.h"
#include "sweep/ranking.h"
#include "sweep/run_doubts.h"
#include "sweep/summary.h"
#include "sweep/sweep_folder.h"
#include "trace/compare/all_runs.h"
#include "trace/page/comparison_page.h"
#include "trace/pipelines.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportName = "sweep_report";
constexpr const char* kFigureName = "sweep_ranking";

struct GoodSetting {
  std::string name;
  std::string variables;
  fs::path folder;
};

struct LeftOut {
  std::string setting;
  int repeat = 0;  // 0: all of the setting
  std::string reason;
};

model::Table left_out_table(const std::vector<LeftOut>& left_out) {
  model::Table table{.name = "left_out",
                     .title = "Settings and repeats that are left out",
                     .columns = {{.name = "setting"},
                                 {.name = "repeat", .description = "empty: all of the setting"},
                                 {.name = "reason"}}};
  for (const LeftOut& one : left_out)
    table.add_row(
        {one.setting, one.repeat == 0 ? model::Cell() : std::int64_t{one.repeat}, one.reason});
  return table;
}

// "1 of 3 settings and 2 repeats are left out"
std::string left_out_in_words(const std::vector<LeftOut>& left_out, std::size_t settings) {
  const auto repeats = static_cast<std::size_t>(std::count_if(
      left_out.begin(), left_out.end(), [](const LeftOut& one) { return one.repeat > 0; }));
  std::vector<std::string> words;
  if (const std::size_t whole = left_out.size() - repeats; whole > 0)
    words.push_back(fmt::format("{} of {}", whole, core::counted(settings, "setting")));
  if (repeats > 0) words.push_back(core::counted(repeats, "repeat"));
  return fmt::format("{} {} left out", core::join(words, " and "),
                     left_out.size() == 1 ? "is" : "are");
}

std::vector<GoodSetting> good_settings(const fs::path& sweep,
                                       const sweep::Plan& plan,
                                       const std::vector<sweep::RunRecord>& records) {
  std::vector<GoodSetting> settings;
  for (const sweep::Setting& setting : plan.settings) {
    const bool has_good_run =
        std::any_of(records.begin(), records.end(), [&](const sweep::RunRecord& record) {
          return record.setting == setting.name && record.status == sweep::RunStatus::kOk;
        });
    if (has_good_run)
      settings.push_back({.name = setting.name,
                          .variables = sweep::variables_text(setting.variables),
                          .folder = sweep / setting.name});
  }
  return settings;
}

class SweepReport final : public Command {
 public:
  explicit SweepReport(App& app) {
    app.add_option("SWEEP_DIR", sweep_, "a folder that 'assay sweep run' wrote")->required();
    app.add_option("--baseline", baseline_, "the setting to compare with")
        ->type_name("SETTING")
        ->default_str("the first one that went well");
    add_output_options(app, presentation_, request_, {"SWEEP_DIR"});
    app.add_option("--html", page_,
                   "where the page goes, too; it needs no other file and no network")
        ->check(page_file_problem)
        ->type_name("FILE")
        ->default_str("sweep_report.html beside the workbook")
        ->group("Output options");
    add_parts_options(app, request_.parts);
    add_tolerance(app, request_.tolerance_percent);
    add_analysis_options(app, request_);
  }

  core::Result<Outcome> run() override {
    const sweep::Plan plan = ASSAY_TRY(sweep::read_plan(sweep_));
    const std::vector<sweep::RunRecord> records = sweep::read_records(sweep_, plan);
    std::vector<GoodSetting> settings = good_settings(sweep_, plan, records);
    if (settings.empty()) {
      return core::Error{fmt::format("no run of '{}' went well yet", sweep_.string())};
    }
    ASSAY_TRY(move_baseline_to_front(settings));
    if (request_.output.folder.empty()) request_.output.folder = sweep_;
    request_.written_by = program_version();
    model::Book book = sweep::summary(plan, records, sweep_);
    show_run_warnings(book);
    const std::size_t count = settings.size();
    // The reports of a whole sweep take long, so the second of two does not wait.
    const core::FileLock lock = ASSAY_TRY(
        core::FileLock::acquire_folder(request_.output.folder, std::chrono::milliseconds(0)));
    request_.kept = trace::keep_for(request_);
    ASSAY_TRY(analyze_all(settings));
    take_runs(plan, records, settings.front().name);
    ComparedSettings all = ASSAY_TRY(compare_all(settings));
    add_tables(book, all);
    static_cast<void>(ASSAY_TRY(write_and_show(book, all)));
    if (const std::string missing = sweep::not_applied_in_words(all.doubts()); !missing.empty())
      return core::Error{missing + ": no verdict on them"};
    if (left_out_.empty()) return Outcome::kOk;
    return core::Error{left_out_in_words(left_out_, count)};
  }

 private:
  void take_runs(const sweep::Plan& plan,
                 const std::vector<sweep::RunRecord>& records,
                 const std::string& baseline) {
    runs_.doubts = sweep::run_doubts(plan, records, baseline);
    runs_.positions = sweep::made_order(records);
    runs_.sessions = sweep::sessions(records);
    for (const sweep::Setting& setting : plan.settings)
      if (const auto limit = channel_limit(setting.variables))
        runs_.channel_limits[setting.name] = *limit;
    if (runs_.positions.empty())
      runs_.doubts.others.emplace_back(
          "When runs were started is not known of all, so a drift of the machine is not looked "
          "for");
    for (const std::string& words : sweep::settings_apart(records, baseline))
      runs_.doubts.others.push_back(words);
    for (const std::string& doubt : runs_.doubts.sentences())
      print_warning(doubt);
  }

  // Tells what 'assay sweep run' found doubtful.
  static void show_run_warnings(const model::Book& summary) {
    const model::Table* table = summary.find("warnings");
    for (std::size_t row = 0; table != nullptr && row < table->row_count(); ++row)
      print_warning(
          fmt::format("{} ({})", model::text(table->at(row, 0)), model::text(table->at(row, 1))));
  }

  core::Status move_baseline_to_front(std::vector<GoodSetting>& settings) const {
    if (baseline_.empty()) return {};
    const auto found = std::find_if(settings.begin(), settings.end(),
                                    [&](const GoodSetting& s) { return s.name == baseline_; });
    if (found == settings.end()) {
      std::vector<std::string> names;
      names.reserve(settings.size());
      for (const GoodSetting& setting : settings)
        names.push_back(setting.name);
      return core::Error{fmt::format("no run of the setting '{}' went well; there are {}",
                                     baseline_, core::join(names, ", "))};
    }
    std::rotate(settings.begin(), found, found + 1);
    return {};
  }

  // Leaves out the settings for which `reason` returns one; an error of `reason` is of all
  // settings. The baseline that was asked for cannot be left out, and one setting has to stay.
  template <class Reason>
  core::Status leave_out(std::vector<GoodSetting>& settings, const Reason& reason) {
    std::vector<GoodSetting> rest;
    for (GoodSetting& setting : settings) {
      const std::string why = ASSAY_TRY(reason(setting));
      ASSAY_TRY(core::check_interrupt());
      if (why.empty()) {
        rest.push_back(std::move(setting));
        continue;
      }
      if (setting.name == baseline_)
        return core::Error{fmt::format("the baseline {} cannot be used: {}", setting.name, why)};
      print_warning(fmt::format("setting {} is left out: {}", setting.name, why));
      left_out_.push_back({.setting = setting.name, .reason = why});
    }
    settings = std::move(rest);
    if (!settings.empty()) return {};
    return core::Error{fmt::format("no setting of '{}' can be analysed", sweep_.string())};
  }

  core::Status analyze_all(std::vector<GoodSetting>& settings) {
    return leave_out(settings, [&](const GoodSetting& setting) -> core::Result<std::string> {
      const auto result = analyze(setting);
      if (!result.ok() && result.error().is_of_output)
        return result.error().context("analysing " + setting.name);
      if (!result.ok()) return result.error().message;
      for (const trace::LeftOutRepeat& one : result.value().left_out) {
        print_warning(
            fmt::format("{}, repeat {} is left out: {}", setting.name, one.repeat, one.reason));
        left_out_.push_back({setting.name, one.repeat, one.reason});
      }
      warnings_.merge(result.value().warnings);
      count_written(result.value());
      return std::string();
    });
  }

  core::Result<trace::CommandResult> analyze(const GoodSetting& setting) {
    trace::AnalyzeRequest request;
    static_cast<trace::Request&>(request) = static_cast<const trace::Request&>(request_);
    request.configuration = setting.folder;
    request.parts = request_.parts;
    // Each setting's reports go where 'assay trace analyze' would put them, unless another folder
    // is asked for.
    request.output.folder = elsewhere() ? request_.output.folder / setting.name : fs::path();
    return run_quietly("analysing " + setting.name, [&](core::Progress& progress) {
      return trace::run_analyze(request, progress);
    });
  }

  core::Result<ComparedSettings> compare_all(const std::vector<GoodSetting>& settings) {
    const GoodSetting& baseline = settings.front();
    trace::CompareRequest request = request_;
    request.baseline = baseline.folder;
    request.confidence = core::confidence_of_each(kTogether, settings.size() - 1);
    std::vector<trace::ComparedTest> tests;
    for (std::size_t i = 1; i < settings.size(); ++i)
      tests.push_back(
          {.configuration = settings[i].folder,
           .folder = request_.output.folder /
                     fmt::format("comparison_{}_vs_{}", baseline.name, settings[i].name)});
    if (tests.empty())
      return ComparedSettings(baseline.name, baseline.variables, {}, request_, runs_);
    auto results =
        ASSAY_TRY(run_quietly("comparing with " + baseline.name, [&](core::Progress& progress) {
          return trace::run_compare_each(request, tests, progress);
        }));
    std::vector<ComparedSetting> compared;
    const model::Warnings told = warnings_;  // by the analyses, of the same traces
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const GoodSetting& setting = settings[i + 1];
      if (!results[i].ok())
        return results[i].error().context(
            fmt::format("comparing {} with {}", setting.name, baseline.name));
      trace::CommandResult& result = results[i].value();
      add_new_warnings(told, result.warnings);
      count_written(result);
      compared.push_back({setting.name, setting.variables, tests[i].folder, std::move(result)});
    }
    return ComparedSettings(baseline.name, baseline.variables, std::move(compared), request_,
                            runs_);
  }

  void add_new_warnings(const model::Warnings& told, const model::Warnings& more) {
    for (const model::Warning& one : more.all()) {
      const bool is_new =
          std::none_of(told.all().begin(), told.all().end(),
                       [&](const model::Warning& known) { return known.reason == one.reason; });
      if (is_new) warnings_.add(one.reason, one.effect, one.example, one.count, one.gpu_ms);
    }
  }

  // The ranking comes first, then what compares all settings.
  void add_tables(model::Book& book, const ComparedSettings& all) {
    std::vector<model::Table> first;
    if (all.ranking()) first.push_back(all.ranking()->table(sweep_.string()));
    for (const model::Table& table : all.report().tables)
      if (trace::is_of_all_settings(table)) first.push_back(table);
    book.tables.insert(book.tables.begin(), first.begin(), first.end());
    if (!left_out_.empty()) book.tables.push_back(left_out_table(left_out_));
  }

  [[nodiscard]] trace::PageOpening opening(const model::Book& book,
                                           const ComparedSettings& all) const {
    trace::PageOpening opening = all.opening(book, sweep_.string());
    opening.provenance = {{"sweep", sweep_.string()}, {"written by", program_version()}};
    if (const model::Table* table = book.find("warnings")) {
      for (std::size_t row = 0; row < table->row_count(); ++row)
        opening.answer.warnings.push_back(
            {model::text(table->at(row, 0)) + " (" + model::text(table->at(row, 1)) + ")",
             "warnings"});
    }
    for (const model::Warning& warning : warnings_.all())
      opening.answer.other_warnings.push_back({warning.sentence()});
    return opening;
  }

  // Returns the page, or "" where none is written.
  core::Result<fs::path> write_page(const model::Book& book, const ComparedSettings& all) {
    std::vector<fs::path> paths;
    if (report::has_pages())
      paths.push_back(request_.output.folder / (std::string(kReportName) + ".html"));
    if (!page_.empty()) paths.push_back(page_);
    if (paths.empty() || !all.ranking() || all.evidence().empty()) return fs::path();
    const trace::PageOpening first = opening(book, all);
    const report::Page page = trace::comparisons_page(first, all.evidence());
    for (const fs::path& path : paths)
      ASSAY_TRY(report::write_page(page, path));
    return paths.front();
  }

  // Draws the figure. It is optional, so a problem is reported but is not a failure.
  fs::path draw_ranking(const sweep::Ranking& ranking) {
    fs::path path = request_.output.folder / kFigureName;
    path += report::extension_of(report::FigureFormat::kPng);
    core::Status drawn = report::gnuplot_is_there();
    if (drawn.ok())
      drawn = report::draw(report::drawing_of(ranking.figure()), report::FigureFormat::kPng, path);
    if (drawn.ok()) return path;
    if (!presentation_.quiet) print_note("no picture of the ranking: " + drawn.error().message);
    return {};
  }

  template <class Call>
  std::invoke_result_t<Call, core::Progress&> run_quietly(const std::string& doing,
                                                          const Call& call) {
    core::Progress progress(doing, presentation_.quiet ? core::Progress::Show::kNever
                                                       : core::Progress::Show::kOnTerminal);
    return call(progress);
  }

  [[nodiscard]] bool elsewhere() const { return request_.output.folder != sweep_; }

  void count_written(const trace::CommandResult& result) { files_ += result.written.size(); }

  core::Result<Outcome> write_and_show(const model::Book& book, const ComparedSettings& all) {
    ASSAY_TRY(core::check_interrupt());
    files_ += ASSAY_TRY(trace::write_all_runs(all.report(), request_)).size();
    const fs::path stem = request_.output.folder / kReportName;
    fs::path workbook = stem;
    ASSAY_TRY(report::write_xlsx(book, workbook += ".xlsx"));
    fs::path document = stem;
    ASSAY_TRY(report::write_json(book, document += ".json"));
    const fs::path page = ASSAY_TRY(write_page(book, all));
    const fs::path picture = all.ranking() ? draw_ranking(*all.ranking()) : fs::path();
    ASSAY_TRY(core::check_interrupt());
    if (presentation_.shows_summary()) {
      print_summary({.title = book.title, .tables = {book.tables.front()}},
                    presentation_.summary());
    }
    show_warnings(warnings_);
    if (presentation_.quiet) return Outcome::kOk;
    print_note(
        fmt::format("wrote {} and {}", workbook.string(), core::counted(files_ + 1, "more file")));
    const fs::path& first = page.empty() ? workbook : page;
    print_note(fmt::format("open {}{}", first.string(),
                           picture.empty() ? "" : " and " + picture.string()));
    return Outcome::kOk;
  }

  fs::path sweep_;
  std::string baseline_;
  trace::CompareRequest request_;
  Presentation presentation_;
  model::Warnings warnings_;
  std::vector<LeftOut> left_out_;
  SweepRuns runs_;
  fs::path page_;
  std::size_t files_ = 0;
};

const CommandSpec kSweepReport{
    .name = "sweep report",
    .summary = "analyse every setting of a sweep and compare each with the baseline",
    .description =
        "Does what 'assay trace analyze' does for every setting and 'assay trace compare' for "
        "every setting against the baseline, and writes sweep_report: which setting is fastest, by "
        "how much, and whether that is real. Runs that did not go well are left out, and so is a "
        "repeat with a trace that was damaged since, or the setting where it has no other: the "
        "rest is reported, and the exit code is 1. Failed runs, an unfinished sweep, runs with the "
        "same traces, unlike numbers of ranks and a baseline without a good run are told with the "
        "answer. Where the variables of a setting reached none of its processes that loaded NCCL, "
        "or are none "
        "that the library has, or its collectives had more channels than it allows, "
        "there is no verdict on it, and the exit code is 1.\n\n"
        "A step's time is its steady period, as in 'assay trace compare'; the mean of all profiled "
        "steps stands beside it, and steps that are not steady are named. A setting that is slower "
        "by that mean, beyond the noise between runs, is never recommended.\n\n"
        "With two or more runs of each setting (--repeat) the intervals count runs, which know the "
        "noise between runs. A setting that was run once is taken to have the noise of the other; "
        "where both were, their steps count, which do not know that noise. No verdict on a single "
        "run is stronger than Different, or Same, in these runs. Because several "
        "settings are compared with one baseline, the intervals are wider than in a single "
        "comparison, so that all verdicts hold together with 95 % confidence; where the spreads of "
        "three settings or more do not differ, they count the noise of all their runs. A trend "
        "over "
        "the order of the runs, or a difference between repeats, is told and taken out. A setting "
        "is Same "
        "when its whole interval lies within the tolerance, and Unclear when the interval is wider "
        "and holds zero.\n\n"
        "final_analysis_report_for_all sets all settings side by side, and says which pairs of "
        "them "
        "differ for certain.\n\n"
        "Beside the tables, sweep_ranking.png shows the settings with their intervals, where "
        "gnuplot is installed.",
    .examples =
        "assay sweep report runs/ctas\n"
        "assay sweep report runs/ctas --baseline 16cta_256threads -o report --write xlsx\n",
    .make = make_command<SweepReport>,
};
ASSAY_REGISTER(CommandSpec, kSweepReport);

}  // namespace
}  // namespace assay::cli
