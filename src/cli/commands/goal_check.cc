#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "core/files.h"
#include "goal/check.h"
#include "model/goal_text.h"
#include "model/schedule_notes.h"
#include "simulate/simulate.h"
#include "simulate/stuck.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

model::Table schedules_table() {
  return {
      .name = "schedules",
      .title = "Schedules checked",
      .columns = {{.name = "file"},
                  {.name = "result"},
                  {.name = "ranks"},
                  {.name = "sends"},
                  {.name = "receives"},
                  {.name = "matched", .description = "sends with exactly one receive"},
                  {.name = "calculations"},
                  {.name = "dependencies"},
                  {.name = "notes"},
                  {.name = "runs", .description = "to its end when all messages are rendezvous"}}};
}

model::Table schedule_findings_table() {
  return {.name = "findings",
          .title = "What was found, with the first examples",
          .columns = {{.name = "file"},
                      {.name = "weight"},
                      {.name = "finding"},
                      {.name = "count"},
                      {.name = "example"}}};
}

model::Cell count_cell(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

void add_findings(model::Table& table, const std::string& file, const goal::CheckResult& result) {
  for (const goal::Finding& finding : result.findings) {
    const bool problem = finding.weight == goal::Weight::kProblem;
    for (const std::string& example : finding.examples) {
      table.add_row(
          {file, problem ? "problem" : "remark", finding.name, count_cell(finding.count), example});
    }
    const std::string note = finding.name + ": " + finding.meaning;
    if (std::find(table.notes.begin(), table.notes.end(), note) == table.notes.end()) {
      table.notes.push_back(note);
    }
  }
}

class GoalCheck final : public Command {
 public:
  explicit GoalCheck(App& app) {
    app.add_option("FILE", inputs_, "a schedule, binary or text")->required();
    app.add_option("--notes", notes_, "the notes of the schedule, of one FILE only")
        ->type_name("FILE")
        ->default_str("FILE with the ending .notes.json, if there is one");
    app.add_flag("--runs", runs_,
                 "prove too that no ranks wait for each other: run the schedule, with every "
                 "message waiting for its receive");
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    if (notes_.empty() || inputs_.size() == 1) return {};
    return core::Error{"--notes belongs to one schedule, not to several"};
  }

  core::Result<Outcome> run() override {
    model::Book book{.title = "Check of GOAL schedules",
                     .tables = {schedules_table(), schedule_findings_table()}};
    bool passed = true;
    for (const fs::path& input : inputs_)
      passed &= ASSAY_TRY(check_one(input, book));
    if (book.tables.back().cells.empty()) book.tables.pop_back();
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary());
    return passed ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  core::Result<bool> check_one(const fs::path& input, model::Book& book) const {
    const model::Schedule schedule = ASSAY_TRY(model::read_schedule(input));
    const auto notes = ASSAY_TRY(find_notes(input));
    goal::CheckResult result = goal::check(schedule, notes ? &*notes : nullptr);
    const std::string ran = ASSAY_TRY(run(schedule, result));
    book.tables[0].add_row({input.string(), result.passed() ? "passed" : "failed",
                            static_cast<std::int64_t>(result.ranks), count_cell(result.sends),
                            count_cell(result.receives), count_cell(result.matched_messages),
                            count_cell(result.calculations), count_cell(result.dependencies),
                            notes ? "read" : "none", ran});
    add_findings(book.tables[1], input.string(), result);
    if (!presentation_.shows_summary()) warn(input, result);
    return result.passed();
  }

  // Runs a schedule that has passed so far, and says how that ended; a deadlock becomes a finding.
  //
  // A waiting send or receive holds no CPU and no NIC, and without wildcards each message has one
  // receive whatever the times are, so that what ends once ends always, eager messages included.
  core::Result<std::string> run(const model::Schedule& schedule, goal::CheckResult& result) const {
    if (!runs_) return std::string("not tried");
    if (!result.passed()) return std::string("not tried: failed before");
    simulate::Options options;
    options.inter.rendezvous_bytes = 0;
    const simulate::Outcome outcome = ASSAY_TRY(simulate::simulate(schedule, options));
    if (outcome.finished) return std::string("yes");
    const simulate::Stuck stuck = simulate::find_stuck(outcome, 1);
    result.findings.insert(
        result.findings.begin(),
        {.name = "deadlock",
         .meaning = "operations wait for each other for ever when messages wait for their receives",
         .weight = goal::Weight::kProblem,
         .count = stuck.not_started + stuck.receives_without_message + stuck.sends_without_receive,
         .examples = {simulate::stuck_error(outcome, stuck).message}});
    return std::string("no");
  }

  // Prints warnings instead of the table.
  static void warn(const fs::path& input, const goal::CheckResult& result) {
    for (const goal::Finding& finding : result.findings) {
      if (finding.weight != goal::Weight::kProblem) continue;
      print_warning(fmt::format("{}: {}: {} ({}); {}", input.string(), finding.name, finding.count,
                                finding.meaning, finding.examples.front()));
    }
  }

  [[nodiscard]] core::Result<std::optional<model::ScheduleNotes>> find_notes(
      const fs::path& input) const {
    if (notes_.empty()) return model::read_notes_beside(input);
    return std::optional<model::ScheduleNotes>(ASSAY_TRY(model::read_notes(notes_)));
  }

  std::vector<fs::path> inputs_;
  fs::path notes_;
  bool runs_ = false;
  Presentation presentation_;
};

const CommandSpec kGoalCheck{
    .name = "goal check",
    .summary = "prove that sends match receives, and that tags mean what the notes say",
    .description =
        "Sends and receives must match one to one by source, destination, tag and size; no "
        "operation may wait for itself; cpus and nics end at 254, tags and message sizes below "
        "2^31. Where the notes of the schedule lie beside it (NAME.notes.json), every tag must "
        "carry the label of the NCCL operation that its message belongs to.\n\n"
        "Remarks are no problems: receives from anybody or with any tag, of which nothing can be "
        "proved; messages of a pair that share a tag, which are matched in their order; messages "
        "of a rank to itself.\n\n"
        "That ranks do not wait for each other in a circle of messages is proved with --runs only. "
        "It runs the schedule with every message as a rendezvous: what ends so ends with eager "
        "messages too, and in any order of equal times, unless there are wildcard receives.",
    .regression_means = "a schedule has a problem",
    .examples =
        "assay goal check out/output.bin --runs\n"
        "assay goal check jobs/*.goal --format csv > checks.csv\n",
    .make = make_command<GoalCheck>,
};
ASSAY_REGISTER(CommandSpec, kGoalCheck);

}  // namespace
}  // namespace assay::cli
