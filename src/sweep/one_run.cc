#include "sweep/one_run.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/kept_process.h"
#include "core/terminal.h"
#include "sweep/command_line.h"
#include "sweep/launcher.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kTick{200};
// Libraries are loaded early, so the first looks follow each other closely. The later ones do not,
// because each look takes a little time from the machine.
constexpr milliseconds kFirstLook{100};
constexpr milliseconds kLongestPause{10'000};
// The GPUs are first read when they are likely to be busy, and then at growing intervals.
constexpr milliseconds kFirstGpuLook{5'000};
constexpr milliseconds kLongestGpuPause{60'000};

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Short runs begin within one second, and their order matters.
std::string local_time() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  const std::int64_t us = now.time_since_epoch().count();
  const std::tm time = fmt::localtime(static_cast<std::time_t>(us / 1'000'000));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}{:%z}", time, us % 1'000'000, time);
}

Forwarding forwarding_of(const std::vector<std::string>& command, const Setting& setting) {
  const char* inherited = std::getenv(kOpenMpiForwarding);
  return forwarding(command, setting.variables, inherited == nullptr ? "" : inherited);
}

core::Launch launch_of(const Plan& plan,
                       const PlannedRun& run,
                       const RunFiles& files,
                       const SweepOptions& options) {
  const Setting& setting = plan.settings[run.setting];
  const RunPlace place{setting, run.repeat, fs::absolute(files.folder), plan.config};
  core::Launch launch{.arguments = filled_in(plan.command, place),
                      .log = files.log,
                      .mark = {kMark, plan.id},
                      .grace = options.grace};
  for (const auto& [name, value] : setting.variables) {
    launch.environment.emplace_back(name, value.empty() ? std::nullopt : std::optional(value));
  }
  if (const auto forwarded = forwarding_of(launch.arguments, setting).variable) {
    launch.environment.emplace_back(forwarded->first, forwarded->second);
  }
  launch.environment.emplace_back(kRunFolderVariable, place.folder.string());
  launch.environment.emplace_back(kRunSettingVariable, setting.name);
  return launch;
}

struct Watched {
  core::ProcessEnd end;
  bool hung = false;
};

// Looks at the run's processes at growing intervals until the run has ended or was stopped.
class Watch {
 public:
  Watch(core::KeptProcess& process, const SweepOptions& options, Observer& observer)
      : process_(process), options_(options), observer_(observer) {}

  Watched until_end(const std::function<void(double)>& on_tick) {
    Watched result;
    while (true) {
      const auto end = process_.wait(next_wake());
      if (end) return {*end, result.hung};
      on_tick(seconds(Clock::now() - start_));
      if (!ending_ && core::interrupted()) stop();
      if (!ending_ && options_.deadline && Clock::now() - start_ >= *options_.deadline) {
        result.hung = true;
        stop();
      }
      if (!ending_ && Clock::now() >= next_look_) look();
    }
  }

 private:
  // Rounds up to whole milliseconds, because rounding down would wake too early.
  milliseconds next_wake() const {
    Clock::time_point wake = std::min(Clock::now() + kTick, next_look_);
    if (options_.deadline) wake = std::min(wake, start_ + *options_.deadline);
    if (ending_) wake = Clock::now() + kTick;
    return std::max(std::chrono::ceil<milliseconds>(wake - Clock::now()), milliseconds(0));
  }

  void look() {
    const bool gpus = Clock::now() >= next_gpu_look_;
    observer_.look(process_.processes(), gpus ? Observer::Gpus::kLook : Observer::Gpus::kSkip);
    if (gpus) {
      next_gpu_look_ = Clock::now() + gpu_pause_;
      gpu_pause_ = std::min(gpu_pause_ * 2, kLongestGpuPause);
    }
    pause_ = std::min(pause_ * 2, kLongestPause);
    next_look_ = Clock::now() + pause_;
  }

  void stop() {
    process_.end();
    ending_ = true;
  }

  core::KeptProcess& process_;
  const SweepOptions& options_;
  Observer& observer_;
  bool ending_ = false;
  milliseconds pause_ = kFirstLook;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_look_ = start_ + kFirstLook;
  milliseconds gpu_pause_ = kFirstGpuLook;
  Clock::time_point next_gpu_look_ = start_ + kFirstGpuLook;
};

// core::duration_text() rounds up to whole seconds, which would say 1 s of a limit of 0.4 s.
std::string limit_text(milliseconds limit) {
  const bool is_whole = limit % std::chrono::seconds(1) == milliseconds(0);
  return is_whole ? core::duration_text(seconds(limit)) : fmt::format("{} s", seconds(limit));
}

std::string how_it_ended(const Watched& watched, const SweepOptions& options) {
  if (watched.hung) {
    return fmt::format("ended at its deadline of {}{}", limit_text(*options.deadline),
                       watched.end.rest.forced > 0 ? ", by SIGKILL: it did not heed SIGTERM" : "");
  }
  if (watched.end.signal != 0) {
    return fmt::format("killed by signal {} ({})", watched.end.signal,
                       ::strsignal(watched.end.signal));
  }
  return watched.end.exit_code == 0 ? "" : fmt::format("exit code {}", watched.end.exit_code);
}

std::string processes(int count) {
  return fmt::format("{} {}", count, count == 1 ? "process" : "processes");
}

std::string left_behind(const core::EndedFamily& rest) {
  if (rest.remaining == 0) return fmt::format("left {} behind; ended", processes(rest.asked));
  return processes(rest.remaining) + " could not be ended, not even by SIGKILL";
}

void fill_in(RunRecord& record, const Watched& watched, const SweepOptions& options) {
  record.exit_code = watched.end.exit_code;
  record.signal = watched.end.signal;
  record.detail = how_it_ended(watched, options);
  const bool failed = watched.end.exit_code != 0 || watched.end.signal != 0;
  record.status = failed ? RunStatus::kFailed : RunStatus::kOk;
  if (watched.hung) record.status = RunStatus::kHung;
  const bool stragglers = !watched.hung && watched.end.rest.asked > 0;
  if (stragglers || watched.end.rest.remaining > 0)
    record.seen.warnings.push_back(left_behind(watched.end.rest));
}

}  // namespace

core::Result<RunRecord> run_once(const Plan& plan,
                                 const PlannedRun& run,
                                 const RunFiles& files,
                                 const SweepOptions& options,
                                 Observer& observer,
                                 const std::function<void(double)>& on_tick) {
  const Setting& setting = plan.settings[run.setting];
  observer.begin_run(setting.variables);
  RunRecord record{.setting = setting.name, .repeat = run.repeat, .started = local_time()};
  const core::Launch launch = launch_of(plan, run, files, options);
  const Clock::time_point start = Clock::now();
  core::KeptProcess process = ASSAY_TRY(core::KeptProcess::start(launch));
  const Watched watched = Watch(process, options, observer).until_end(on_tick);
  record.duration_s = seconds(watched.end.time - start);
  ASSAY_TRY(core::check_interrupt());
  record.seen = observer.end_run();
  fill_in(record, watched, options);
  for (const std::string& change : options.changed)
    record.seen.warnings.push_back(change);
  const std::string warning = forwarding_of(launch.arguments, setting).warning;
  if (!warning.empty()) record.seen.warnings.push_back(warning);
  return record;
}

}  // namespace assay::sweep
