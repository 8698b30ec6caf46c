#include "store/database/store_export.h"

#include <fmt/core.h>

#include "cli/command.h"
#include "cli/operator_costs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "store/files/table_spec.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

class StoreExport final : public Command {
 public:
  explicit StoreExport(App& app) {
    add_store_option(app, store_);
    app.add_option("-o,--output", request_.folder, "the folder to write to")
        ->type_name("DIR")
        ->required();
    app.add_option("--table", request_.tables, "write only this table: gemm_perf")
        ->type_name("NAME")
        ->one_value_each()
        ->suggest(table_words())
        ->default_str("all");
    add_rows_options(app, request_.rows);
    add_choice(app, "--write", request_.style.format, kPerfFormats,
               "csv: NAME.txt as the public collector wrote until 2026; parquet: NAME.parquet");
    add_choice(app, "--type-names", request_.style.labels, kLabelNames,
               "names of types: new says bfloat16, old float16");
    add_choice(app, "--names", request_.names, kFileNames,
               "readme: also comm_perf and custom_all_reduce, which hold what nccl_perf and "
               "custom_allreduce_perf do");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const store::Store store = ASSAY_TRY(store::open_to_read(store_));
    for (std::string& table : request_.tables)
      table = store::table_name(table);
    request_.loads = row_loads;
    const store::Exported exported = ASSAY_TRY(store::export_tables(store, request_));
    if (presentation_.shows_summary()) {
      std::vector<model::Table> tables{written_table(exported.files)};
      if (!exported.power.empty()) tables.push_back(power_table(exported.power, ""));
      if (!exported.left_out.empty())
        tables.push_back(left_out_table("Not exported", exported.left_out));
      print_summary({.title = "Export", .tables = std::move(tables)}, presentation_.summary());
    }
    return Outcome::kOk;
  }

 private:
  std::filesystem::path store_;
  store::ExportRequest request_;
  Presentation presentation_;
};

const CommandSpec kStoreExport{
    .name = "store export",
    .summary = "write tables of a store in the public format",
    .description =
        "One file a table, with the columns, names, order and units of the public collector: "
        "latency in ms, power in W. Rows of several frameworks, versions and devices stand in the "
        "same file unless one is chosen. Files of the same name are replaced.\n\n"
        "Readers of the format want power of all rows or of none. Where only some were measured, "
        "the others have that of a model, or that between their neighbours, as 'assay store place' "
        "gives it; the columns power_source and power_error say so. Where gaps remain, the table "
        "has no power. Read again, it has its measured power alone.",
    .examples =
        "assay store export h200_sxm -o tables\n"
        "assay store export h200.db -o tables --table gemm_perf --table nccl_perf \\\n"
        "    --framework assay --write parquet\n",
    .make = make_command<StoreExport>,
};
ASSAY_REGISTER(CommandSpec, kStoreExport);

}  // namespace
}  // namespace assay::cli
