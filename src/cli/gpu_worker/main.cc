// assay-worker: measures on GPUs what `assay` asks for, so that a crash or a hang costs no more
// than the case at hand.
#include <sys/prctl.h>

#include <csignal>
#include <string>
#include <vector>

#include "allreduce/worker/command.h"
#include "collect/cuda/command.h"

int main(int count, char** values) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::vector<std::string> arguments(values + 1, values + count);
  if (!arguments.empty() && arguments[0] == "collect")
    return assay::collect::run_collect_command({arguments.begin() + 1, arguments.end()});
  return assay::allreduce::run_allreduce_command(arguments);
}
