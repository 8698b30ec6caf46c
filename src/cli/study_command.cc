#include "cli/study_command.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/output.h"
#include "cli/shared_reading.h"
#include "cli/study_task.h"
#include "cli/version.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/launched_rank.h"
#include "core/output_file.h"
#include "core/terminal.h"
#include "report/book.h"
#include "report/gnuplot.h"
#include "report/page.h"
#include "simulate/study/run_study.h"
#include "simulate/study/study.h"
#include "simulate/study/study_report.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using simulate::StudyTask;
using simulate::TaskResult;

// What another process says when it has done what it could.
constexpr const char* kDone = "done";

const char* variable(const char* name) {
  return ::getenv(name);
}

class StudyCommand {
 public:
  StudyCommand(const StudyRequest& request,
               const simulate::Study& study,
               const std::vector<StudyTask>& tasks,
               simulate::StudyShare share)
      : request_(request), study_(study), tasks_(tasks), share_(share) {}

  core::Result<Outcome> run();

 private:
  core::Result<std::string> work(core::ProcessGroup* processes) const;
  core::Result<Outcome> follow(core::ProcessGroup& processes) const;
  static core::Status wait_for_others(core::ProcessGroup& processes);
  [[nodiscard]] core::Result<Outcome> tell(const std::string& why_missing) const;
  [[nodiscard]] core::Result<Outcome> tell_unfinished(
      const std::vector<std::optional<TaskResult>>& results, const std::string& why_missing) const;
  [[nodiscard]] core::Status check_outputs() const;
  [[nodiscard]] core::Status write(const simulate::StudyOutcome& outcome,
                                   const model::Book& book) const;
  [[nodiscard]] core::Status draw(const simulate::StudyFigure& figure) const;

  [[nodiscard]] bool talks() const { return !request_.presentation.quiet; }

  const StudyRequest& request_;
  const simulate::Study& study_;
  const std::vector<StudyTask>& tasks_;
  simulate::StudyShare share_;
};

core::Result<std::string> StudyCommand::work(core::ProcessGroup* processes) const {
  core::TerminalLine line(talks() && (processes == nullptr || processes->rank() == 0)
                              ? core::TerminalLine::Show::kOnTerminal
                              : core::TerminalLine::Show::kNever);
  simulate::StudyWork work{
      .tasks = tasks_,
      .folder = request_.folder,
      .share = share_,
      .at_once = request_.threads,
      .retry_failed = request_.retry_failed,
      .simulate = run_study_task,
      .on_end = [](std::size_t, const TaskResult&) {},
      .on_tick =
          [&](std::size_t running, std::size_t left) {
            line.draw(fmt::format("{}, {}", core::counted(running, "task runs", "tasks run"),
                                  core::counted(left, "waits", "wait")));
          }};
  if (processes != nullptr) {
    work.first = tasks_.size() / share_.count * static_cast<std::size_t>(processes->rank()) /
                 static_cast<std::size_t>(processes->size());
    if (work.at_once == 0) work.at_once = 1;
  }
  return simulate::run_study(work);
}

// Process 0 tells what all found.
core::Result<Outcome> StudyCommand::follow(core::ProcessGroup& processes) const {
  const auto worked = work(&processes);
  static_cast<void>(processes.send(0, worked.ok() ? kDone : worked.error().message));
  return Outcome::kOk;
}

core::Status StudyCommand::wait_for_others(core::ProcessGroup& processes) {
  core::Status failed;
  for (int other = 1; other < processes.size(); ++other) {
    const std::string said = ASSAY_TRY(processes.receive(other));
    if (said != kDone && failed.ok()) failed = core::Error{said};
  }
  return failed;
}

core::Result<Outcome> StudyCommand::run() {
  const auto launched = ASSAY_TRY(core::launched_rank(variable));
  if (!launched) return tell(ASSAY_TRY(work(nullptr)));
  auto joined = join_processes(*launched);
  if (!joined.ok()) {
    if (launched->rank == 0) return joined.error();
    return static_cast<Outcome>(1);  // process 0 tells why
  }
  core::ProcessGroup& processes = *joined.value();
  if (launched->rank != 0) return follow(processes);
  const auto worked = work(&processes);
  const core::Status others = wait_for_others(processes);
  const std::string why_missing = ASSAY_TRY(worked);
  ASSAY_TRY(others);
  return tell(why_missing);
}

