#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "cli/goal_outputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "cli/trace_options.h"
#include "cli/version.h"
#include "core/counted.h"
#include "goal/generate.h"
#include "goal/input.h"
#include "goal/label.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using goal::CostChoice;

// Parses "mean", "median", "p90" or "sample", which chooses among several measurements of a size.
core::Result<CostChoice> cost_choice(const std::string& text, std::uint64_t seed) {
  if (text == "mean") return CostChoice{};
  if (text == "median") return CostChoice{CostChoice::Kind::kQuantile, 0.5, seed};
  if (text == "sample") return CostChoice{CostChoice::Kind::kSample, 0.5, seed};
  unsigned percent = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] =
      std::from_chars(text.data() + std::min<std::size_t>(1, text.size()), end, percent);
  if (text.starts_with("p") && error == std::errc() && at == end && percent <= 100) {
    return CostChoice{CostChoice::Kind::kQuantile, percent / 100.0, seed};
  }
  return core::Error{"'" + text + "' is none of mean, median, sample, p0 to p100"};
}

class GoalGenerate final : public Command {
 public:
  explicit GoalGenerate(App& app) {
    add_input_options(app);
    add_cost_options(app);
    add_graph_options(app);
    add_tag_options(app);
    add_text_options(app);
    app.note_given(given_);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    ASSAY_TRY(check_costs());
    ASSAY_TRY(check_tags());
    ASSAY_TRY(check_simulator());
    ASSAY_TRY(check_job());
    const goal::Window& window = request_.window;
    if (window.from_s && window.to_s && *window.from_s >= *window.to_s) {
      return core::Error{
          fmt::format("--from {} is not before --to {}", *window.from_s, *window.to_s)};
    }
    if (request_.compat == goal::Compat::kV2 && (npkit_simple_.empty() || npkit_ll_.empty())) {
      return core::Error{"--compat v2 needs NPKit's summaries: -s and -l"};
    }
    return {};
  }

  core::Result<Outcome> run() override {
    request_.costs = ASSAY_TRY(read_costs());
    request_.costs.choice = ASSAY_TRY(cost_choice(cost_choice_, seed_));
    request_.target.generator = program_version();
    request_.options.threads = threads();
    request_.input_options.threads = threads();
    request_.target.text_files = text_files();
    if (given_.contains("--workers") && !parallel_) {
      print_note("-w has no effect without -p: ranks are made one after another");
    }
    if (merged_) request_.options.streams.streams = goal::Streams::kMergedWhenDisjoint;
    if (strict_) request_.options.misfits = goal::Misfits::kFail;
    apply(simulator_, request_);
    const goal::GenerateResult result = ASSAY_TRY(generate());
    show_warnings(result.warnings);
    if (presentation_.shows_summary()) {
      print_summary(result.summary, presentation_.summary());
    }
    if (!presentation_.quiet) tell_written(result, request_.simulator);
    return Outcome::kOk;
  }

 private:
  core::Result<goal::GenerateResult> generate() {
    auto file = ASSAY_TRY(goal::find_job_file(request_.input));
    if (file) ASSAY_TRY(adopt(*file));
    ASSAY_TRY(check_scale());
    if (!file) return goal::generate(request_);
    return goal::generate_of(ASSAY_TRY(goal::cut_window(std::move(file->job), request_.window)),
                             request_);
  }

  // What a job's file says holds where no option says otherwise.
  core::Status adopt(const goal::JobFile& file) {
    if (given_.contains("--nccl-log")) {
      return core::Error{"--nccl-log is for recordings: a job's file has its rings and trees"};
    }
    if (given_.contains("--gpus-per-node")) {
      return core::Error{"--gpus-per-node is for Chakra's traces: a job's file has its nodes"};
    }
    const auto take = [this](const char* option, auto& value, const auto& from_file) {
      if (!given_.contains(option)) value = from_file;
    };
    take("--replicas", request_.scale.replicas, file.scale.replicas);
    take("--replica-communicator", request_.scale.communicator, file.scale.communicator);
    take("--keep-algorithms", request_.choices.keep, file.choices.keep);
    take("--nic-bandwidth", request_.choices.nic_gbps, file.choices.nic_gbps);
    take("--merged", request_.options.streams.streams, file.streams.streams);
    take("--stream-order", request_.options.streams.order, file.streams.order);
    const bool other_costs = !costs_file_.empty() || !npkit_simple_.empty() || !npkit_ll_.empty();
    if (!other_costs) request_.costs = file.costs;
    return {};
  }

