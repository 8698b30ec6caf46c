#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kStore{
    .name = "store",
    .summary = "performance tables: keep, ask and check them",
    .description =
        "A store is one SQLite file with every measurement and where it comes from. 'query' and "
        "'check' also read tables straight from CSV and Parquet files.",
    .examples =
        "assay store query gemm --m 300 --n 4096 --k 4096 --store h200.db\n"
        "assay store check systems/data/h200_sxm/gemm/*/*.parquet --held-out\n",
};
ASSAY_REGISTER(CommandSpec, kStore);

}  // namespace
}  // namespace assay::cli
