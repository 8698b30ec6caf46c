#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kPlan{
    .name = "plan",
    .summary = "find the deployment of a model to run, from measured tables",
    .description =
        "Prices every operator of a model from measured tables, adds what an engine's scheduler "
        "makes of the steps, and tells latency, throughput and memory of a deployment. 'estimate' "
        "shows one deployment operator by operator, 'search' finds the one to run, 'size' the "
        "fewest GPUs that carry a load, 'exp' runs several searches, 'files' writes what deploys "
        "it, 'support' tells what can be priced, "
        "'validate' holds predictions against measured deployments, and 'calibrate' learns from "
        "them.\n\n"
        "Without --systems-paths the prices are those of the database that ships with assay: what "
        "the best kernels take, whatever the engine. With it they are the engine's own, from a "
        "tree of public tables. --store adds one's own measurements. docs/plan.md explains all.",
    .examples =
        "assay plan estimate --model qwen3-32b --tp 4 --batch 64\n"
        "assay plan search --model qwen3-32b --gpus 4 --tpot 30\n"
        "assay plan search --model config.json --gpus 4 --store perf/perf.db\n"
        "assay plan search --model config.json --gpus 32 --backend vllm --systems-paths systems\n"
        "assay plan validate measured.csv --systems-paths systems --calibrate-by 5\n",
};
ASSAY_REGISTER(CommandSpec, kPlan);

}  // namespace
}  // namespace assay::cli
