#include <fmt/core.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/operator_costs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "cli/table_inputs.h"
#include "core/check.h"
#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"
#include "model/serving/family.h"
#include "model/serving/shipped_models.h"
#include "store/answers/latent_blocks.h"
#include "store/database/store_export.h"
#include "store/systems/shipped.h"
#include "store/systems/system_place.h"

namespace assay::cli {
namespace {

const Choices<store::PlaceLayout> kLayouts{{"family", store::PlaceLayout::kFamily},
                                           {"flat", store::PlaceLayout::kFlat}};

// The planner prices every model with latent attention by its blocks.
constexpr const char* kModelOfBlocks = "deepseek-v3";

class StorePlace final : public Command {
 public:
  explicit StorePlace(App& app) {
    add_store_option(app, store_);
    app.add_option("--systems", request_.systems,
                   "the folder 'systems' of the program that reads the tables")
        ->type_name("DIR")
        ->required();
    app.add_option("--system", request_.system, "the system that was measured: h200_sxm")
        ->type_name("NAME")
        ->suggest(shipped_words())
        ->required()
        ->check(folder_name_problem);
    app.add_option(
           "--backend", request_.backend,
           "the name under which the planner looks for tables: " + store::planner_backends())
        ->type_name("NAME")
        ->suggest({store::kPlannerBackends.begin(), store::kPlannerBackends.end()})
        ->default_str("the rows' framework in lower case")
        ->check(folder_name_problem);
    add_rows_options(app, request_.rows);
    add_choice(app, "--layout", request_.layout, kLayouts,
               "family: Parquet and collection_meta.yaml in data/SYSTEM/FAMILY/BACKEND/VERSION, as "
               "since July 2026; flat: CSV in data/SYSTEM/BACKEND/VERSION, as before");
    add_choice(app, "--type-names", request_.labels, kLabelNames,
               "names of types: new says bfloat16, old float16");
    app.add_flag(
        "--force", [this] { request_.existing = store::Existing::kReplace; },
        "replace tables that are there");
    app.add_flag("--tables-only", tables_only_, "write no SYSTEM.yaml beside them");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const store::Store store = ASSAY_TRY(store::open_to_read(store_));
    request_.loads = row_loads;
    request_.compose = [&](const std::vector<store::RowsToPlace>& rows) {
      return composed(store, rows);
    };
    store::Placed placed = ASSAY_TRY(store::place(store, request_));
    std::vector<std::string> problems;
    if (!tables_only_) problems = ASSAY_TRY(describe(store, placed));
    if (presentation_.shows_summary()) {
      std::vector<model::Table> tables{written_table(placed.files)};
      if (!placed.power.empty()) tables.push_back(power_table(placed.power, note_of_power(placed)));
      if (!placed.left_out.empty()) tables.push_back(left_out_table("Not placed", placed.left_out));
      print_summary({.title = "Place", .tables = std::move(tables)}, presentation_.summary());
    }
    for (const std::string& problem : problems)
      print_warning(problem);
    return Outcome::kOk;
  }

 private:
  // Writes the description unless one is there. Returns what the planner would miss in it.
  [[nodiscard]] core::Result<std::vector<std::string>> describe(const store::Store& store,
                                                                store::Placed& placed) const {
    const std::filesystem::path path = request_.systems / (request_.system + ".yaml");
    if (core::is_regular_file(path)) {
      return store::problems_for_planner(ASSAY_TRY(core::read_file(path)), request_.system, placed);
    }
    const auto text =
        store::system_text_to_place(store, store::shipped_at(store_), request_.system, placed);
    if (!text.ok()) {
      return std::vector{
          fmt::format("no {} was written: {}", path.filename().string(), text.error().message)};
    }
    ASSAY_TRY(core::write_file(path, text.value()));
    placed.files.push_back({.path = path, .table = "", .rows = 0});
    return store::problems_for_planner(text.value(), request_.system, placed);
  }

