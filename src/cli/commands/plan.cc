#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kPlan{
    .name = "plan",
    .summary = "find the deployment of a model to run, from measured tables",
    .description =
        "Prices every operator of a model from a performance database, adds what an engine's "
        "scheduler makes of it, and tells latencies, throughput and memory of a deployment.",
};
ASSAY_REGISTER(CommandSpec, kPlan);

}  // namespace
}  // namespace assay::cli
