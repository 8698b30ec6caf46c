#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kGoal{
    .name = "goal",
    .summary = "make, check and convert GOAL schedules of NCCL communication",
    .description =
        "A GOAL schedule is a graph of sends, receives and calculations for every rank of a job, "
        "which LogGOPSim, its relatives and 'assay simulate' run. It has a text form and a binary "
        "one; commands that read take either and tell them apart by content.\n\n"
        "'generate' makes a schedule of a recorded run, 'synth' one of a step that nobody ran, and "
        "'validate' sets the recording's times "
        "beside simulated ones. 'check' proves that a schedule can run, 'stat' says what is in it, "
        "'to-bin' and 'to-text' convert, 'merge' puts several jobs into one schedule.",
    .examples =
        "assay goal generate recording -o out --write bin\n"
        "assay goal check out/output.bin\n"
        "assay goal to-text out/output.bin -o - | less\n",
};
ASSAY_REGISTER(CommandSpec, kGoal);

}  // namespace
}  // namespace assay::cli
