#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/rank_traces.h"
#include "cli/summary_output.h"
#include "core/counted.h"
#include "core/interrupt.h"
#include "core/registry.h"
#include "core/shell.h"
#include "core/terminal.h"
#include "core/text.h"
#include "sweep/preset.h"
#include "sweep/repeated_traces.h"
#include "sweep/request.h"
#include "sweep/run_doubts.h"
#include "sweep/summary.h"
#include "sweep/sweep.h"
#include "trace/file_check.h"

namespace assay::cli {
namespace {

constexpr const char* kWhatGroup = "Setting options";
constexpr const char* kHowGroup = "Run options";
constexpr const char* kOutputGroup = "Output options";

// More threads would finish sooner, but need more memory beside the workload.
constexpr unsigned kCheckThreads = 2;

// Ending a run takes the grace period, and up to 10 s more if even SIGKILL does not work at once.
constexpr unsigned kSecondsAfterGrace = 15;

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const sweep::PresetSpec* preset : core::Registry<sweep::PresetSpec>::all())
    names.emplace_back(preset->name);
  return names;
}

// Returns a text such as "nccl-algo ALGO,PROTO; nccl-ctas CTAS,THREADS".
std::string preset_pairs() {
  std::vector<std::string> pairs;
  for (const sweep::PresetSpec* preset : core::Registry<sweep::PresetSpec>::all())
    pairs.push_back(fmt::format("{}: {}", preset->name, preset->pair));
  return core::join(pairs, "; ");
}

std::string time_limit_problem(const std::string& text) {
  std::string problem = positive_number_problem(text);
  if (!problem.empty()) return problem;
  const auto limit = sweep::time_limit(finite_number(text).value_or(0));
  return limit.ok() ? "" : limit.error().message;
}

std::string left_text(const sweep::Standing& standing) {
  if (!standing.left_seconds) return "";
  return fmt::format(", about {} left", core::duration_text(*standing.left_seconds));
}

std::string record_text(const sweep::Standing& standing, const sweep::RunRecord& record) {
  std::string text =
      fmt::format("{} of {}: {}: {}, {:.1f} s", standing.position, standing.total, standing.title,
                  sweep::status_text(record.status), record.duration_s);
  if (!record.detail.empty()) text += ", " + record.detail;
  if (record.status == sweep::RunStatus::kOk) {
    text += fmt::format(", {} of {} whole", record.traces.whole,
                        core::counted(record.traces.expected, "trace"));
  } else {
    text += fmt::format(" (see {})", (record.folder / sweep::kOutputLog).string());
  }
  return text;
}

class SweepRun final : public Command {
 public:
  explicit SweepRun(App& app) {
    add_settings(app);
    add_runs(app);
    add_outputs(app);
  }

  [[nodiscard]] core::Status check() const override { return sweep::check(request_); }

  void take_rest(const std::vector<std::string>& rest) override { request_.command = rest; }

  core::Result<Outcome> run() override {
    request_.purpose = dry_run_ ? sweep::Request::Purpose::kShow : sweep::Request::Purpose::kRun;
    const sweep::PreparedSweep sweep = ASSAY_TRY(sweep::prepare(request_));
    for (const auto* warnings : {&sweep.warnings, &sweep.changed})
      for (const std::string& warning : *warnings)
        print_warning(warning);
    options_.changed = sweep.changed;
    if (dry_run_) return show_plan(sweep);
    const auto grace_seconds = std::chrono::ceil<std::chrono::seconds>(options_.grace).count();
    core::allow_seconds_to_stop(static_cast<unsigned>(grace_seconds) + kSecondsAfterGrace);
    core::set_last_words("assay: the run's processes are being ended; go on with --resume\n");
    const sweep::SweepFolder folder = ASSAY_TRY(open(sweep));
    const auto records = run_all(folder, sweep.plan);
    if (core::interrupted()) {
      print_note(fmt::format("go on with: assay sweep run --resume -o {}",
                             core::shell_quoted(folder.path().string())));
    }
    return show(folder, sweep.plan, ASSAY_TRY(records));
  }

 private:
  void add_settings(App& app) {
    app.add_option(
           "-p,--pairs", [this](const std::string& pairs) { request_.pairs = pairs; },
           "the preset's settings, separated by spaces: \"56,256 37,384\"; 'default' is the "
           "one that sets nothing")
        ->type_name("PAIRS")
        ->default_str("the preset's own")
        ->group(kWhatGroup);
    app.add_option("--preset", request_.preset, "what the pairs set; " + preset_pairs())
        ->type_name(core::join(preset_names(), "|"))
        ->check([](const std::string& word) { return choice_problem(word, preset_names()); })
        ->default_str(sweep::kDefaultPreset)
        ->group(kWhatGroup);
    app.add_option("--set", request_.axes,
                   "sweep this variable over these values, in combination with all else; an "
                   "empty value leaves it unset; may be repeated; '\\,' is a comma in a value")
        ->type_name("NAME=V1,V2,...")
        ->one_value_each()
        ->group(kWhatGroup);
    app.add_option("-c,--config", request_.config,
                   "the workload's configuration file: {config} in the command")
        ->type_name("FILE")
        ->group(kWhatGroup);
  }

