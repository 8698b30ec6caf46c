#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "allreduce/benchmark_csv.h"
#include "allreduce/measured_on.h"
#include "allreduce/plot/plot.h"
#include "cli/allreduce_commands.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "cli/trace_options.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/terminal.h"
#include "report/page.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPageName = "index.html";

enum class PlotKind { kPng, kSvg, kHtml };

Choices<std::string> figure_kinds() {
  Choices<std::string> choices;
  for (const std::string_view kind : allreduce::kFigureKinds)
    choices.emplace_back(kind, std::string(kind));
  return choices;
}

class AllreducePlot final : public Command {
 public:
  explicit AllreducePlot(App& app) {
    app.add_option("DIR,--data_dir,--data-dir", request_.data_dir,
                   "the folder of the benchmark.tp{N}.sm{V}.csv files")
        ->default_str("data");
    app.add_option("--sm_version,--sm-version", request_.sm_version,
                   "the SM version, such as 90, where the folder has several")
        ->type_name("N");
    add_choice_list(app, "--fusion", request_.fusions, fusion_choices(), "draw only these fusions")
        ->default_str("all that were measured");
    add_choice_list(app, "--kind", request_.kinds, figure_kinds(), "draw only these figures")
        ->default_str("all");
    add_choice_list<PlotKind>(
        app, "--write", kinds_,
        {{"png", PlotKind::kPng}, {"svg", PlotKind::kSvg}, {"html", PlotKind::kHtml}},
        "what to write: pictures, and one page with all of them");
    app.add_option("-o,--output", request_.output, "where the figures go")
        ->type_name("DIR")
        ->default_str("viz in the folder of the data");
    app.add_option("--html", page_, "where the page goes; it needs no other file")
        ->type_name("FILE")
        ->default_str("index.html among the figures");
    app.add_option(
           "--table", tables_,
           "show what this table would lose: JSON, C++, a folder of benchmarks, or 'shipped 1.2' "
           "or 'shipped 1.3' for TensorRT-LLM's; may be repeated")
        ->type_name("FILE")
        ->one_value_each();
    app.add_option("--compare", compare_,
                   "show where this table, or the fastest of these benchmarks, chooses differently "
                   "from the first --table or the fastest measured, and what that costs")
        ->type_name("FILE");
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    const auto& kinds = request_.kinds;
    const bool compares = std::find(kinds.begin(), kinds.end(), "table_difference") != kinds.end();
    if (compares && compare_.empty()) {
      return core::Error{"--kind table_difference needs --compare FILE"};
    }
    if (!compares && !kinds.empty() && !compare_.empty()) {
      return core::Error{"--compare is of --kind table_difference, which is not among the kinds"};
    }
    return {};
  }

  core::Result<Outcome> run() override {
    ASSAY_TRY(read_choosers());
    ASSAY_TRY(check_benchmark_folder(request_.data_dir));
    ASSAY_TRY(check_gpus());
    choose_formats();
    const allreduce::PlotResult result = ASSAY_TRY(plot_with_progress());
    if (presentation_.shows_summary()) {
      print_summary(result.book, presentation_.summary(), kAllRows);
    }
    if (!presentation_.quiet) {
      const std::string last = result.written.back().string();
      print_note(result.written.size() == 1
                     ? "wrote " + last
                     : fmt::format("wrote {} files, the last one {}", result.written.size(), last));
    }
    show_warnings(result.warnings);
    return Outcome::kOk;
  }

 private:
  void choose_formats() {
    if (kinds_.empty()) {
      kinds_ = {PlotKind::kPng, PlotKind::kSvg};
      if (report::has_pages()) kinds_.push_back(PlotKind::kHtml);
    }
    if (request_.output.empty()) request_.output = request_.data_dir / "viz";
    for (const PlotKind kind : kinds_) {
      if (kind == PlotKind::kPng) request_.formats.push_back(report::FigureFormat::kPng);
      if (kind == PlotKind::kSvg) request_.formats.push_back(report::FigureFormat::kSvg);
      if (kind == PlotKind::kHtml) request_.page = request_.output / kPageName;
    }
    if (!page_.empty()) request_.page = page_;
  }

  core::Status read_choosers() {
    std::vector<fs::path> paths(tables_.begin(), tables_.end());
    if (!compare_.empty()) paths.emplace_back(compare_);
    if (paths.empty()) return {};
    const auto own =
        ASSAY_TRY(allreduce::find_all_benchmarks(request_.data_dir, request_.sm_version));
    const std::vector<std::string> names = allreduce::names_of(paths);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      auto chooser = ASSAY_TRY(allreduce::read_chooser(paths[i], names[i], own.sm_version));
      if (i < tables_.size()) {
        request_.choices.push_back(std::move(chooser));
      } else {
        request_.compare = std::move(chooser);
      }
    }
    return {};
  }

  // Fails where benchmarks whose choices are shown were measured on another GPU.
  [[nodiscard]] core::Status check_gpus() const {
    std::vector<fs::path> folders(tables_.begin(), tables_.end());
    folders.push_back(compare_);
    std::erase_if(folders, [](const fs::path& path) { return !core::is_folder(path); });
    if (folders.empty()) return {};
    const auto own =
        ASSAY_TRY(allreduce::find_all_benchmarks(request_.data_dir, request_.sm_version));
    for (const fs::path& folder : folders) {
      const auto other = ASSAY_TRY(allreduce::find_all_benchmarks(folder, own.sm_version));
      ASSAY_TRY(allreduce::check_same_gpu(other.files, own.files));
    }
    return {};
  }

  core::Result<allreduce::PlotResult> plot_with_progress() {
    using Show = core::TerminalLine::Show;
    core::TerminalLine line(presentation_.quiet ? Show::kNever : Show::kOnTerminal);
    return allreduce::plot(request_, [&](std::size_t done, std::size_t all) {
      line.draw(fmt::format("drawing: {} of {}", done, core::counted(all, "figure")));
    });
  }

  allreduce::PlotRequest request_;
  std::vector<PlotKind> kinds_;
  fs::path page_;
  std::vector<fs::path> tables_;
  fs::path compare_;
  Presentation presentation_;
};

const CommandSpec kAllreducePlot{
    .name = "allreduce plot",
    .summary = "draw what a benchmark of all-reduce strategies found",
    .description =
        "Draws five figures for every benchmark file and fusion, as FUSION/<file>_<kind>. "
        "'heatmap' has the times of each strategy, on one logarithmic scale. 'best_strategy' "
        "has the fastest strategy of each cell, and the number of cells that each strategy "
        "wins. 'strategy_difference_heatmap' has the percentage by which each strategy is "
        "slower than the fastest. 'latency' has time over message size with intervals and, "
        "for SM 90, what NVLink allows. 'regret' has the percentage that is lost by always "
        "using NCCL, or by following a --table. With --compare there is a sixth, "
        "'table_difference': where two tables differ, and what that costs.\n\n"
        "AUTO is drawn but never counts as the fastest. Cells without a time are hatched. The "
        "page index.html shows the same data with zoom and tooltips, and needs no network.\n\n"
        "Pictures need gnuplot (apt-get install gnuplot-nox); --write html does not.",
    .examples =
        "assay allreduce plot\n"
        "assay allreduce plot data --fusion NONE --write svg -o figures\n"
        "assay allreduce plot data --kind heatmap,latency\n"
        "assay allreduce plot data --write html --html report.html\n"
        "assay allreduce plot data --compare last_month\n",
    .make = make_command<AllreducePlot>,
};
ASSAY_REGISTER(CommandSpec, kAllreducePlot);

}  // namespace
}  // namespace assay::cli
