#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kAllreduce{
    .name = "allreduce",
    .summary = "measure all-reduce strategies, make tables and figures of them",
    .description =
        "Measures every way to all-reduce a message between the GPUs of a host, with what may be "
        "fused behind it, and turns the measurements into a table that says which to use.\n\n"
        "'bench' measures on this machine's GPUs; all else needs none. 'codegen' makes the tables, "
        "as C++ for TensorRT-LLM, as a header of their own and as JSON, and validates them on "
        "other "
        "shapes; 'explain' and 'lookup' say what a message gets and why; 'plot' draws figures and "
        "a "
        "page.",
    .examples =
        "assay allreduce bench -o data\n"
        "assay allreduce codegen --data_dir data\n"
        "assay allreduce explain 8 7168 64 NONE --data_dir data\n"
        "assay allreduce plot --data_dir data\n",
};
ASSAY_REGISTER(CommandSpec, kAllreduce);

}  // namespace
}  // namespace assay::cli
