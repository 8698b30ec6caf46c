#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/store_rerun.h"
#include "cli/summary_output.h"
#include "cli/table_inputs.h"
#include "collect/run/coverage.h"
#include "collect/run/layer_report.h"
#include "core/files.h"
#include "report/curves.h"
#include "store/judging/answer_check.h"
#include "store/judging/check_report.h"
#include "store/judging/roofline_share.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

constexpr std::size_t kShareCurves = 8;

// "4096", "64Ki", "1Mi"
std::string short_size(double size) {
  if (size >= 1048576) return fmt::format("{:.4g}Mi", size / 1048576);
  return size >= 8192 ? fmt::format("{:.4g}Ki", size / 1024) : fmt::format("{:.4g}", size);
}

// The axis of shares ends below the least of them. The names of the curves stand above the
// roofline.
void add_share_axis(report::CurveFigure& figure, double least_percent) {
  constexpr double kNamesPart = 0.42;  // of the height below the roofline
  figure.y.title = "roofline / latency (%)";
  figure.y.low = 20;
  for (const double tick :
       {100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01}) {
    if (tick < figure.y.low && figure.y.low <= least_percent) break;
    figure.y.low = std::min(figure.y.low, tick);
    figure.y.ticks.push_back({tick, fmt::format("{:.4g}", tick)});
  }
  figure.y.high = 100 * std::pow(100 / figure.y.low, kNamesPart);
  if (figure.y.high > 200) figure.y.ticks.push_back({200, "200"});
}

report::CurveFigure share_figure(const store::ShareFigure& shares) {
  report::CurveFigure figure;
  figure.title = shares.name + ": share of the roofline";
  figure.subtitle =
      "a line is one shape over its size; some of the table's, from little work to much";
  figure.x.title = shares.size;
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  double least = 100;
  for (const store::ShareCurve& shown : shares.curves) {
    report::Curve curve{.name = shown.name.empty() ? shares.name : shown.name,
                        .color = report::category_color(figure.curves.size()),
                        .points = {}};
    for (const auto& [size, share] : shown.sizes) {
      curve.points.push_back({size, 100 * share, std::nan(""), std::nan("")});
      low = std::min(low, size);
      high = std::max(high, size);
      least = std::min(least, 100 * share);
    }
    figure.curves.push_back(std::move(curve));
  }
  add_share_axis(figure, least);
  figure.x.low = low / 1.25;
  figure.x.high = high * 1.25;
  const double step = std::max(1.0, std::ceil(std::log2(high / low) / 10));
  for (double power = std::ceil(std::log2(low)); std::exp2(power) <= high; power += step)
    figure.x.ticks.push_back({std::exp2(power), short_size(std::exp2(power))});
  figure.curves.push_back(
      {.name = "roofline",
       .color = report::kBlack,
       .look = report::Curve::Look::kLimit,
       .points = {{figure.x.low, 100, 100, 100}, {figure.x.high, 100, 100, 100}}});
  return figure;
}

class StoreCheck final : public Command {
 public:
  explicit StoreCheck(App& app) : rerun_(app) {
    add_table_inputs(app, inputs_, "a performance table, CSV or Parquet");
    app.add_option("--table", table_, "of a store, only this table")
        ->type_name("NAME")
        ->suggest(table_words());
    add_percent(app, "--drop", limits_.drop, "10",
                "a drop is a latency lower by more than this than that of the next smaller size");
    add_percent(app, "--spread", limits_.spread, "10", "rows with the same key may differ by this");
    add_percent(app, "--roofline-slack", limits_.roofline, "5",
                "rows may be faster than the roofline by this: peaks are not exact");
    Option* held_out =
        app.add_flag("--held-out", held_out_,
                     "predict every point from its neighbours and say where to measure more");
    app.add_option("--plot", plot_,
                   "draw the share of the roofline over size into this folder, a PNG for each "
                   "operator (needs gnuplot)")
        ->type_name("DIR");
    add_percent(app, "--refine-limit", held_out_limit_, "5",
                "error of a held-out point that calls for more points")
        .needs(held_out);
    add_roofline_options(app, roofline_);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    ASSAY_TRY(inputs_.check());
    return rerun_.check(inputs_.database());
  }

