#include "cli/collect_workers.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/files.h"
#include "core/text.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// In the build tree as in an installation.
core::Result<fs::path> find_own_file(const std::vector<fs::path>& places) {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& place : places) {
    if (core::is_regular_file(folder / place)) return fs::weakly_canonical(folder / place);
  }
  return core::Error{fmt::format("{} is missing from this installation of assay",
                                 places.front().filename().string())};
}

}  // namespace

WorkerArguments worker_of(const fs::path& program) {
  return [program](const std::vector<int>& gpus) {
    std::vector<std::string> arguments = {program.string(), "collect"};
    if (gpus.empty()) return arguments;
    std::vector<std::string> numbers;
    for (const int gpu : gpus)
      numbers.push_back(std::to_string(gpu));
    arguments.insert(arguments.end(), {"--gpus", core::join(numbers, ",")});
    return arguments;
  };
}

WorkerArguments worker_in_job(const fs::path& program) {
  return [program](const std::vector<int>& /*gpus*/) {
    return std::vector<std::string>{program.string(), "collect", "--mpi"};
  };
}

WorkerArguments worker_of(const collect::ModuleProgram& program) {
  return [program](const std::vector<int>& gpus) {
    return program.worker(gpus.empty() ? "cpu" : fmt::format("cuda:{}", gpus.front()));
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

}  // namespace assay::cli
