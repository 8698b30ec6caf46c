#include <fmt/core.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "store/store.h"

namespace assay::cli {
namespace {

constexpr std::size_t kAllRows = 100'000;

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
  table.notes.push_back(fmt::format("{} rows; older rows with the same key are not counted", rows));
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
    const auto count = [&](std::int64_t of) { return cases ? model::Cell(of) : model::Cell(); };
    table.add_row({stored.id, stored.run.kind, stored.run.device, stored.run.started_at,
                   stored.last_at, stored.rows, count(stored.measured), count(stored.skipped),
                   count(stored.failed), fact(stored.run, cases ? "command" : "file")});
  }
  return table;
}

class StoreList final : public Command {
 public:
  explicit StoreList(CLI::App& app) {
    add_store_option(app, store_);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const store::Store store = ASSAY_TRY(store::Store::open(store_, store::Store::Mode::kRead));
    const std::vector<store::Content> contents = ASSAY_TRY(store.list());
    const std::vector<store::StoredRun> runs = ASSAY_TRY(store.runs());
    const model::Book book{.title = store_.string(),
                           .tables = {contents_table(contents), runs_table(runs)}};
    if (!presentation_.quiet) print(summary_text(book, presentation_.summary, kAllRows));
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
        "and import with its rows and, of a collection, how many cases were measured, skipped and "
        "failed.",
    .examples =
        "assay store list --store h200.db\n"
        "assay store list --store h200.db --format json | jq '.tables[0]'\n",
    .make = make_command<StoreList>,
};
ASSAY_REGISTER(CommandSpec, kStoreList);

}  // namespace
}  // namespace assay::cli
