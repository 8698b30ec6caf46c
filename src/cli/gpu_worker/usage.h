// What `assay-worker --help` says.
#pragma once

namespace assay::cli {

inline constexpr const char* kWorkerUsage =
    R"(usage: assay-worker collect [options]
       assay-worker allreduce --tp N [options]

Measures on GPUs what assay asks for, in a process of its own, so that a crash or a hang costs no
more than the case at hand. People use 'assay collect' and 'assay allreduce bench', which start it.

'assay-worker collect --help' and 'assay-worker allreduce --help' have the options.
)";

inline constexpr const char* kCollectUsage =
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

inline constexpr const char* kAllreduceUsage =
    R"(usage: assay-worker allreduce --tp N [--gpus LIST] [--table FILE] [--rank R --rendezvous FILE]

Measures all-reduces over N GPUs of this host. People use 'assay allreduce bench', which starts
this program and talks to it by lines of JSON on standard input and output.

  --tp N             GPUs that take part, 2 to 8
  --gpus LIST        their numbers with commas, N of them (default: the first N)
  --table FILE       table of strategies that AUTO chooses by
  --rank R           be rank R of N processes, from 0, with the R-th of --gpus; without it all ranks
                     are threads of one process
  --rendezvous FILE  where these processes meet
  -h, --help         print this

Exit status: 0 done, 1 failed, 2 wrong usage. The reason is on standard output, as JSON.
)";

}  // namespace assay::cli
