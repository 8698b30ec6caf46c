#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kSweep{
    .name = "sweep",
    .summary = "run one workload under many NCCL or RCCL settings",
    .description =
        "'run' starts a command once for every setting and repeat, in random order, and keeps "
        "its output, its traces and what it was measured with. 'report' analyses the traces and "
        "compares every setting with the baseline.",
    .examples =
        "assay sweep run --preset nccl-ctas --repeat 3 -o runs/ctas -- \\\n"
        "    torchrun --nproc_per_node 8 train.py --output {dir}\n"
        "assay sweep report runs/ctas\n",
};
ASSAY_REGISTER(CommandSpec, kSweep);

}  // namespace
}  // namespace assay::cli
