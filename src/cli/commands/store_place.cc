#include <fmt/core.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "store/database/store_export.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

const Choices<store::PlaceLayout> kLayouts{{"flat", store::PlaceLayout::kFlat},
                                           {"family", store::PlaceLayout::kFamily}};

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
    app.add_option("--backend", request_.backend, "name of the backend's folder")
        ->type_name("NAME")
        ->default_str("the rows' framework in lower case")
        ->check(folder_name_problem);
    add_rows_options(app, request_.rows);
    add_choice(app, "--layout", request_.layout, kLayouts,
               "flat: CSV in data/SYSTEM/BACKEND/VERSION; family: Parquet and "
               "collection_meta.yaml in data/SYSTEM/FAMILY/BACKEND/VERSION, as since July 2026");
    add_choice(app, "--type-names", request_.labels, kLabelNames,
               "names of types: new says bfloat16, old float16");
    app.add_flag(
        "--force", [this] { request_.existing = store::Existing::kReplace; },
        "replace files that are there");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const store::Store store = ASSAY_TRY(store::open_to_read(store_));
    const auto written = ASSAY_TRY(store::place(store, request_));
    if (presentation_.shows_summary()) {
      print_summary({.title = "Place", .tables = {written_table(written)}},
                    presentation_.summary());
    }
    return Outcome::kOk;
  }

 private:
  static std::string folder_name_problem(const std::string& name) {
    const bool plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
    return plain ? "" : fmt::format("'{}' cannot be the name of a folder", name);
  }

  std::filesystem::path store_;
  store::PlaceRequest request_;
  Presentation presentation_;
};

const CommandSpec kStorePlace{
    .name = "store place",
    .summary = "put tables where the programs that read them look for them",
    .description =
        "Writes every table into the folder of its system, backend and version below "
        "DIR/data; NCCL's table goes to the backend 'nccl' and the version of NCCL. Nothing is "
        "written when a file is there already, unless --force is given; each file appears under "
        "its name only when it is whole.\n\n"
        "Only points of grids are written, unless --points all is given: programs that take a "
        "weight's shape with a few measured points for a whole curve answer worse with the points "
        "that 'assay collect --refine' added between others.",
    .examples =
        "assay store place h200_sxm --systems src/aiconfigurator/systems \\\n"
        "    --system h200_sxm\n"
        "assay store place h200.db --systems systems --system h200_sxm \\\n"
        "    --framework assay --backend trtllm --layout family\n",
    .make = make_command<StorePlace>,
};
ASSAY_REGISTER(CommandSpec, kStorePlace);

}  // namespace
}  // namespace assay::cli
