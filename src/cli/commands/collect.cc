#include <fmt/core.h>

#include "cli/collect_options.h"
#include "cli/collecting.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "collect/plan/listing.h"
#include "collect/run/collection.h"
#include "collect/run/reports.h"
#include "core/counted.h"
#include "core/interrupt.h"
#include "core/terminal.h"

namespace assay::cli {
namespace {

class Collect final : public Command {
 public:
  explicit Collect(App& app) : arguments_(app) {}

  [[nodiscard]] core::Status check() const override { return arguments_.check(); }

  core::Result<Outcome> run() override {
    if (arguments_.lists()) {
      show(listing());
      return Outcome::kOk;
    }
    ASSAY_TRY(arguments_.follow_if_launched());
    if (arguments_.refines()) return refine();
    const collect::Plan plan = ASSAY_TRY(arguments_.plan());
    if (arguments_.only_plans()) {
      show_plan(plan);
      return Outcome::kOk;
    }
    return measure(plan);
  }

 private:
  // Returns one table as CSV or both as JSON for programs, and the columns that fit a terminal for
  // people.
  [[nodiscard]] model::Book listing() const {
    const auto operators = arguments_.operators();
    const bool all = !arguments_.names_operators();
    switch (arguments_.presentation().summary()) {
      case Summary::kJson:
        return {.title = "Operators",
                .tables = {collect::operators_table(operators, collect::Columns::kAll),
                           collect::axes_table(operators)}};
      case Summary::kCsv:
        return {.title = "Operators",
                .tables = {all ? collect::operators_table(operators, collect::Columns::kAll)
                               : collect::axes_table(operators)}};
      case Summary::kTable:
        break;
    }
    if (!all) return collect::axes_book(operators);
    model::Table table = collect::operators_table(operators, collect::Columns::kShort);
    table.notes.emplace_back("The axes of an operator: assay collect OPERATOR --list");
    return {.title = "Operators", .tables = {std::move(table)}};
  }

  void show(const model::Book& book) const {
    print_summary(book, arguments_.presentation().summary());
  }

  // As CSV, the plan is one table, for other programs.
  void show_plan(const collect::Plan& plan) const {
    model::Book book = collect::plan_book(plan);
    if (arguments_.runs_on_gpus()) {
      book.tables.front().notes.push_back(
          fmt::format("about {} on one H200; several GPUs share the cases",
                      core::duration_text(collect::expected_seconds(plan))));
    }
    if (arguments_.presentation().summary() == Summary::kCsv)
      book.tables.erase(book.tables.begin());
    show(book);
  }

  core::Result<Outcome> refine() const {
    const collect::Refinement refinement = ASSAY_TRY(arguments_.refinement());
    // A run to be resumed had cases, so resuming without any goes on and reports the difference.
    const bool nothing = refinement.plan.cases.empty() && !arguments_.resumes();
    if (nothing) print_note(collect::why_nothing_to_refine(refinement, arguments_.refine_limit()));
    if (arguments_.only_plans()) show_plan(refinement.plan);
    if (nothing || arguments_.only_plans()) return Outcome::kOk;
    return measure(refinement.plan);
  }

  core::Result<Outcome> measure(const collect::Plan& plan) const {
    collect::CollectOptions options = ASSAY_TRY(arguments_.collect_options());
    auto clocks = ASSAY_TRY(arguments_.lock_clocks(options));
    if (clocks) print_note(clocks->summary());
    const auto result = collect_with_progress(options, plan, arguments_.presentation());
    if (clocks) ASSAY_TRY(clocks->release());
    if (!result.ok()) return result.error();
    if (arguments_.presentation().shows_summary()) show(summary_of(result.value()));
    warn_of(result.value().uncertain, options.request.options.certainty);
    return verdict(result.value());
  }

  static void warn_of(const collect::MissedCertainty& uncertain, double certainty) {
    if (uncertain.missed == 0) return;
    print_warning(
        fmt::format("{} of {} {} less certain than ±{:g} %; the worst is ±{:.{}f} %: {}. "
                    "Samples scatter, "
                    "as on a busy machine",
                    uncertain.missed, uncertain.rows,
                    uncertain.rows == 1     ? "row is"
                    : uncertain.missed == 1 ? "rows is"
                                            : "rows are",
                    certainty * 100, uncertain.worst * 100, uncertain.worst < 0.1 ? 1 : 0,
                    uncertain.worst_case));
  }

