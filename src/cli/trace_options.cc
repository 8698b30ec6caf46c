#include "cli/trace_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "cli/options.h"
#include "cli/output.h"
#include "core/interrupt.h"
#include "model/gpu_specs.h"

namespace assay::cli {
namespace {

constexpr std::size_t kFilesNamed = 6;

const Choices<trace::FileFormat> kFileFormats{{"xlsx", trace::FileFormat::kXlsx},
                                              {"csv", trace::FileFormat::kCsv},
                                              {"json", trace::FileFormat::kJson}};
const Choices<trace::Compat> kCompats{{"tracelens", trace::Compat::kTraceLens}};

std::vector<std::string> architecture_words() {
  std::vector<std::string> words;
  for (const model::GpuSpecs& specs : model::all_gpu_specs()) {
    // A shell would take a name with a space for two words.
    if (specs.name.find(' ') == std::string_view::npos) words.emplace_back(specs.name);
  }
  return words;
}

void show(const Presentation& presentation, const trace::CommandResult& result) {
  if (result.book) {
    print_book(*result.book);
  } else if (presentation.shows_summary()) {
    print_summary(result.summary, presentation.summary());
  }
  if (!result.book && !presentation.quiet) show_written(result.written);
  show_warnings(result.warnings);
}

std::string two_labels_problem(const std::string& text) {
  const std::vector<std::string> labels = split(text, ',');
  if (labels.size() != 2 || labels[0].empty() || labels[1].empty()) {
    return "'" + text + "' is not two labels separated by a comma";
  }
  return labels[0] == labels[1] ? "the two labels must differ" : "";
}

std::string labels_problem(const std::string& text) {
  const std::vector<std::string> labels = split(text, ',');
  if (labels.size() < 2 || std::find(labels.begin(), labels.end(), "") != labels.end())
    return "'" + text + "' is not a list of labels separated by commas";
  const std::set<std::string> distinct(labels.begin(), labels.end());
  return distinct.size() != labels.size() ? "the labels must differ" : "";
}

}  // namespace

void show_written(const std::vector<std::filesystem::path>& files) {
  const bool all = files.size() <= kFilesNamed;
  std::size_t named = 0;
  for (const std::filesystem::path& file : files) {
    const bool workbook = file.extension() == ".xlsx";
    if (!all && (!workbook || named == kFilesNamed)) continue;
    print_note("wrote " + file.string());
    ++named;
  }
  if (named < files.size()) {
    print_note(fmt::format("and {} more: JSON files, CSV folders and workbooks beside them",
                           files.size() - named));
  }
}

void show_warnings(const model::Warnings& warnings) {
  for (const model::Warning& warning : warnings.all()) {
    print_warning(warning.sentence());
  }
}

void add_output_options(App& app,
                        Presentation& presentation,
                        trace::Request& request,
                        const OutputHelp& help) {
  const bool dash = help.dash == OutputHelp::Dash::kAllowed;
  const auto set_output = [&request](const std::string& folder) {
    request.output.folder = folder;
    if (folder == "-") request.output = {trace::Output::Kind::kBook, {}, {}};
  };
  const char* group = "Output options";
  Option* output = app.add_option(
      "-o,--output", set_output,
      dash ? "write files into this folder; '-' writes none, and the whole book as JSON to "
             "standard output"
           : "write files into this folder");
  output->type_name("DIR")->default_str(help.default_folder)->group(group);
  if (!dash) {
    output->check([](const std::string& folder) {
      return folder == "-" ? "'-' would need a single book; name a folder" : "";
    });
  }
  add_choice_list(app, "--write", request.output.formats, kFileFormats,
                  "kinds of files to write: workbooks, a folder of CSV files per workbook, JSON")
      ->group(group);
  add_presentation_options(app, presentation);
}

void add_analysis_options(App& app, trace::Request& request) {
  const char* group = "Analysis options";
  app.add_option("--arch", request.architecture,
                 "GPU peaks for the roofline: a bundled name (H100, H200, A100, B200, MI300X, "
                 "MI325X) or a JSON file")
      ->type_name("NAME|FILE")
      ->suggest(architecture_words())
      ->default_str("the trace's GPU")
      ->group(group);
  app.add_option("--short-kernel-us", request.options.short_kernel_us,
                 "kernels below this duration count as short")
      ->type_name("US")
      ->check(positive_number_problem)
      ->default_str(fmt::format("{}", request.options.short_kernel_us))
      ->group(group);
  Option* compat =
      add_choice(app, "--compat", request.options.compat, kCompats,
                 "reproduce the figures of this public tool, its known defects included");
  compat->default_str("")->group(group);
  app.add_flag("--include-unlinked", request.options.include_unlinked,
               "with --compat: count kernels that no recorded call launched")
      ->needs(compat)
      ->group(group);
  add_threads(app, request);
}

void add_threads(App& app, trace::Request& request) {
  app.add_option("--threads", request.threads, "traces to read at the same time")
      ->type_name("N")
      ->check(whole_number_problem)
      ->default_str("one per processor")
      ->group("Analysis options");
}

void add_labels(App& app, std::string& baseline, std::string& test) {
  const auto set_labels = [&baseline, &test](const std::string& text) {
    const std::vector<std::string> labels = split(text, ',');
    baseline = labels[0];
    test = labels[1];
  };
  app.add_option("--labels", set_labels, "what to call the two, in this order")
      ->type_name("BASELINE,TEST")
      ->check(two_labels_problem)
      ->default_str("the names of their folders")
      ->group("Comparison options");
}

void add_labels(App& app, std::vector<std::string>& labels) {
  const auto set_labels = [&labels](const std::string& text) { labels = split(text, ','); };
  app.add_option("--labels", set_labels, "what to call the configurations, in this order")
      ->type_name("BASELINE,TEST")
      ->check(labels_problem)
      ->default_str("the names of their folders")
      ->group("Comparison options");
}

void add_python_options(App& app, trace::Options& options) {
  app.add_flag("--call-stacks", options.call_stacks,
               "show the time of kernels by call stack and by Python function, where the trace has "
               "call stacks (with_stack): the sheets call_stacks and python_functions")
      ->excludes(app.find("--compat"))
      ->group("Analysis options");
  app.add_flag("--detect-recompute,--detect_recompute", options.detect_recompute,
               "tell the activations that backward computes again (checkpointing): the sheets "
               "gpu_timeline_recompute and recompute, and the column is_recompute of the sheets of "
               "operators")
      ->excludes(app.find("--compat"))
      ->group("Analysis options");
}

void add_parts_options(App& app, trace::Parts& parts) {
  const auto only = [&](const std::string& name, trace::Parts part, const std::string& help) {
    return app
        .add_flag(
            name, [&parts, part] { parts = part; }, help)
        ->group("Selection options");
  };
  Option* individual =
      only("--individual-only", trace::Parts::kIndividual, "only the reports of each rank");
  Option* collective = only("--collective-only", trace::Parts::kCollective,
                            "only the report of the communication between ranks");
  individual->excludes(collective);
}

void add_gpus_per_node(App& app, std::optional<int>& gpus_per_node) {
  app.add_option("--gpus-per-node", gpus_per_node, "tells ranks of one host from ranks of several")
      ->type_name("N")
      ->check(whole_number_problem)
      ->default_str("the trace's number of devices")
      ->group("Analysis options");
}

void add_tolerance(App& app, double& tolerance_percent) {
  app.add_option("--tolerance", tolerance_percent,
                 "differences of less than this are of no interest: a figure whose whole "
                 "confidence interval lies within it is called Same")
      ->type_name("PERCENT")
      ->check(not_negative_problem)
      ->default_str(fmt::format("{}", tolerance_percent))
      ->group("Comparison options");
}

core::Result<trace::CommandResult> run_and_show(
    const Presentation& presentation,
    const std::function<core::Result<trace::CommandResult>(core::Progress&)>& call) {
  core::Progress progress("reading", presentation.quiet ? core::Progress::Show::kNever
                                                        : core::Progress::Show::kOnTerminal);
  const trace::CommandResult result = ASSAY_TRY(call(progress));
  ASSAY_TRY(core::check_interrupt());
  progress.clear();
  show(presentation, result);
  if (!result.incomplete.empty()) return core::Error{result.incomplete};
  return result;
}

}  // namespace assay::cli