core::Status StudyCommand::check_outputs() const {
  std::vector<fs::path> inputs{request_.file};
  for (const StudyTask& task : tasks_) {
    for (const fs::path& path : {task.file, task.network, task.params, task.topology}) {
      if (!path.empty()) inputs.push_back(path);
    }
  }
  for (const char* name : {"study.csv", "study.json", "study.png", "study.html"})
    ASSAY_TRY(refuse_to_replace(inputs, request_.folder / name));
  return {};
}

core::Status StudyCommand::draw(const simulate::StudyFigure& figure) const {
  const fs::path path = request_.folder / "study.png";
  const report::Drawing drawing =
      std::visit([](const auto& some) { return report::drawing_of(some); }, figure);
  core::Status drawn = report::gnuplot_is_there();
  if (drawn.ok()) drawn = report::draw(drawing, report::FigureFormat::kPng, path);
  // The page has the figure, too.
  if (!drawn.ok() && talks()) print_note("no picture of the study: " + drawn.error().message);
  if (!drawn.ok()) return core::remove_file(path);
  if (talks()) print_note("wrote " + path.string());
  return {};
}

core::Status StudyCommand::write(const simulate::StudyOutcome& outcome,
                                 const model::Book& book) const {
  const auto wrote = [&](const fs::path& path) {
    if (talks()) print_note("wrote " + path.string());
  };
  ASSAY_TRY(check_outputs());
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(request_.folder));
  const core::FinishingTouches touches;
  const fs::path csv = request_.folder / "study.csv";
  ASSAY_TRY(core::write_file(csv, report::csv(book.tables.front())));
  wrote(csv);
  ASSAY_TRY(report::write_json(book, request_.folder / "study.json"));
  wrote(request_.folder / "study.json");
  if (const auto figure = simulate::study_figure(outcome)) ASSAY_TRY(draw(*figure));
  if (!report::has_pages()) return {};
  const fs::path page = request_.folder / "study.html";
  ASSAY_TRY(report::write_page(simulate::study_page(outcome, book.tables.front()), page));
  wrote(page);
  return {};
}

core::Result<Outcome> StudyCommand::tell_unfinished(
    const std::vector<std::optional<TaskResult>>& results, const std::string& why_missing) const {
  std::size_t missing = 0;
  std::size_t failed = 0;
  for (std::size_t task = 0; task < results.size(); ++task) {
    if (!results[task]) ++missing;
    if (results[task] && share_.holds(task) && !results[task]->error.empty()) ++failed;
  }
  if (talks()) {
    print_note(
        fmt::format("{} of {} {} no result yet{}; whoever finishes the last one "
                    "writes the table, or this command when it is given again",
                    missing, core::counted(results.size(), "task"), missing == 1 ? "has" : "have",
                    why_missing.empty() ? "" : " (" + why_missing + ")"));
  }
  if (failed == 0) return Outcome::kOk;
  return core::Error{fmt::format("{} of this process failed", core::counted(failed, "task"))};
}

core::Result<Outcome> StudyCommand::tell(const std::string& why_missing) const {
  const auto found = simulate::results_of(tasks_, request_.folder);
  std::vector<TaskResult> results;
  std::set<std::string> warnings;
  for (const std::optional<TaskResult>& result : found) {
    if (!result) return tell_unfinished(found, why_missing);
    results.push_back(*result);
    warnings.insert(result->warnings.begin(), result->warnings.end());
  }
  const simulate::StudyOutcome outcome{study_, tasks_, results};
  const model::Book book{.title = "Study " + study_.name,
                         .tables = {simulate::result_table(outcome)}};
  ASSAY_TRY(write(outcome, book));
  if (request_.presentation.shows_summary()) {
    print_summary(book, request_.presentation.summary());
  }
  for (const std::string& warning : warnings)
    print_warning(warning);
  if (outcome.failed() == 0) return Outcome::kOk;
  return core::Error{fmt::format("{} of {} failed: the table's last column tells why",
                                 outcome.failed(), core::counted(tasks_.size(), "task"))};
}

}  // namespace

core::Result<Outcome> run_study_command(const StudyRequest& request) {
  const simulate::Study study = ASSAY_TRY(simulate::read_study(request.file));
  if (request.plan_only) {
    const auto tasks = ASSAY_TRY(simulate::combinations(study));
    print_summary({.title = "Study " + study.name, .tables = {simulate::task_table(study, tasks)}},
                  request.presentation.summary(), kAllRows);
    for (const std::string& problem : graph_problems(tasks))
      print_warning(problem);
    return Outcome::kOk;
  }
  const auto share = ASSAY_TRY(simulate::share_of_array(variable));
  const auto tasks = ASSAY_TRY(simulate::plan_tasks(study, build_name()));
  return StudyCommand(request, study, tasks, share).run();
}

}  // namespace assay::cli
