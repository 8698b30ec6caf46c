#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kAllreduce{
    .name = "allreduce",
    .summary = "measure all-reduce strategies, make tables and figures of them",
    .description =
        "Measures every way to all-reduce a message between the GPUs of a host, with what may be "
        "fused behind it, and turns the measurements into a table that says which to use.",
};
ASSAY_REGISTER(CommandSpec, kAllreduce);

}  // namespace
}  // namespace assay::cli