  void add_runs(App& app) {
    app.add_option("--repeat", request_.repeats, "runs of each setting")
        ->type_name("N")
        ->check(whole_number_problem)
        ->default_str("1")
        ->group(kHowGroup);
    app.add_option("--seed", request_.seed, "of the random order")
        ->type_name("N")
        ->check(whole_number_problem)
        ->default_str("another each time")
        ->group(kHowGroup);
    add_seconds(app, "--deadline", "end a run that takes longer", [this](double s) {
      options_.deadline = sweep::time_limit(s).value();
    })->default_str("none");
    add_seconds(app, "--grace", "how long a run may take to heed SIGTERM before SIGKILL",
                [this](double s) { options_.grace = sweep::time_limit(s).value(); })
        ->default_str("10");
    app.add_option("--expect-library", request_.expected_library,
                   "warn unless the run's processes load this libnccl or librccl")
        ->type_name("FILE")
        ->group(kHowGroup);
    app.add_flag(
           "--resume", [this] { resume(); },
           "go on with the sweep in --output: run what has no record yet")
        ->group(kHowGroup);
    app.add_flag(
           "--resume-retry-failed",
           [this] {
             resume();
             options_.failed = sweep::SweepOptions::Failed::kRetry;
           },
           "the same, and run again what failed")
        ->group(kHowGroup);
    app.add_flag("--plan-only,--dry-run", dry_run_,
                 "show the runs and their commands; start and write nothing")
        ->group(kHowGroup);
  }

  void add_outputs(App& app) {
    app.add_option("-o,--output", request_.folder, "the sweep's folder")
        ->type_name("DIR")
        ->default_str("experiments/<preset>_<date>_<time>")
        ->group(kOutputGroup);
    add_presentation_options(app, presentation_);
  }

  template <class Assign>
  static Option* add_seconds(App& app,
                             const std::string& name,
                             const std::string& help,
                             Assign assign) {
    return app.add_option(name, assign, help)
        ->type_name("SECONDS")
        ->check(time_limit_problem)
        ->group(kHowGroup);
  }

  void resume() { request_.mode = sweep::Request::Mode::kResume; }

  [[nodiscard]] core::Result<Outcome> show_plan(const sweep::PreparedSweep& sweep) const {
    if (presentation_.summary() == Summary::kTable) {
      print(sweep::plan_script(sweep, options_.failed));
    } else {
      print_summary({.title = "Planned runs", .tables = {planned_runs(sweep, options_.failed)}},
                    presentation_.summary());
    }
    return Outcome::kOk;
  }

  [[nodiscard]] core::Result<sweep::SweepFolder> open(const sweep::PreparedSweep& sweep) const {
    if (request_.mode == sweep::Request::Mode::kNew) {
      return sweep::SweepFolder::create(sweep.folder, sweep.plan);
    }
    sweep::SweepFolder folder =
        ASSAY_TRY(sweep::SweepFolder::reopen(sweep.folder, [](const std::string& holder) {
          print_note(fmt::format("waiting for the last run of {} to end", holder));
        }));
    if (sweep.extended) ASSAY_TRY(folder.extend(sweep.plan));
    return folder;
  }

  core::Result<std::vector<sweep::RunRecord>> run_all(const sweep::SweepFolder& folder,
                                                      const sweep::Plan& plan) const {
    core::TerminalLine line(presentation_.quiet ? core::TerminalLine::Show::kNever
                                                : core::TerminalLine::Show::kOnTerminal);
    if (!presentation_.quiet) print_note(opening(folder, plan));
    sweep::SweepHooks hooks;
    hooks.check_traces = [](const std::filesystem::path& run) { return check_traces(run); };
    bool stopping = false;
    bool told = false;
    hooks.on_tick = [&](const sweep::Standing& standing) {
      if (core::interrupted() && !std::exchange(stopping, true)) {
        line.clear();
        print_note(fmt::format("ending {}; Ctrl-C again leaves at once", standing.title));
      }
      line.draw(fmt::format("{} of {}: {}, {}{}", standing.position, standing.total, standing.title,
                            core::duration_text(standing.run_seconds), left_text(standing)));
    };
    hooks.on_end = [&](const sweep::Standing& standing, const sweep::RunRecord& record) {
      line.clear();
      if (!presentation_.quiet) print_note(record_text(standing, record));
      if (const std::string idle = sweep::idle_in_words(plan, record.seen);
          !idle.empty() && !std::exchange(told, true))
        print_warning(idle +
                      " in this run: the setting is not applied, and nothing will be "
                      "compared. Ctrl-C ends the sweep");
    };
    hooks.on_records = [&](std::span<const sweep::RunRecord> records) {
      return sweep::write_summary(sweep::summary(plan, records, folder.path()), folder.path());
    };
    return sweep::run_sweep(folder, plan, options_, hooks);
  }

