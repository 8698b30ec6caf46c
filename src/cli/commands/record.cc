#include "recorder/record.h"

#include <fmt/core.h>

#include <cstdlib>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "core/counted.h"
#include "core/shell.h"
#include "sweep/launcher.h"

namespace assay::cli {
namespace {

constexpr double kMegabyte = 1e6;

class Record final : public Command {
 public:
  explicit Record(App& app) {
    app.add_option("-o,--output", options_.folder, "the recording's folder, without one in it")
        ->type_name("DIR")
        ->default_str("assay-recording");
    add_choice_list<std::string>(app, "--events", events_,
                                 {{"kernel-channels", "kernel-channels"}, {"proxy", "proxy"}},
                                 "record these, too: when each channel of a kernel ran (with "
                                 "--kernel-times nccl it is), and each transfer over the network")
        ->default_str("none");
    add_choice<std::string>(
        app, "--kernel-times", options_.kernel_times,
        {{"nccl", "nccl"}, {"cupti", "cupti"}, {"off", "off"}},
        "who tells when kernels ran: NCCL's own timers; CUPTI, which also tells "
        "what CUDA graphs run; or nobody")
        ->default_str("nccl");
    app.add_option("--limit-mb", options_.limit_mb, "end a process's recording at this size")
        ->type_name("N")
        ->check(whole_number_problem)
        ->default_str("1024");
    app.add_flag(
        "--no-nccl-log", [this] { options_.nccl_log = recorder::RecordOptions::NcclLog::kOff; },
        "do without NCCL's own log, which alone tells its rings and trees");
  }

  [[nodiscard]] core::Status check() const override {
    if (options_.command.empty()) return core::Error{"no command after '--'"};
    return {};
  }

  void take_rest(const std::vector<std::string>& rest) override { options_.command = rest; }

  core::Result<Outcome> run() override {
    options_.events = core::join(events_, ",");
    const recorder::RecordPlan plan = ASSAY_TRY(recorder::plan_recording(options_));
    for (const std::string& note : plan.notes)
      print_note(note);
    const recorder::Recorded recorded =
        ASSAY_TRY(recorder::record(options_, plan, forwarded(plan)));
    for (const std::string& warning : recorded.warnings)
      print_warning(warning);
    if (recorded.not_started.empty()) show(plan, recorded);
    return ending(recorded);
  }

 private:
  // The exit code of the command is our own, but for a caller inside another process: to it the
  // numbers of commands mean other things.
  [[nodiscard]] core::Result<Outcome> ending(const recorder::Recorded& recorded) const {
    Listener* caller = Listener::current();
    if (caller == nullptr) {
      if (!recorded.not_started.empty()) print_error(recorded.not_started);
      return static_cast<Outcome>(recorded.exit_code);
    }
    caller->take_exit_code(recorded.exit_code);
    if (!recorded.not_started.empty()) return core::Error{recorded.not_started};
    if (recorded.exit_code == 0) return Outcome::kOk;
    return core::Error{
        fmt::format("'{}' ended with exit code {}", options_.command[0], recorded.exit_code)};
  }

  // Returns the variables that make a launcher forward those of the plan to ranks on other hosts.
  [[nodiscard]] recorder::Environment forwarded(const recorder::RecordPlan& plan) const {
    const char* inherited = std::getenv(sweep::kOpenMpiForwarding);
    const sweep::Forwarding forwarding =
        sweep::forwarding(options_.command, plan.variables, inherited == nullptr ? "" : inherited);
    if (!forwarding.warning.empty()) print_warning(forwarding.warning);
    if (!forwarding.variable) return {};
    return {*forwarding.variable};
  }

  static void show(const recorder::RecordPlan& plan, const recorder::Recorded& recorded) {
    const std::string folder = plan.folder.string();
    if (recorded.processes == 0) {
      print_warning(fmt::format(
          "nothing was recorded in {}: the command used no NCCL of 2.27 or newer, or its processes "
          "could not write there",
          folder));
      return;
    }
    print_note(fmt::format(
        "recorded {}, {}, {}, {:.1f} MB in {}; next:\n  assay goal generate {} -o {}",
        core::counted(recorded.processes, "process", "processes"),
        core::counted(recorded.operations, "operation"), core::counted(recorded.kernels, "kernel"),
        static_cast<double>(recorded.size_bytes) / kMegabyte, folder, core::shell_quoted(folder),
        core::shell_quoted(folder + "-goal")));
  }

  recorder::RecordOptions options_;
  std::vector<std::string> events_;
};

const CommandSpec kRecord{
    .name = "record",
    .summary = "run a command and record what it does with NCCL",
    .description =
        "Starts the command with a plugin that NCCL (2.27 or newer, as it is) loads into each of "
        "its processes. Each writes one file into the folder: every call of NCCL, its "
        "communicator, size, algorithm, protocol and channels, and when its kernel ran. The "
        "command keeps this terminal, its streams and its signals; its exit code is passed on, "
        "and 127 says that there is no such command, 126 that it cannot be started. A process that "
        "is killed leaves a readable file, which lacks at most its last 0.2 s.\n\n"
        "NCCL's log goes to the same folder (NCCL_DEBUG=INFO, its subsystems INIT, GRAPH and "
        "TUNING), because it alone tells the rings and trees; what your environment says about "
        "NCCL_DEBUG stays.\n\n"
        "The times of kernels come from NCCL's own timers, which leave all other kernels alone. "
        "What CUDA "
        "graphs run is known to CUPTI alone (--kernel-times cupti), which makes every kernel of "
        "the "
        "process dearer: a step that waits for its host takes longer. The process must be able to "
        "load it (PyTorch brings it along), and it serves one profiler at a time.\n\n"
        "Where the command cannot be started from here, do the same by hand in every process: "
        "NCCL_PROFILER_PLUGIN=.../libassay_recorder.so ASSAY_RECORDER_OUTPUT=DIR, with "
        "ASSAY_RECORDER_EVENTS, ASSAY_RECORDER_KERNEL_TIMES, ASSAY_RECORDER_LIMIT_MB and "
        "ASSAY_RECORDER_CUPTI=FILE for the rest. %h and %p in DIR are the host and the process. On "
        "several hosts, DIR should "
        "be on a file system that they share.",
    .examples =
        "assay record -o rec -- torchrun --nproc_per_node 2 train.py\n"
        "assay record -o rec -- mpirun -n 16 -H a:8,b:8 ./all_reduce_perf -b 1M -e 64M\n"
        "assay record -o rec --kernel-times cupti -- python serve_with_graphs.py\n"
        "assay record -o rec --events proxy -- python train.py\n",
    .rest = "COMMAND...",
    .rest_help = "what to run, with its arguments",
    .make = make_command<Record>,
};
ASSAY_REGISTER(CommandSpec, kRecord);

}  // namespace
}  // namespace assay::cli