  core::Status check_simulator() const {
    const auto name = simulator_option_in(given_);
    if (name && request_.compat == goal::Compat::kV2) {
      return core::Error{
          fmt::format("{} is not for --compat v2, which makes the public graph as it is", *name)};
    }
    for (const char* option : {"--stream-order", "--strict"}) {
      if (request_.compat != goal::Compat::kV2 || !given_.contains(option)) continue;
      return core::Error{
          fmt::format("{} is not for --compat v2, which makes the public graph as it is", option)};
    }
    return check_simulator_options(simulator_, given_, writes_schedule());
  }

  // A job keeps what was recorded, and how it grows; all else is of the schedule that is made of
  // it.
  core::Status check_job() const {
    if (writes_schedule()) return {};
    for (const char* name : {"--label", "--tag-layout", "--compat"}) {
      if (!given_.contains(name)) continue;
      return core::Error{
          fmt::format("{} is of a schedule, not of a job: --write bin or --write text", name)};
    }
    return {};
  }

  core::Status check_costs() const {
    const bool has_npkit = !npkit_simple_.empty() || !npkit_ll_.empty();
    if (!costs_file_.empty() && has_npkit) {
      return core::Error{"--costs and NPKit summaries (-s, -l) exclude each other"};
    }
    const auto choice = ASSAY_TRY(cost_choice(cost_choice_, seed_));
    if (given_.contains("--cost") && !has_npkit) {
      return core::Error{"--cost chooses among NPKit's measurements: it needs -s or -l"};
    }
    if (given_.contains("--seed") && choice.kind != CostChoice::Kind::kSample) {
      return core::Error{"--seed needs --cost sample"};
    }
    return {};
  }

  // Checks that options of a larger job say something: those of a job's file may come to use later.
  core::Status check_scale() const {
    if (request_.choices.keep && given_.contains("--nic-bandwidth")) {
      return core::Error{
          "--nic-bandwidth is what NCCL chooses by, and --keep-algorithms lets it choose nothing"};
    }
    if (request_.scale.replicas > 1 || !writes_schedule()) return {};
    for (const char* name : {"--replica-communicator", "--keep-algorithms", "--nic-bandwidth"}) {
      if (given_.contains(name)) return core::Error{fmt::format("{} needs --replicas", name)};
    }
    return {};
  }

  [[nodiscard]] bool writes_schedule() const {
    return request_.target.format != goal::ScheduleFormat::kJob;
  }

  core::Status check_tags() const {
    const goal::TagOptions& tags = request_.options.tags;
    if (tags.layout != "auto" && tags.layout != "none") {
      static_cast<void>(ASSAY_TRY(goal::read_tag_widths(tags.layout)));
    }
    if (tags.label.empty()) return {};
    static_cast<void>(ASSAY_TRY(goal::label_function(tags.label)));
    if (tags.layout == "none") return core::Error{"--tag-layout none leaves no room for --label"};
    if (request_.compat == goal::Compat::kV2) {
      return core::Error{"--compat v2 has labels of its own: leave out --label"};
    }
    return {};
  }

  void add_input_options(App& app) {
    app.add_option("DIR,-i,--input,--trace_dir", request_.input,
                   "the recording: a folder with SQLite exports of Nsight Systems, recordings of "
                   "'assay record', or PyTorch profiler traces with NCCL logs; or one such file; "
                   "or a job's file of --write job")
        ->required();
    app.add_option("-o,--output,--output_dir", request_.target.folder,
                   "the folder to write the schedule into; made when missing")
        ->type_name("DIR")
        ->required();
    app.add_option("--nccl-log,--nccl_log", request_.input_options.nccl_logs,
                   "NCCL's logs (NCCL_DEBUG=INFO), for rings and trees that the recording lacks")
        ->type_name("FILE")
        ->default_str("those beside the recording");
    add_gpus_per_node(app, request_.input_options);
    app.add_flag("--strict", strict_,
                 "fail where ranks disagree or a rank lacks an operation, instead of leaving the "
                 "operation out and counting it");
    app.add_option("--from", request_.window.from_s,
                   "only operations that began this late in the recording, in seconds")
        ->type_name("SECONDS")
        ->default_str("the beginning");
    app.add_option("--to", request_.window.to_s,
                   "only operations that began before this time, in seconds")
        ->type_name("SECONDS")
        ->default_str("the end");
    app.add_option("--replicas", request_.scale.replicas,
                   "make the schedule of a job this many times as large: the recorded GPUs are "
                   "one data-parallel replica of several, each on nodes of its own")
        ->type_name("N")
        ->default_str("1")
        ->check(whole_number_problem);
    app.add_option(
           "--replica-communicator", request_.scale.communicator,
           "the communicators that synchronise replicas, by their names in the summary, with "
           "commas")
        ->type_name("NAMES")
        ->default_str("those of all ranks or with sharded parameters");
    app.add_flag(
        "--keep-algorithms", request_.choices.keep,
        "with --replicas: keep the recorded algorithms, protocols and channels, instead of "
        "those that NCCL's cost model chooses at the new size");
    app.add_option("--nic-bandwidth", request_.choices.nic_gbps,
                   "with --replicas: the network card of each GPU, in GB/s (1e9), by which NCCL "
                   "chooses")
        ->type_name("GBPS")
        ->default_str("50")
        ->check(positive_number_problem);
  }