  static std::string opening(const sweep::SweepFolder& folder, const sweep::Plan& plan) {
    return fmt::format("{} settings x {} runs into {}, order by seed {}", plan.settings.size(),
                       plan.repeats, folder.path().string(), plan.seed);
  }

  static sweep::TraceCheck check_traces(const std::filesystem::path& run) {
    const auto checked = trace::check_traces(run, kCheckThreads);
    if (!checked.ok()) return {0, 0, "no torch_profiler/rank<N>/*.json in {dir}"};
    const trace::TraceCheck& check = checked.value();
    const auto whole = std::count_if(check.files.begin(), check.files.end(), [](const auto& file) {
      return file.state == trace::TraceFileCheck::State::kWhole;
    });
    const int expected = std::max(static_cast<int>(check.files.size()), check.world_size);
    return {static_cast<int>(whole), expected, check.problem()};
  }

  [[nodiscard]] core::Result<Outcome> show(const sweep::SweepFolder& folder,
                                           const sweep::Plan& plan,
                                           const std::vector<sweep::RunRecord>& records) const {
    const model::Book book = sweep::summary(plan, records, folder.path());
    ASSAY_TRY(sweep::write_summary(book, folder.path()));
    const bool words = presentation_.summary() == Summary::kTable;
    if (presentation_.shows_summary()) {
      print_summary(words ? sweep::for_terminal(book) : book, presentation_.summary());
    }
    if (const model::Table* warnings = book.find("warnings")) {
      for (std::size_t row = 0; row < warnings->row_count(); ++row)
        print_warning(fmt::format("{} ({})", model::text(warnings->at(row, 0)),
                                  model::text(warnings->at(row, 1))));
    }
    for (const std::string& warning : sweep::repeated_traces(records, rank_traces))
      print_warning(warning);
    const auto good = std::count_if(records.begin(), records.end(), [](const auto& record) {
      return record.status == sweep::RunStatus::kOk;
    });
    const auto bad = records.size() - static_cast<std::size_t>(good);
    if (bad == 0) return Outcome::kOk;
    return core::Error{
        fmt::format("{} of {} did not go well", bad, core::counted(records.size(), "run"))};
  }

  sweep::Request request_;
  sweep::SweepOptions options_;
  Presentation presentation_;
  bool dry_run_ = false;
};

const CommandSpec kSweepRun{
    .name = "sweep run",
    .summary = "run a command under every setting, and keep what came of it",
    .description =
        "Starts the command once for every setting and repeat, one at a time, in random order, so "
        "that a machine that drifts favours no setting. In the command, {dir} becomes the run's "
        "folder, where it should write torch_profiler/rank<N>/*.json[.gz]; {setting}, {repeat} and "
        "{config} become what they say, and {NAME} the value of a swept variable. All else stays "
        "as it is. Every variable that a setting sweeps is set or unset for the command, whatever "
        "this shell has; other variables are inherited.\n\n"
        "A run that fails, outlasts its deadline or leaves a trace that is damaged or has no GPU "
        "work is recorded, and the others go on. If the disk is full then, the files of that run "
        "are removed. Ctrl-C and "
        "deadlines end the command and everything it started, in "
        "whatever session or process group. After Ctrl-C or a kill, --resume runs what is "
        "missing, and warns where a file that the command names was changed since the sweep's last "
        "run, or where a variable of NCCL, RCCL or the choice of GPUs differs from when the sweep "
        "began. Files are told apart by their bytes, above 1 MiB by size and time; one that was "
        "last written while the sweep ran, such as a log of the command, is not told.\n\n"
        "Beside each run's traces stand its output (run_output.log; <run>.log beside its folder "
        "until it ends) and what it was measured with: the NCCL or RCCL that its processes loaded, "
        "the driver, the GPUs, their clocks, other processes on them.",
    .examples =
        "assay sweep run -p \"56,256 37,384 32,512\" -c config.yaml -- \\\n"
        "    torchrun --nproc_per_node 8 train.py --config {config} --output {dir}\n"
        "assay sweep run --preset nccl-ctas --repeat 3 --deadline 300 -o runs/ctas -- \\\n"
        "    mpirun -n 8 ./train {dir}\n"
        "assay sweep run --set NCCL_ALGO=,Ring --set NCCL_PROTO=Simple,LL -- python train.py "
        "{dir}\n"
        "assay sweep run --resume -o runs/ctas\n",
    .rest = "COMMAND...",
    .rest_help = "what to run, with its arguments; after --resume it need not be said again",
    .make = make_command<SweepRun>,
};
ASSAY_REGISTER(CommandSpec, kSweepRun);

}  // namespace
}  // namespace assay::cli
