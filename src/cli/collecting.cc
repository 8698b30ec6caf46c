#include "cli/collecting.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/output.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/own_files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "doctor/doctor.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// After Ctrl-C, a running case may use up its deadline. Then the workers end and files are written.
constexpr unsigned kSecondsToFinish = 30;

// Returns the first place that has the file. The build tree and an installation differ.
core::Result<fs::path> find_own_file(const std::vector<fs::path>& places) {
  const fs::path folder = core::own_file().parent_path();
  for (const fs::path& place : places) {
    if (core::is_regular_file(folder / place)) return fs::weakly_canonical(folder / place);
  }
  const std::string file = places.front().filename().string();
  const std::string remedy = core::remedy_without_programs();
  if (!remedy.empty())
    return core::Error{fmt::format("no {} beside {}; {}", file, core::own_file().string(), remedy)};
  return core::Error{fmt::format("{} is missing from this installation of assay", file)};
}

// Returns the GPUs as NVML counts them; none if CUDA_VISIBLE_DEVICES names them otherwise.
std::vector<int> counted_by_driver(const std::vector<int>& gpus) {
  const char* variable = std::getenv("CUDA_VISIBLE_DEVICES");
  if (variable == nullptr) return gpus;
  const std::vector<std::string> visible = split(variable, ',');
  std::vector<int> counted;
  for (const int gpu : gpus) {
    if (gpu >= static_cast<int>(visible.size())) return {};
    const std::string& name = visible[static_cast<std::size_t>(gpu)];
    if (!count_problem(name).empty()) return {};
    counted.push_back(std::atoi(name.c_str()));
  }
  return counted;
}

std::vector<doctor::Finding> other_work(const collect::CollectOptions& options) {
  const char* root = std::getenv("ASSAY_HOST_ROOT");
  if (options.gpus.empty()) {
    return doctor::other_work_on_processors({.root = root == nullptr ? "/" : root});
  }
  const std::vector<int> gpus = counted_by_driver(options.gpus);
  if (gpus.empty()) return {};
  return doctor::other_work_on_gpus({.gpus = gpus});
}

}  // namespace

void warn_of_other_work(collect::CollectOptions& options) {
  const auto rank = own_rank();
  if (rank.ok() && rank.value()) return;
  std::vector<std::string> seen;
  for (const doctor::Finding& finding : other_work(options)) {
    seen.push_back(finding.where + ": " + finding.seen);
    print_warning(seen.back() + ": times can be too long");
  }
  if (!seen.empty()) options.record["other work"] = core::join(seen, "; ");
}

WorkerArguments worker_of(const fs::path& program) {
  return [program](const std::vector<int>& gpus) {
    std::vector<std::string> arguments = {program.string(), "collect"};
    if (gpus.empty()) return arguments;
    arguments.insert(arguments.end(), {"--gpus", core::join(gpus, ",")});
    return arguments;
  };
}

WorkerArguments worker_of(const collect::ModuleProgram& program) {
  return [program](const std::vector<int>& gpus) {
    return program.worker(gpus.empty() ? "cpu" : fmt::format("cuda:{}", gpus.front()));
  };
}

WorkerArguments worker_in_job(const fs::path& program) {
  return [program](const std::vector<int>& /*gpus*/) {
    return std::vector<std::string>{program.string(), "collect", "--mpi"};
  };
}

core::Result<collect::ModuleProgram> module_program(const fs::path& module) {
  collect::ModuleProgram program;
  const char* python = std::getenv("ASSAY_PYTHON");
  if (python != nullptr && *python != '\0') program.python = python;
  program.script = ASSAY_TRY(find_own_file({"../share/assay/python/assay_module_worker.py"}));
  program.engine = ASSAY_TRY(find_own_file({"../lib/libassay_measure.so", "libassay_measure.so"}));
  program.module = fs::absolute(module);
  return program;
}

core::Result<std::optional<core::LaunchedRank>> own_rank() {
  return core::launched_rank([](const char* name) { return std::getenv(name); });
}

core::Error become_follower(const fs::path& program) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  std::string name = program.string();
  std::string verb = "collect";
  std::string option = "--mpi";
  char* const arguments[] = {name.data(), verb.data(), option.data(), nullptr};
  ::execv(name.c_str(), arguments);
  return core::Error{fmt::format("{}: {}", name, std::strerror(errno))};
}

core::Result<collect::CollectResult> collect_with_progress(const collect::CollectOptions& options,
                                                           const collect::Plan& plan,
                                                           const Presentation& presentation) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.deadlines.of_case).count();
  core::allow_seconds_to_stop(static_cast<unsigned>(seconds) + kSecondsToFinish);
  core::TerminalLine line(presentation.quiet ? core::TerminalLine::Show::kNever
                                             : core::TerminalLine::Show::kOnTerminal);
  collect::CollectHooks hooks;
  hooks.on_notice = [&](const std::string& text) {
    line.clear();
    print_warning(text);
  };
  if (line.shown()) {
    hooks.on_progress = [&](const auto& now) { line.draw(collect::progress_text(now)); };
  }
  auto result = collect::run_collection(options, plan, hooks);
  line.clear();
  return result;
}

}  // namespace assay::cli