  void add_cost_options(App& app) {
    const char* group = "Costs of a slice's copy or reduction";
    app.add_option("-s,--npkit-simple,--npkit_data_simple", npkit_simple_,
                   "NPKit summary of protocol Simple")
        ->type_name("FILE")
        ->group(group);
    app.add_option("-l,--npkit-ll,--npkit_data_ll", npkit_ll_,
                   "NPKit summary of protocol LL; LL128 takes it, too")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--costs", costs_file_, "a parameter file that 'assay simulate fit' wrote")
        ->type_name("FILE")
        ->default_str(goal::kDefaultCosts)
        ->group(group);
    app.add_option("--cost", cost_choice_,
                   "which of NPKit's measurements of a size counts: mean, median, p0 to p100, or "
                   "sample: one at random for each slice, the same in every run")
        ->type_name("WHICH")
        ->default_str("mean")
        ->group(group);
    app.add_option("--seed", seed_, "for --cost sample")
        ->type_name("N")
        ->default_str("0")
        ->check(count_problem)
        ->group(group);
  }

  void add_graph_options(App& app) {
    const char* group = "Graph";
    app.add_flag("-m,--merged", merged_,
                 "one chain for all streams of a GPU, if on no GPU any two overlap")
        ->group(group);
    const Choices<goal::StreamOrder> orders{{"observed", goal::StreamOrder::kObserved},
                                            {"independent", goal::StreamOrder::kIndependent}};
    add_choice(app, "--stream-order", request_.options.streams.order, orders,
               "what an operation follows besides its stream: the last one of any stream that had "
               "ended when it started, so that a slower network delays them all; or nothing")
        ->group(group);
    const Choices<goal::Compat> compats{{"v2", goal::Compat::kV2}};
    add_choice(app, "--compat", request_.compat, compats,
               "make the graph of the public generator (nccl_generator_v2), with its tags and its "
               "gaps, to compare with or to reproduce old results; needs -s and -l")
        ->default_str("")
        ->group(group);
    add_simulator_options(app, simulator_, group);
  }

  void add_tag_options(App& app) {
    const char* group = "Tags";
    app.add_option("--tag-layout", request_.options.tags.layout,
                   "auto: as much of parallelism, communicator, operation and sequence as 31 bits "
                   "hold; bits:I/C or decimal:I/C: I bits or digits for the number of a message "
                   "between two ranks, C for its label; legacy: decimal:4/5; none: no label")
        ->type_name("LAYOUT")
        ->default_str("auto")
        ->group(group);
    app.add_option(
           "--label", request_.options.tags.label,
           "what the tags carry: an expression of parallelism (Other 0, PP 1, DP 2, EP 3, TP 4), "
           "communicator, operation, sequence, bytes, root, source, destination, ranks and "
           "whole numbers with + - * / % ( ); the label 'pair', or others written in C++")
        ->type_name("EXPRESSION")
        ->default_str("a number for each operation, explained in the notes")
        ->group(group);
  }

  void add_text_options(App& app) {
    const char* group = "Output options";
    const Choices<goal::ScheduleFormat> formats{{"text", goal::ScheduleFormat::kText},
                                                {"bin", goal::ScheduleFormat::kBinary},
                                                {"job", goal::ScheduleFormat::kJob}};
    add_choice(app, "--write", request_.target.format, formats,
               "text; the binary form that simulators read; or the job itself, as large as the "
               "recording, whose graph "
               "'assay simulate' makes while it runs")
        ->group(group);
    app.add_flag("-p,--parallel,--parallel_generation", parallel_,
                 "work on several ranks at once; text then goes to one file a rank unless -c or "
                 "-r is given")
        ->group(group);
    app.add_flag("-c,--concatenate", concatenate_, "with -p: write the whole text, too")
        ->group(group);
    app.add_flag("-r,--delete-parts,--delete_parts", only_whole_,
                 "with -p: write the whole text only")
        ->group(group);
    app.add_option("-w,--workers,--n_workers", workers_, "ranks at once, with -p")
        ->type_name("N")
        ->default_str("one a processor")
        ->check(whole_number_problem)
        ->group(group);
    app.add_option("--write_buffer_size", unused_buffer_size_,
                   "accepted for scripts of the public generator, and without effect: text is "
                   "written in pieces of 256 KiB")
        ->type_name("SIZE")
        ->default_str("")
        ->group(group);
  }

