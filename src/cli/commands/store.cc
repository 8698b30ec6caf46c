#include "cli/command.h"

namespace assay::cli {
namespace {

const CommandSpec kStore{
    .name = "store",
    .summary = "keep, exchange, query and check performance tables",
    .description =
        "A store is one SQLite file with every measurement, its samples and where it comes from. "
        "'assay collect' writes into it; 'import' takes public tables in, CSV or Parquet. The "
        "public tables are views of it: 'SELECT * FROM gemm_perf' works in any SQLite shell.\n\n"
        "Measured databases ship inside assay; 'list' names them with their devices. Where a "
        "store is read, --store takes such a name as well as a file (a file of that name comes "
        "first), and 'query' needs neither. Nothing writes into them.",
    .examples =
        "assay store query gemm --m 300 --n 4096 --k 4096 --dtype fp8\n"
        "assay store import systems/data/h200_sxm --store h200.db\n"
        "assay store list h200.db\n"
        "assay store export h200.db -o tables --table gemm_perf\n"
        "assay store diff old.db new.db --max-share 1\n",
};
ASSAY_REGISTER(CommandSpec, kStore);

}  // namespace
}  // namespace assay::cli