  static model::Book summary_of(const collect::CollectResult& result) {
    model::Book book = collect::tally_book(result.tally);
    auto& notes = book.tables.front().notes;
    notes.push_back(fmt::format("{} in {}", core::counted(result.measured_now, "case"),
                                core::duration_text(result.wall_seconds)));
    for (const auto& file : result.files)
      notes.push_back(file.string());
    if (!result.times.empty()) {
      book.tables.push_back(collect::time_table(collect::time_use(result.times)));
    }
    return book;
  }

  [[nodiscard]] core::Result<Outcome> verdict(const collect::CollectResult& result) const {
    const collect::OperatorTally total = result.tally.total();
    const std::string open = fmt::format(
        "{} of {} {} not measured yet; go on by the same command with --resume", total.missing(),
        core::counted(total.expected, "case"), total.missing() == 1 ? "is" : "are");
    if (result.end == collect::SupervisorEnd::kInterrupted) print_note(open);
    if (core::interrupted()) return Outcome::kOk;
    const bool nothing = total.missing() == total.expected;
    if (result.end == collect::SupervisorEnd::kNoWorkers) {
      return core::Error{"no worker is left: " + (nothing ? "nothing is measured" : open)};
    }
    const std::vector<std::string> empty = collect::operators_without_row(
        result.tally,
        arguments_.names_operators() ? collect::Excused::kNone : collect::Excused::kSkipped);
    if (empty.empty()) return Outcome::kOk;
    return core::Error{fmt::format("nothing is measured of {}: see {}", core::join(empty, ", "),
                                   result.files.back().string())};
  }

  CollectArguments arguments_;
};

const CommandSpec kCollect{
    .name = "collect",
    .summary = "measure operators and collectives on this machine into a performance database",
    .description =
        "Measures each case of the operators (a shape, a data type) on GPUs or the CPU: warm-ups, "
        "then samples until the median is certain; times are milliseconds of one launch. Outputs "
        "of every 100th case are first compared with a reference.\n\n"
        "Under mpirun or srun, with a process for each GPU (or CPU rank), it measures the "
        "collectives "
        "of the job. --module runs operators written in Python, in the form of the public "
        "collector.\n\n"
        "--for-model reads the config.json of models and measures exactly the shapes that serving "
        "them needs: projections, heads, windows, experts and batched products at each --tp and "
        "--ep, with few sizes between which --refine adds more. With --speculative-tokens also "
        "what "
        "drafted steps need: attention that verifies drafts, as that of so many times the heads, "
        "and "
        "the operators of the layers that draft.\n\n"
        "Each GPU has a worker, and all of them share one queue. A case that crashes, hangs or "
        "fails costs only itself: it is recorded with its error and parameters, its worker is "
        "started again, and the run goes on. Collectives run afterwards, in one worker that owns "
        "all GPUs.\n\n"
        "--refine goes on where a coarse grid ended: each point in DIR/perf.db is predicted from "
        "its neighbours along each size without itself, and where that is off by more than "
        "--refine-limit, the middles between it and both neighbours are measured, by the options "
        "that the points were measured with.\n\n"
        "Every finished case is at once in DIR/perf.db. Ctrl-C lets the running cases end; "
        "--resume "
        "goes on after it, or after a kill, past what is measured, skipped or failed, and refuses "
        "other versions, devices or cases. At the end DIR has the public tables (gemm_perf.txt, "
        "...), and DIR/reports/latest the logs of the workers, collection_summary_<backend>.json "
        "and errors_<backend>.<operator>.json.",
    .examples =
        "assay collect --list\n"
        "assay collect gemm --list\n"
        "assay collect --smoke -o trial\n"
        "assay collect gemm moe --grid coarse -o perf\n"
        "assay collect gemm --m 4096 --n 4096 --k 8192 --dtype fp8\n"
        "assay collect --ops gemm --case-filter 'm=1 ' --plan-only --format csv\n"
        "assay collect gemm moe --grid coarse -o perf --resume\n"
        "assay collect --refine --limit 500 -o perf\n"
        "assay collect --for-model qwen3-32b mixtral/config.json --tp 4 --plan-only\n"
        "assay collect --for-model deepseek-v3 --tp 8 --speculative-tokens 2 --plan-only\n"
        "assay collect --for-model all --quant config,bfloat16,fp8,fp8_block -o perf\n"
        "assay collect gemm --device cpu --dtype float32 --m 1,16,256 --n 1024 --k 1024\n"
        "assay collect --module collect_sdpa.py -o perf\n"
        "mpirun -n 16 assay collect nccl --num-gpus 2,4,8,16 -o perf\n",
    .make = make_command<Collect>,
};
ASSAY_REGISTER(CommandSpec, kCollect);

}  // namespace
}  // namespace assay::cli
