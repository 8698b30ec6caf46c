#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_coverage.h"
#include "cli/store_rerun.h"
#include "cli/summary_output.h"
#include "cli/table_inputs.h"
#include "store/judging/table_check.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

constexpr std::size_t kIntervals = 10;  // shown for each table

model::Table tables_table() {
  return {.name = "tables",
          .title = "Tables checked",
          .columns = {{.name = "table"},
                      {.name = "result"},
                      {.name = "rows"},
                      {.name = "groups", .description = "combinations of exact values"},
                      {.name = "holes"},
                      {.name = "duplicates"},
                      {.name = "far_apart", .description = "duplicates beyond --spread"},
                      {.name = "drops"},
                      {.name = "faster", .description = "than the roofline"},
                      {.name = "zero"},
                      {.name = "unusable"}}};
}

model::Table findings_table() {
  return {.name = "findings",
          .title = "What was found, with the worst of each",
          .columns = {{.name = "table"},
                      {.name = "weight"},
                      {.name = "finding"},
                      {.name = "count"},
                      {.name = "of"},
                      {.name = "share", .unit = "%"},
                      {.name = "worst", .unit = "%"},
                      {.name = "where"}}};
}

model::Table held_out_table() {
  return {.name = "held_out",
          .title = "Error of points predicted from their neighbours without themselves",
          .columns = {{.name = "table"},
                      {.name = "size"},
                      {.name = "points"},
                      {.name = "median", .unit = "%", .better = model::Better::kLower},
                      {.name = "p95", .unit = "%", .better = model::Better::kLower},
                      {.name = "worst", .unit = "%", .better = model::Better::kLower},
                      {.name = "beyond_limit", .unit = "%", .better = model::Better::kLower},
                      {.name = "worst_at"}}};
}

model::Table intervals_table() {
  return {.name = "refine",
          .title = "Where to measure more points",
          .columns = {{.name = "table"},
                      {.name = "size"},
                      {.name = "from"},
                      {.name = "to"},
                      {.name = "held_out"},
                      {.name = "points"},
                      {.name = "beyond_limit"},
                      {.name = "median", .unit = "%"}},
          .notes = {"'held_out' lies between 'from' and 'to' and was predicted from them"}};
}

const char* name_of(store::Weight weight) {
  return weight == store::Weight::kProblem ? "problem" : "remark";
}

double percent(std::int64_t count, std::int64_t of) {
  return of == 0 ? 0 : 100.0 * static_cast<double>(count) / static_cast<double>(of);
}

// Sizes are whole numbers in every table.
std::int64_t whole(double size) {
  return static_cast<std::int64_t>(size);
}

class StoreCheck final : public Command {
 public:
  explicit StoreCheck(App& app) : rerun_(app) {
    add_table_inputs(app, inputs_, "a performance table, CSV or Parquet");
    app.add_option("--table", table_, "of a store, only this table")->type_name("NAME");
    add_percent(app, "--drop", limits_.drop, "10",
                "a drop is a latency lower by more than this than that of the next smaller size");
    add_percent(app, "--spread", limits_.spread, "10", "rows with the same key may differ by this");
    add_percent(app, "--roofline-slack", limits_.roofline, "5",
                "rows may be faster than the roofline by this: peaks are not exact");
    app.add_flag("--held-out", held_out_,
                 "predict every point from its neighbours and say where to measure more");
    add_percent(app, "--limit", held_out_limit_, "5",
                "error of a held-out point that calls for more points");
    add_roofline_options(app, roofline_);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    ASSAY_TRY(inputs_.check());
    return rerun_.check(inputs_.store);
  }

