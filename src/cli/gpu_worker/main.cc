// assay-worker: measures on GPUs what `assay` asks for, so that a crash or a hang costs no more
// than the case at hand.
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "allreduce/worker/command.h"
#include "cli/gpu_worker/usage.h"
#include "collect/cuda/command.h"

namespace assay::cli {
namespace {

using Arguments = std::vector<std::string>;

bool asks_for_help(const Arguments& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--help" || argument == "-h";
  });
}

// Exit code 0 only if somebody could read it.
int print(const char* usage) {
  return std::fputs(usage, stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 1;
}

int refuse(const std::string& reason) {
  std::fprintf(stderr,
               "assay-worker: %s: it is started by 'assay collect' and 'assay allreduce bench' "
               "(see 'assay-worker --help')\n",
               reason.c_str());
  return 2;
}

int run(const Arguments& arguments) {
  if (arguments.empty()) return refuse("no command is given");
  const std::string& command = arguments.front();
  const bool help = asks_for_help(arguments);
  if (command == "collect") {
    if (help) return print(kCollectUsage);
    return collect::run_collect_command({arguments.begin() + 1, arguments.end()});
  }
  if (command == "allreduce") {
    if (help) return print(kAllreduceUsage);
    return allreduce::run_allreduce_command(arguments);
  }
  return help ? print(kWorkerUsage) : refuse("unknown command '" + command + "'");
}

}  // namespace
}  // namespace assay::cli

int main(int count, char** values) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return assay::cli::run({values + 1, values + count});
}
