#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kTrace{
    .name = "trace",
    .summary = "report on PyTorch profiler traces of many ranks, and compare runs",
    .description =
        "Reads Kineto traces (.json, .json.gz) of one or many ranks. A configuration folder "
        "holds torch_profiler/rank0, rank1, ..., each with a trace; folders as torchtitan, "
        "vLLM and SGLang leave them are read, too.\n\n"
        "'report' explains each rank by itself, 'collectives' the communication between ranks, and "
        "'path' what decides the length of a step over all of them. 'analyze' writes reports and "
        "collectives of a configuration. 'compare' compares two configurations, says which "
        "differences are real and what caused them. 'fuse' makes one trace of all ranks, for "
        "Perfetto.",
    .examples =
        "assay trace analyze runs/ctas_16\n"
        "assay trace compare --baseline runs/ctas_default --test runs/ctas_16 "
        "--output comparison\n",
};
ASSAY_REGISTER(CommandSpec, kTrace);

}  // namespace
}  // namespace assay::cli
