#include <fmt/core.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "core/counted.h"
#include "core/text.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

model::Table contents_table(const std::vector<store::Content>& contents) {
  model::Table table{.name = "contents",
                     .title = "Rows by table, framework, version, device and operation",
                     .columns = {{.name = "table"},
                                 {.name = "framework"},
                                 {.name = "version"},
                                 {.name = "device"},
                                 {.name = "op"},
                                 {.name = "rows"},
                                 {.name = "first", .description = "measured or imported, UTC"},
                                 {.name = "last"}}};
  std::int64_t rows = 0;
  for (const store::Content& content : contents) {
    table.add_row({content.table, content.framework, content.version, content.device,
                   content.op_name, content.rows, content.first_at, content.last_at});
    rows += content.rows;
  }
  table.notes.push_back(
      fmt::format("{}; older rows with the same key are not counted", core::counted(rows, "row")));
  return table;
}

std::string fact(const store::Run& run, const std::string& name) {
  const auto found = run.facts.find(name);
  return found == run.facts.end() ? "" : found->second;
}

model::Table runs_table(const std::vector<store::StoredRun>& runs) {
  model::Table table{.name = "runs",
                     .title = "Collections and imports",
                     .columns = {{.name = "run"},
                                 {.name = "kind"},
                                 {.name = "device"},
                                 {.name = "started"},
                                 {.name = "last"},
                                 {.name = "rows"},
                                 {.name = "measured", .description = "cases"},
                                 {.name = "skipped"},
                                 {.name = "failed"},
                                 {.name = "from"}}};
  for (const store::StoredRun& stored : runs) {
    const bool cases = stored.measured + stored.skipped + stored.failed > 0;
    const auto count = [&](std::int64_t number) {
      return cases ? model::Cell(number) : model::Cell();
    };
    table.add_row({stored.id, stored.run.kind, stored.run.device, stored.run.started_at,
                   stored.last_at, stored.rows, count(stored.measured), count(stored.skipped),
                   count(stored.failed), fact(stored.run, cases ? "command line" : "file")});
  }
  return table;
}

core::Result<model::Table> shipped_table() {
  model::Table table{.name = "shipped",
                     .title = "Databases that ship with assay: --store NAME",
                     .columns = {{.name = "name"},
                                 {.name = "device"},
                                 {.name = "measured by"},
                                 {.name = "first", .description = "day of a measurement, UTC"},
                                 {.name = "last"},
                                 {.name = "tables"},
                                 {.name = "rows"}}};
  for (const store::ShippedSystem& system : store::shipped_systems()) {
    const store::Store store = ASSAY_TRY(store::open_shipped(system));
    const store::Origin origin = ASSAY_TRY(store.origin());
    const std::vector<std::string> tables = ASSAY_TRY(store.tables());
    const std::vector<store::Content> contents = ASSAY_TRY(store.list());
    std::int64_t rows = 0;
    for (const store::Content& content : contents)
      rows += content.rows;
    table.add_row({std::string(system.name), core::join(origin.devices, ", "),
                   core::join(origin.makers, ", "), origin.first_day, origin.last_day,
                   static_cast<std::int64_t>(tables.size()), rows});
  }
  return table;
}

core::Result<model::Book> contents_of(const std::filesystem::path& file_or_name) {
  const store::Store store = ASSAY_TRY(store::open_to_read(file_or_name));
  const std::vector<store::Content> contents = ASSAY_TRY(store.list());
  const std::vector<store::StoredRun> runs = ASSAY_TRY(store.runs());
  return model::Book{.title = file_or_name.string(),
                     .tables = {contents_table(contents), runs_table(runs)}};
}

class StoreList final : public Command {
 public:
  explicit StoreList(App& app) {
    add_store_option(app, store_)->required(false)->default_str("list the shipped ones");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    model::Book book{.title = "Shipped databases"};
    if (store_.empty()) {
      book.tables.push_back(ASSAY_TRY(shipped_table()));
    } else {
      book = ASSAY_TRY(contents_of(store_));
    }
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary(), kAllRows);
    return Outcome::kOk;
  }

 private:
  std::filesystem::path store_;
  Presentation presentation_;
};

const CommandSpec kStoreList{
    .name = "store list",
    .summary = "show what a store holds",
    .description =
        "Rows of every table by framework, version, device and operation; and every collection "
        "and import with its rows and, for a collection, how many cases were measured, skipped and "
        "failed. Without --store, the databases that ship with assay.",
    .examples =
        "assay store list\n"
        "assay store list h200_sxm\n"
        "assay store list h200.db\n"
        "assay store list h200.db --format json | jq '.tables[0]'\n",
    .make = make_command<StoreList>,
};
ASSAY_REGISTER(CommandSpec, kStoreList);

}  // namespace
}  // namespace assay::cli