  core::Result<Outcome> run() override {
    model::Book book{
        .title = "Check of performance tables",
        .tables = {tables_table(), findings_table(), held_out_table(), intervals_table()}};
    const std::string only = table_.empty() ? "" : store::table_name(table_);
    const std::vector<NamedFrame> tables = ASSAY_TRY(read_tables(inputs_, only, presentation_));
    bool passed = true;
    for (const NamedFrame& named : tables)
      passed &= ASSAY_TRY(check_one(named, book));
    if (book.tables[0].cells.empty()) return core::Error{"no table could be checked"};
    if (!inputs_.store.empty()) passed &= ASSAY_TRY(check_coverage(only, book));
    if (rerun_.asked_for()) passed &= ASSAY_TRY(rerun_.run(inputs_.store, presentation_, book));
    const auto is_empty = [](const model::Table& table) { return table.cells.empty(); };
    book.tables.erase(std::remove_if(book.tables.begin(), book.tables.end(), is_empty),
                      book.tables.end());
    if (!presentation_.quiet) print(summary_text(book, presentation_.summary));
    return passed ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  static void add_percent(App& app,
                          const std::string& name,
                          double& target,
                          const char* usual,
                          const std::string& help) {
    app.add_option(
           name, [&target](double value) { target = value / 100; }, help)
        ->type_name("PERCENT")
        ->default_str(usual)
        ->check(not_negative_problem);
  }

  core::Result<bool> check_one(const NamedFrame& named, model::Book& book) const {
    const std::string name = named.source.empty() ? named.table : named.source;
    const store::Rooflines rooflines = ASSAY_TRY(read_rooflines(roofline_, inputs_, named.table));
    auto checked = store::check_table(named.table, named.frame, rooflines, limits_);
    if (!checked.ok()) {
      print_warning("not checked: " + checked.error().context(name).message);
      return true;
    }
    const store::TableCheck& result = checked.value();
    book.tables[0].add_row(
        {name, result.impossible() ? "failed" : "passed", result.rows, result.groups,
         result.holes.count, result.duplicates.count, result.far_apart, result.drops.count,
         result.faster.total > 0 ? model::Cell(result.faster.count) : model::Cell("unknown"),
         result.not_positive.count, result.unused.count});
    add_findings(name, result, book.tables[1]);
    if (held_out_) {
      const auto index =
          ASSAY_TRY(store::TableIndex::make(named.table, named.frame, rooflines.all));
      add_held_out(name, store::held_out_errors(index, held_out_limit_), book);
    }
    return !result.impossible();
  }

  // Adds the cases of the newest collection that are missing. Cases that failed are shown, but do
  // not fail the check, because every large collection has cases that the device cannot run.
  core::Result<bool> check_coverage(const std::string& only, model::Book& book) const {
    const auto opened = ASSAY_TRY(store::open_to_read(inputs_.store));
    bool is_whole = true;
    for (const Coverage& coverage : ASSAY_TRY(read_coverage(opened, only))) {
      const std::string weight = coverage.is_refinement ? "remark" : "problem";
      for (const collect::OperatorTally& tally : coverage.tally.operators()) {
        add_cases(tally, weight, "missing cases", tally.missing(), book.tables[1]);
        add_cases(tally, "remark", "failed cases", tally.failed, book.tables[1]);
      }
      for (model::Table& table : coverage_tables(coverage))
        book.tables.push_back(std::move(table));
      is_whole &= coverage.is_refinement || coverage.tally.total().missing() == 0;
    }
    return is_whole;
  }

  void add_cases(const collect::OperatorTally& tally,
                 const std::string& weight,
                 const std::string& finding,
                 std::int64_t count,
                 model::Table& table) const {
    if (count == 0) return;
    table.add_row({tally.name, weight, finding, count, tally.expected,
                   percent(count, tally.expected), model::Cell(), std::string()});
    if (presentation_.quiet && weight == "problem") {
      print_warning(fmt::format("{}: {}: {} of {} that the newest collection expected", tally.name,
                                finding, count, tally.expected));
    }
  }

  void add_findings(const std::string& name,
                    const store::TableCheck& result,
                    model::Table& table) const {
    for (const store::Finding& finding : store::findings_of(result)) {
      const store::Found& found = finding.found;
      table.add_row({name, name_of(finding.weight), std::string(finding.name), found.count,
                     found.total, percent(found.count, found.total),
                     finding.has_worst ? model::Cell(found.worst * 100) : model::Cell(),
                     found.where});
      const std::string note = fmt::format("{}: {}", finding.name, finding.meaning);
      if (std::find(table.notes.begin(), table.notes.end(), note) == table.notes.end())
        table.notes.push_back(note);
      if (presentation_.quiet && finding.weight == store::Weight::kProblem) {
        print_warning(fmt::format("{}: {}: {} of {} ({}), {}", name, finding.name, found.count,
                                  found.total, finding.meaning, found.where));
      }
    }
  }

  static void add_held_out(const std::string& name,
                           const store::HeldOut& held_out,
                           model::Book& book) {
    for (const store::HeldOutErrors& errors : held_out.by_column) {
      book.tables[2].add_row({name, errors.column, errors.points, errors.median * 100,
                              errors.p95 * 100, errors.worst * 100, errors.share_beyond * 100,
                              errors.worst_at});
    }
    for (std::size_t i = 0; i < std::min(kIntervals, held_out.intervals.size()); ++i) {
      const store::Interval& interval = held_out.intervals[i];
      book.tables[3].add_row({name, interval.column, whole(interval.low), whole(interval.high),
                              interval.held_out, interval.points, interval.beyond,
                              interval.median * 100});
    }
  }

  TableInputs inputs_;
  std::string table_;
  store::CheckLimits limits_;
  bool held_out_ = false;
  double held_out_limit_ = store::kHeldOutLimit;
  RooflineInputs roofline_;
  RerunArguments rerun_;
  Presentation presentation_;
};

const CommandSpec kStoreCheck{
    .name = "store check",
    .summary = "find holes, duplicates, drops and impossible rows in performance tables",
    .description =
        "Rows with equal columns but sizes form a group; within it points are compared along each "
        "size (m, n, k, batch_size, isl, step, num_heads, num_tokens, message_size).\n\n"
        "Problems: a latency of 0 or less (but of computescale_perf, which holds differences), a "
        "row without a finite latency or with a size missing, and, where the device's peaks are "
        "known (--system, or --mem-bw and --peak) and the operator is one that assay measures, a "
        "row faster than the roofline: the least time that its bytes and operations can take. "
        "Where its data fit in the L2 cache (gpu.l2_bytes of --system; 50 MB for Hopper, "
        "gpu.sm_version 90) up to 5 times the memory's speed is excused, and counted.\n\n"
        "In a store that 'assay collect' wrote, cases that its newest collection expected and that "
        "are missing are a problem too; those of a refinement (collect --refine) and failed ones "
        "are a remark.\n\n"
        "--rerun measures points of that collection again, by the options that it recorded, and "
        "reports how many of each table differ by more than 10 %. What it measures is kept in the "
        "store as a run of its own, which changes no table.\n\n"
        "Remarks: holes, duplicates and drops are found in every real table. A drop that two "
        "versions share is a property of the kernel: a larger size that fits its tiles better. "
        "Held-out points are predicted over a bracket twice as wide as that of a query.",
    .regression_means =
        "a table has impossible rows, a collection is not finished, or --max-share is exceeded",
    .examples =
        "assay store check --store perf/perf.db --system h200_sxm\n"
        "assay store check gemm_perf.parquet --held-out\n"
        "assay store check --store perf/perf.db --rerun 200 --max-share 0.5\n"
        "assay store check */*.parquet --format csv > checks.csv\n",
    .make = make_command<StoreCheck>,
};
ASSAY_REGISTER(CommandSpec, kStoreCheck);

}  // namespace
}  // namespace assay::cli
