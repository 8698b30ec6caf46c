#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "cli/trace_options.h"
#include "core/text.h"
#include "store/files/table_spec.h"
#include "store/judging/diff.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

class StoreDiff final : public Command {
 public:
  explicit StoreDiff(App& app) {
    app.add_option("A", a_, "a store, the name of a shipped one, a perf table, or a folder of them")
        ->required();
    app.add_option("B", b_, "another")->required();
    app.add_option("--table", request_.tables, "compare only this table: gemm_perf")
        ->type_name("NAME")
        ->suggest(table_words())
        ->default_str("all");
    app.add_option("--ignore", request_.ignored,
                   "a column that may differ between A and B: version, framework, kernel_source")
        ->type_name("COLUMN")
        ->delimiter(',')
        ->default_str("none");
    app.add_option(
           "--tolerance", [this](double percent) { request_.threshold = percent / 100; },
           "by how much B may differ from A")
        ->type_name("PERCENT")
        ->default_str("10")
        ->check(not_negative_problem);
    app.add_option(
           "--max-share", [this](double percent) { limits_.share = percent / 100; },
           "fail if more of a table's rows than this differ by more than --tolerance")
        ->type_name("PERCENT")
        ->default_str("never fail")
        ->check(not_negative_problem);
    app.add_option(
           "--max-slower", [this](double percent) { limits_.slower = percent / 100; },
           "fail if more of a table's rows than this are slower in B by more than --tolerance")
        ->type_name("PERCENT")
        ->default_str("never fail")
        ->check(not_negative_problem);
    app.add_option("--worst", request_.most_worst, "show this many of the rows that differ most")
        ->type_name("N")
        ->default_str("10")
        ->check(count_problem);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    model::Warnings repairs;
    const store::Store a = ASSAY_TRY(store::open_tables(a_, repairs));
    const store::Store b = ASSAY_TRY(store::open_tables(b_, repairs));
    for (std::string& table : request_.tables)
      table = store::table_name(table);
    const store::DiffResult result = ASSAY_TRY(store::diff(a, b, request_));
    if (presentation_.shows_summary()) show(result);
    show_warnings(repairs);
    return judge(result);
  }

 private:
  [[nodiscard]] std::string what_may_help(const store::DiffResult& result) const {
    std::vector<std::string> columns = {"version", "framework", "kernel_source"};
    std::erase_if(columns, [this](const std::string& column) {
      return std::find(request_.ignored.begin(), request_.ignored.end(), column) !=
             request_.ignored.end();
    });
    const bool both_have_rows = std::any_of(
        result.tables.begin(), result.tables.end(),
        [](const store::TableDiff& table) { return table.only_a > 0 && table.only_b > 0; });
    if (columns.empty() || !both_have_rows) return "";
    return fmt::format("; --ignore {} lets rows match that differ there", core::join(columns, ","));
  }

  void show(const store::DiffResult& result) const {
    const model::Book book{.title = fmt::format("A: {}, B: {}", a_.string(), b_.string()),
                           .tables = store::diff_tables(result, request_.threshold)};
    print_summary(book, presentation_.summary(), kAllRows);
  }

  [[nodiscard]] Outcome judge(const store::DiffResult& result) const {
    for (const std::string& table : store::diff_ambiguous(result))
      print_warning(table);
    for (const std::string& table : store::diff_without_latencies(result))
      print_warning(table);
    if (result.both() == 0 && result.ambiguous() == 0)
      print_warning("A and B have no row in common" + what_may_help(result));
    if (result.compared() == 0) return Outcome::kRegressionFound;
    const auto failures = store::diff_failures(result, request_.threshold, limits_);
    for (const std::string& failure : failures)
      print_warning(failure);
    return failures.empty() ? Outcome::kOk : Outcome::kRegressionFound;
  }

  fs::path a_;
  fs::path b_;
  store::DiffRequest request_;
  store::DiffLimits limits_;
  Presentation presentation_;
};

const CommandSpec kStoreDiff{
    .name = "store diff",
    .summary = "compare two stores or sets of performance tables row by row",
    .description =
        "Rows belong together when all their columns but latency and power are equal. For each "
        "table: rows that only A or only B has, the 10th, 50th and 90th percentile of the ratio "
        "of their latencies (above 1: B is slower), how many rows are slower and faster by more "
        "than the tolerance, and their share; then the rows of two stores that were measured in "
        "other ways (graphs or eager launches, the L2 cache, lowered clocks, the driver), and the "
        "rows that differ most. A shift of all rows by less than the tolerance shows in the "
        "medians alone.\n\n"
        "Where several rows of a side have one key, as versions have with --ignore version, they "
        "are compared only if that makes no difference; else the key is counted as ambiguous, and "
        "either limit fails where more of a table's keys are.",
    .regression_means =
        "in a table a larger share of rows than --max-share differs by more than --tolerance, or a "
        "larger one than --max-slower is slower, or no row is compared",
    .examples =
        "assay store diff monday.db tuesday.db --max-share 0.5\n"
        "assay store diff perf/perf.db h200_sxm\n"
        "assay store diff h200.db systems/data/h200_sxm --table gemm_perf\n"
        "assay store diff gemm_perf.txt other/gemm_perf.parquet --ignore version\n",
    .make = make_command<StoreDiff>,
};
ASSAY_REGISTER(CommandSpec, kStoreDiff);

}  // namespace
}  // namespace assay::cli