  core::Result<goal::Costs> read_costs() const {
    if (!costs_file_.empty()) {
      const goal::LineCosts lines = ASSAY_TRY(goal::read_line_costs(costs_file_));
      return goal::costs_from_lines(lines, costs_file_);
    }
    const auto file = [](const std::string& name) {
      return name.empty() ? std::nullopt : std::optional<fs::path>(name);
    };
    if (!npkit_simple_.empty() || !npkit_ll_.empty()) {
      warn_of_npkit();
      return goal::read_npkit(file(npkit_simple_), file(npkit_ll_));
    }
    return goal::costs_from_lines(goal::default_costs(), goal::kDefaultCosts);
  }

  // The summaries look alike: their public names alone say of which protocol each is.
  void warn_of_npkit() const {
    const auto is_named = [](const std::string& file, const char* protocol) {
      return fs::path(file).filename().string().find(protocol) != std::string::npos;
    };
    if (is_named(npkit_simple_, "_LL")) {
      print_warning(fmt::format("-s {}: the name is that of a summary of LL", npkit_simple_));
    }
    if (is_named(npkit_ll_, "_Simple")) {
      print_warning(fmt::format("-l {}: the name is that of a summary of Simple", npkit_ll_));
    }
    if (npkit_ll_.empty()) {
      print_warning(fmt::format("without -l, LL and LL128 have the costs {}", goal::kDefaultCosts));
    }
    if (npkit_simple_.empty()) {
      print_warning(fmt::format("without -s, Simple has the costs {}", goal::kDefaultCosts));
    }
  }

  unsigned threads() const { return parallel_ ? workers_ : 1; }

  goal::TextFiles text_files() const {
    if (!parallel_ || only_whole_) return goal::TextFiles::kOne;
    return concatenate_ ? goal::TextFiles::kOneAndParts : goal::TextFiles::kParts;
  }

  goal::GenerateRequest request_;
  Presentation presentation_;
  std::string npkit_simple_;
  std::string npkit_ll_;
  std::string costs_file_;
  std::string cost_choice_ = "mean";
  std::string unused_buffer_size_;
  std::uint64_t seed_ = 0;
  SimulatorOptions simulator_;
  unsigned workers_ = 0;
  std::set<std::string> given_;
  bool merged_ = false;
  bool strict_ = false;
  bool parallel_ = false;
  bool concatenate_ = false;
  bool only_whole_ = false;
};

const CommandSpec kGoalGenerate{
    .name = "goal generate",
    .summary = "make a schedule of a recorded run",
    .description =
        "Every NCCL operation of the recording becomes the sends, receives and calculations that "
        "its algorithm and protocol make of it, channel by channel; the time between operations "
        "is kept. Sends and receives are proven to match before the schedule appears.\n\n"
        "Beside the schedule, output.notes.json says which GPU each rank is, which operation each "
        "part of the graph belongs to, what the tags carry, and the times that were measured.\n\n"
        "A job's file (--write job) becomes the schedule that 'assay simulate' makes of it, with "
        "the file's replicas, costs and order of streams; options override them.\n\n"
        "An operation that a rank lacks, or that ranks disagree about, is left out on all ranks "
        "and counted. A warning tells of operations that wait for each other in a circle: such a "
        "schedule ends with eager messages only, or not at all.",
    .examples =
        "assay goal generate recording -o out --write bin\n"
        "assay goal generate -i sqlite/ -o goal_merged -s npkit_data_summary_Simple.json \\\n"
        "    -l npkit_data_summary_LL.json -p -m -r\n"
        "assay goal generate recording -o out --write bin --for htsim\n"
        "assay goal generate recording -o large --write bin --replicas 16\n"
        "assay goal generate large/output.job.json -o out --write bin\n"
        "assay goal generate recording -o out --label 'parallelism + 100 * (sequence % 1000)'\n",
    .make = make_command<GoalGenerate>,
};
ASSAY_REGISTER(CommandSpec, kGoalGenerate);

}  // namespace
}  // namespace assay::cli