  core::Result<Outcome> run() override {
    const std::string only = table_.empty() ? "" : store::table_name(table_);
    const std::vector<NamedFrame> tables = ASSAY_TRY(read_tables(inputs_, only, presentation_));
    store::CheckReport report;
    for (const NamedFrame& named : tables)
      ASSAY_TRY(check_one(named, report));
    if (report.is_empty()) return core::Error{"no table could be checked"};
    if (!inputs_.database().empty()) ASSAY_TRY(check_coverage(only, report));
    model::Book book{.title = "Check of performance tables", .tables = report.tables()};
    bool passed = report.passed();
    if (rerun_.asked_for())
      passed &= ASSAY_TRY(rerun_.run(inputs_.database(), presentation_, book));
    show(report, book);
    return passed ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  static Option& add_percent(App& app,
                             const std::string& name,
                             double& target,
                             const char* usual,
                             const std::string& help) {
    return *app.add_option(
                   name, [&target](double value) { target = value / 100; }, help)
                ->type_name("PERCENT")
                ->default_str(usual)
                ->check(not_negative_problem);
  }

  core::Status check_one(const NamedFrame& named, store::CheckReport& report) const {
    const std::string name = named.source.empty() ? named.table : named.source;
    const store::Rooflines rooflines = ASSAY_TRY(read_rooflines(roofline_, inputs_, named.table));
    auto checked = store::check_table(named.table, named.frame, rooflines, limits_);
    if (!checked.ok()) {
      print_warning("not checked: " + checked.error().context(name).message);
      return {};
    }
    store::TableCheck& check = checked.value();
    check.rows += named.unread;
    check.unused.total += named.unread;
    check.unused.count += named.unread;
    report.add(name, check);
    if (named.table == collect::kLayerTable) report.add({collect::layer_report(named.frame)});
    if (!plot_.empty()) ASSAY_TRY(plot_one(named, rooflines));
    if (!held_out_) return {};
    const store::WorkRows rows = ASSAY_TRY(store::make_work_rows(named.table, named.frame));
    for (const store::HoldOut left_out : {store::HoldOut::kPoints, store::HoldOut::kCurves,
                                          store::HoldOut::kUpperHalves, store::HoldOut::kEdges})
      report.add(name, left_out, ASSAY_TRY(store::judge_answers(rows, rooflines.bound, left_out)));
    const auto index = ASSAY_TRY(store::TableIndex::make(named.table, named.frame, rooflines.all));
    report.add(name, store::held_out_errors(index, held_out_limit_));
    return {};
  }

  // Draws the share of the roofline that shapes reach, over their size: a figure for each operator.
  core::Status plot_one(const NamedFrame& named, const store::Rooflines& rooflines) const {
    const store::WorkIndex index(ASSAY_TRY(store::make_work_rows(named.table, named.frame)),
                                 rooflines.bound);
    const std::vector<store::ShareFigure> figures = store::roofline_shares(index, kShareCurves);
    if (figures.empty()) {
      print_note(fmt::format("{}: no figure, since no roofline is known", named.table));
      return {};
    }
    ASSAY_TRY(core::make_directories(plot_));
    for (const store::ShareFigure& shares : figures) {
      ASSAY_TRY(core::check_file_name(shares.name));
      ASSAY_TRY(report::draw(report::drawing_of(share_figure(shares)), report::FigureFormat::kPng,
                             plot_ / (shares.name + ".png")));
    }
    return {};
  }

  core::Status check_coverage(const std::string& only, store::CheckReport& report) const {
    const auto opened = ASSAY_TRY(store::open_to_read(inputs_.database()));
    for (const collect::Coverage& coverage : ASSAY_TRY(collect::read_coverage(opened, only))) {
      for (const store::CasesFound& cases : coverage.findings())
        report.add(cases);
      report.add(coverage.tables());
    }
    return {};
  }

  void show(const store::CheckReport& report, const model::Book& book) const {
    if (presentation_.shows_summary()) return print_summary(book, presentation_.summary());
    for (const std::string& problem : report.problems())
      print_warning(problem);
  }

  TableInputs inputs_;
  std::string table_;
  store::CheckLimits limits_;
  bool held_out_ = false;
  std::filesystem::path plot_;
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
        "Problems: a latency of 0 or less (but of computescale_perf, which holds differences), one "
        "of more than 100 times both rows beside it, or, but for copies and collectives, 300 times "
        "its "
        "roofline and a launch of 5 "
        "us (a wrong unit), one whose samples reach below half of their median, a row without a "
        "finite latency or with a size missing, and, where the device's peaks are known (--system, "
        "or --mem-bw and --peak) and the operator is one that assay measures, a "
        "row faster than the roofline: the least time that its bytes and operations can take. "
        "Where its data fit in the L2 cache (gpu.l2_bytes of --system; 50 MB for Hopper, "
        "gpu.sm_version 90) up to 5 times the memory's speed is excused, and counted.\n\n"
        "In a store that 'assay collect' wrote, cases that an operator's newest collection "
        "expected "
        "and that are missing are a problem too; those of a refinement (collect --refine) and "
        "failed ones "
        "are a remark.\n\n"
        "--rerun measures points of the newest collection again, by the options that it recorded, "
        "and "
        "reports how many of each table differ by more than 10 %. What it measures is kept in the "
        "store as a run of its own, which changes no table.\n\n"
        "Of decode_layer_perf a table shows the time of each layer in one graph, the sum of its "
        "kernels' times one by one, and their ratio.\n\n"
        "Remarks: holes, duplicates and drops are found in every real table. Rows are 'throttled' "
        "that were measured while the GPU had lowered its clocks. Rows are 'uncertain' "
        "whose samples scattered more than the --certainty that their run asked for allows; "
        "'unknown' is told of rows that are not of a collection, or of a fixed number of samples. "
        "A drop that two "
        "versions share is a property of the kernel: a larger size that fits its tiles better. "
        "Held-out points are predicted over a bracket twice as wide as that of a query.",
    .regression_means =
        "a table has impossible rows, a collection is not finished, or --max-share is exceeded",
    .examples =
        "assay store check --store perf/perf.db --system h200_sxm\n"
        "assay store check gemm_perf.parquet --held-out\n"
        "assay store check --store h200_sxm --plot figures\n"
        "assay store check --store perf/perf.db --rerun 200 --max-share 0.5\n"
        "assay store check */*.parquet --format csv > checks.csv\n",
    .make = make_command<StoreCheck>,
};
ASSAY_REGISTER(CommandSpec, kStoreCheck);

}  // namespace
}  // namespace assay::cli
