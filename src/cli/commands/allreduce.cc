#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kAllreduce{
    .name = "allreduce",
    .summary = "measure all-reduce strategies, and make tables and figures of the measurements",
    .description =
        "Measures every strategy to all-reduce a message between the GPUs of a host, alone and "
        "with the operations that may be fused behind it, and turns the measurements into a "
        "table that says which strategy to use.\n\n"
        "'bench' measures on this machine's GPUs; the other commands need no GPU. 'codegen' "
        "makes the tables, as C++ for TensorRT-LLM, as a stand-alone header and as JSON, and "
        "validates them on other shapes; 'explain' and 'lookup' say which strategy a message "
        "gets and why; 'plot' draws figures and an HTML page.",
    .examples =
        "assay allreduce bench -o data\n"
        "assay allreduce codegen data\n"
        "assay allreduce explain 8 7168 64 NONE --data_dir data\n"
        "assay allreduce plot data\n",
};
ASSAY_REGISTER(CommandSpec, kAllreduce);

}  // namespace
}  // namespace assay::cli