  // Tables of whole blocks that assay does not measure, of the rows of their kernels.
  [[nodiscard]] core::Result<std::vector<store::ComposedTable>> composed(
      const store::Store& store, const std::vector<store::RowsToPlace>& rows) const {
    std::vector<store::RowsOfTable> tables;
    for (const store::RowsToPlace& one : rows)
      tables.push_back({.table = one.table, .rows = one.rows});
    // Norms have no table of the planner's.
    store::Selection norms = request_.rows;
    norms.table = "memory_op_perf";
    norms.points = store::Points::kAll;
    const std::vector<std::string> there = ASSAY_TRY(store.tables());
    if (std::find(there.begin(), there.end(), norms.table) == there.end())
      return std::vector<store::ComposedTable>();
    tables.push_back({.table = norms.table,
                      .rows = ASSAY_TRY(store.table(norms, store::Store::Columns::kPublic))});
    TableInputs inputs;
    inputs.store = store_;
    const auto binder = [&](const std::string& table) -> core::Result<store::RooflineBinder> {
      return ASSAY_TRY(read_rooflines({}, inputs, table)).bound;
    };
    const serving::ShippedModel* shipped = serving::find_shipped_model(kModelOfBlocks);
    ASSAY_CHECK(shipped != nullptr, "a model that ships is not there");
    const serving::Model model = ASSAY_TRY(serving::parse_model(shipped->config, kModelOfBlocks));
    std::vector<store::ComposedTable> made;
    const auto types =
        request_.backend == "vllm" ? store::PromptTypes::kAlsoFp8 : store::PromptTypes::kMeasured;
    for (store::BlockTable& block : ASSAY_TRY(store::latent_blocks(tables, model, binder, types))) {
      store::ComposedTable one{.table = block.table, .rows = std::move(block.rows)};
      if (block.without_answer > 0) {
        one.left_out.push_back({.table = one.table,
                                .reason = "sums with a kernel that has no answer there",
                                .rows = block.without_answer});
      }
      made.push_back(std::move(one));
    }
    return made;
  }

  static std::string note_of_power(const store::Placed& placed) {
    if (placed.without_power.empty()) return "";
    return "the planner counts time of these tables with 0 W, so its mean power is too low: " +
           core::join(placed.without_power, ", ");
  }

  static std::string folder_name_problem(const std::string& name) {
    const bool plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
    return plain ? "" : fmt::format("'{}' cannot be the name of a folder", name);
  }

  std::filesystem::path store_;
  store::PlaceRequest request_;
  bool tables_only_ = false;
  Presentation presentation_;
};

const CommandSpec kStorePlace{
    .name = "store place",
    .summary = "put tables where the programs that read them look for them",
    .description =
        "Writes every table into the folder of its family, backend and version below DIR/data, as "
        "the public planner (aiconfigurator) reads it, and DIR/SYSTEM.yaml unless it is there "
        "already. NCCL's table goes to the backend 'nccl' and the version of NCCL. Rows that "
        "assay measured lie below the name of a backend that the planner has, in the folder "
        "'assay-VERSION'; their columns, and collection_meta.yaml, name assay and its kernels. "
        "Rows that the planner cannot read are left out and counted.\n\n"
        "Rows without power have that of a model by the rates of bytes and operations that they "
        "reach, or, where there is no model, that between their neighbours'; the columns "
        "power_source and power_error say so.\n\n"
        "Blocks of latent attention, of which the planner has tables of their own, are sums of the "
        "rows of their kernels: kernel_source says sum_of_rows, sum_of which operators, sum_error "
        "one sigma of the sum in percent.\n\n"
        "Nothing is written when a table is there already, unless --force is given; each file "
        "appears under its name only when it is whole.\n\n"
        "Unless --points all is given, of the points that 'assay collect --refine' added only "
        "those are placed that lie on curves of the grid, because the planner takes any other "
        "point for a line of it.",
    .examples =
        "assay store place h200_sxm --systems systems --system h200_sxm --backend trtllm\n"
        "aiconfigurator cli default --systems-paths systems --system h200_sxm \\\n"
        "    --backend trtllm --model Qwen/Qwen3-32B --total-gpus 4\n",
    .make = make_command<StorePlace>,
};
ASSAY_REGISTER(CommandSpec, kStorePlace);

}  // namespace
}  // namespace assay::cli
