// assay-worker measures on GPUs for `assay`. It is a separate process, so that a crash or a hang
// costs no more than one case.
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "allreduce/worker/command.h"
#include "collect/cuda/command.h"

namespace assay::cli {
namespace {

using Arguments = std::vector<std::string>;

constexpr const char* kWorkerUsage =
    R"(usage: assay-worker collect [options]
       assay-worker allreduce --tp N [options]

Measures on GPUs what assay asks for, in a process of its own, so that a crash or a hang costs no
more than the case at hand. People use 'assay collect' and 'assay allreduce bench', which start it.

'assay-worker collect --help' and 'assay-worker allreduce --help' have the options.
)";

constexpr const char* kCollectUsage =
    R"(usage: assay-worker collect [--gpus LIST] [--mpi | --self-test | --nccl-memory]

Measures operators on GPUs. People use 'assay collect', which starts this program and talks to it
by lines of JSON on standard input and output; two things are asked of it by hand.

  --gpus LIST    the GPUs' numbers with commas (default: 0); of several, only collectives between
                 them are measured
  --mpi          be one process of an MPI job, with the GPU of its number on the host
  --self-test    compare every kind of kernel with a float64 reference and time it: a line for each
                 shape, then the counts
  --nccl-memory  print what NCCL's communicators of 2, 4, 8, ... of the GPUs take of the first
                 one's memory: a file for 'assay store system --cite'
  -h, --help     print this

Examples:
  assay-worker collect --self-test
  assay-worker collect --nccl-memory --gpus 0,1,2,3 > nccl_mem.yaml

Exit status: 0 done, 1 failed or a wrong result, 2 wrong usage.
)";

constexpr const char* kAllreduceUsage =
    R"(usage: assay-worker allreduce --tp N [--gpus LIST] [--table FILE] [--rank R --rendezvous FILE]
       assay-worker allreduce --tp N [--gpus LIST] --self-test all|few [--mixed-calls N]
                              [--workspace BYTES]
       assay-worker allreduce --tp N --measure links
       assay-worker allreduce --tp N [--gpus LIST] --nccl-sweep PLUGIN

Measures all-reduces over N GPUs of this host. People use 'assay allreduce bench', which starts
this program and talks to it by lines of JSON on standard input and output; two things are asked of
it by hand.

  --tp N             GPUs that take part, 2 to 8
  --gpus LIST        their numbers with commas, N of them (default: the first N); ranks of a self
                     test may share GPUs, as in --tp 8 --gpus 0,1,0,1,0,1,0,1
  --table FILE       table of strategies that AUTO chooses by
  --rank R           be rank R of N processes, from 0, with the R-th of --gpus; without it all ranks
                     are threads of one process
  --rendezvous FILE  where these processes meet
  --self-test WHICH  compare ONESHOT, TWOSHOT_PUSH, TWOSHOT and NCCL in every operation, fusion,
                     scale layout and data type with a float64 reference: a line for each failure,
                     then the counts; 'few' takes few shapes. With ASSAY_ALLREDUCE_DELAYS in the
                     environment threads are late at random
  --mixed-calls N    then make N calls of all kinds, each on other data and checked
  --workspace BYTES  memory of the communicator's workspace (default: the library's)
  --measure links    print what the links carry when kernels do nothing but send
  --nccl-sweep FILE  measure NCCL's settings through this libassay_nccl_tuner.so
  -h, --help         print this

Exit status: 0 done, 1 failed, 2 wrong usage. The reason is on standard output, as JSON.
)";

bool asks_for_help(const Arguments& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--help" || argument == "-h";
  });
}

// Returns the exit code: 0 only if the text could be written.
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
