#include "store/database/store_import.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "cli/trace_options.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "core/terminal.h"
#include "core/text.h"
#include "store/files/table_spec.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using FileOutcome = store::ImportedFile::Outcome;

const char* word(FileOutcome outcome) {
  switch (outcome) {
    case FileOutcome::kImported:
      return "imported";
    case FileOutcome::kKnown:
      return "already there";
    case FileOutcome::kEmpty:
      return "no usable row";
    case FileOutcome::kFailed:
      return "failed";
  }
  return "";
}

std::uint64_t size_of(const fs::path& path) {
  std::error_code code;
  const auto bytes = fs::file_size(path, code);
  return code ? 0 : bytes;
}

std::int64_t repaired(const model::Warnings& repairs) {
  std::int64_t count = 0;
  for (const model::Warning& repair : repairs.all())
    count += repair.count;
  return count;
}

model::Table files_table() {
  return {.name = "import",
          .title = "Files imported",
          .columns = {{.name = "file"},
                      {.name = "result"},
                      {.name = "table"},
                      {.name = "rows"},
                      {.name = "repairs", .description = "what was odd in the file and mended"},
                      {.name = "same as", .description = "the file that had this content"}}};
}

class StoreImport final : public Command {
 public:
  explicit StoreImport(App& app) {
    app.add_option(
           "FILE", inputs_,
           "perf tables, CSV or Parquet, folders of them, and other stores (files, or names "
           "of shipped ones)")
        ->required();
    app.add_option("--table", tables_, "of other stores, only these tables")
        ->type_name("TABLE")
        ->one_value_each()
        ->delimiter(',');
    app.add_option("--store", store_, "the store to import into; made if it is not there")
        ->type_name("FILE")
        ->required();
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override { return refuse_shipped_output(store_); }

  core::Result<Outcome> run() override {
    std::vector<fs::path> files;
    std::vector<OtherStore> stores;
    for (const fs::path& input : inputs_) {
      if (is_store(input)) {
        auto opened = ASSAY_TRY(open_other(input));
        stores.push_back({input, std::move(opened)});
        continue;
      }
      const std::vector<fs::path> found = ASSAY_TRY(store::find_perf_files(input));
      files.insert(files.end(), found.begin(), found.end());
    }
    if (!tables_.empty() && stores.empty()) {
      return core::Error{"--table chooses tables of another store, and no FILE is one"};
    }
    ASSAY_TRY(open_existing());
    model::Table table = files_table();
    const core::Status done = import_all(stores, files, table);
    if (presentation_.shows_summary()) {
      print_summary({.title = "Import", .tables = {table}}, presentation_.summary());
    }
    show_warnings(repairs_);
    for (const std::string& failure : failures_)
      print_error(failure);
    if (!done.ok()) return failed(done.error());
    if (failures_.empty()) return Outcome::kOk;
    if (failures_.size() == files.size() && stores.empty())
      return core::Error{"nothing was imported"};
    return core::Error{fmt::format("{} of {} could not be imported; the store has the others",
                                   failures_.size(), core::counted(files.size(), "file"))};
  }

 private:
  struct OtherStore {
    fs::path path;
    store::Store store;
  };

  static bool is_store(const fs::path& input) {
    constexpr std::string_view kSqlite = "SQLite format 3";
    if (core::is_regular_file(input)) {
      std::ifstream file(input, std::ios::binary);
      std::string first(kSqlite.size(), '\0');
      file.read(first.data(), static_cast<std::streamsize>(first.size()));
      return first == kSqlite;
    }
    const std::vector<std::string> shipped = shipped_words();
    return std::find(shipped.begin(), shipped.end(), input.string()) != shipped.end();
  }

  [[nodiscard]] std::vector<std::string> wanted_tables() const {
    std::vector<std::string> names;
    for (const std::string& table : tables_)
      names.push_back(store::table_name(table));
    return names;
  }

  [[nodiscard]] core::Result<store::Store> open_other(const fs::path& input) const {
    store::Store other = ASSAY_TRY(store::open_to_read(input));
    const std::vector<std::string> known = ASSAY_TRY(other.tables());
    for (const std::string& table : wanted_tables()) {
      if (std::find(known.begin(), known.end(), table) != known.end()) continue;
      return core::Error{fmt::format("{}: no table {}; it has {}", input.string(), table,
                                     core::join(known, ", "))};
    }
    return other;
  }

  // The store to import into. A new one is made only when there is something to put into it.
  core::Result<store::Store*> opened() {
    if (!opened_) {
      opened_.emplace(ASSAY_TRY(store::Store::open(store_, store::Store::Mode::kCreate)));
    }
    return &*opened_;
  }

  core::Status open_existing() {
    std::error_code unknown;
    if (!fs::exists(store_, unknown)) return {};
    const auto existing = opened();
    return existing.ok() ? core::Status() : existing.error();
  }

  core::Status merge(const OtherStore& other, model::Table& table) {
    store::Store* store = ASSAY_TRY(opened());
    const auto merged = store->merge(other.store, wanted_tables());
    if (!merged.ok()) return merged.error().context(other.path.string());
    for (const store::MergedRun& one : merged.value()) {
      num_taken_ += one.is_known ? 0 : 1;
      const model::Cell rows = one.is_known ? model::Cell() : model::Cell(one.rows);
      table.add_row({fmt::format("{}, run of {}", other.path.string(), one.run.started_at),
                     one.is_known ? "already there" : "imported", model::Cell(), rows,
                     model::Cell(), model::Cell()});
    }
    return {};
  }

  core::Result<store::Importer> importer() {
    if (opened_) return store::Importer::into(*opened_);
    return store::Importer::into_new([this] { return opened(); });
  }

  // Tells what the store has of an import that was stopped.
  [[nodiscard]] core::Error failed(const core::Error& error) const {
    const bool is_stopped = !core::check_interrupt().ok();
    if (is_stopped && opened_ && !presentation_.quiet) {
      print_note(fmt::format("{}: what was begun is undone; {} before it {} kept", store_.string(),
                             core::counted(num_taken_, "run"), num_taken_ == 1 ? "is" : "are"));
    }
    return error;
  }

  core::Status import_all(const std::vector<OtherStore>& stores,
                          const std::vector<fs::path>& files,
                          model::Table& table) {
    for (const OtherStore& other : stores)
      ASSAY_TRY(merge(other, table));
    core::Progress progress("importing", presentation_.quiet ? core::Progress::Show::kNever
                                                             : core::Progress::Show::kOnTerminal);
    for (const fs::path& file : files)
      progress.add_total(size_of(file));
    store::Importer taking = ASSAY_TRY(importer());
    for (const fs::path& file : files) {
      ASSAY_TRY(core::check_interrupt());
      add(ASSAY_TRY(taking.import(file)), table);
      progress.advance(size_of(file));
    }
    progress.clear();
    return {};
  }

  void add(const store::ImportedFile& file, model::Table& table) {
    const bool imported = file.outcome == FileOutcome::kImported;
    const bool known = file.outcome == FileOutcome::kKnown;
    model::Cell rows;
    model::Cell repairs;
    num_taken_ += imported ? 1 : 0;
    if (imported) rows = file.rows;
    if (imported) repairs = repaired(file.repairs);
    table.add_row({file.path.string(), word(file.outcome), file.table, rows, repairs,
                   known ? model::Cell(file.note) : model::Cell()});
    if (imported) repairs_.merge(file.repairs, file.path.string());
    if (!imported && !known) failures_.push_back(file.note);
  }

  std::vector<fs::path> inputs_;
  std::vector<std::string> tables_;
  fs::path store_;
  std::optional<store::Store> opened_;
  Presentation presentation_;
  model::Warnings repairs_;
  std::vector<std::string> failures_;
  std::int64_t num_taken_ = 0;  // runs that are new in the store
};

const CommandSpec kStoreImport{
    .name = "store import",
    .summary = "take public performance tables into a store",
    .description =
        "Reads tables as the public collector writes them: CSV since 2025 (with or without a "
        "header, old names of types) and Parquet; for a folder, all files NAME_perf.txt, .csv and "
        ".parquet in it and below it. Each file is imported whole or not at all, with its path and "
        "what the collection_meta.yaml beside it says; a file whose content the store has already "
        "is passed over. Of another store all runs are taken, with their cases, samples and "
        "conditions: so what several hosts measured becomes one database.\n\n"
        "Where files have rows with the same key, the one imported last counts; the others stay "
        "in the store.",
    .examples =
        "assay store import gemm_perf.txt nccl_perf.txt --store mine.db\n"
        "assay store import systems/data/h200_sxm --store h200.db\n"
        "assay store import host2/perf.db --table nccl_perf --store perf.db\n",
    .make = make_command<StoreImport>,
};
ASSAY_REGISTER(CommandSpec, kStoreImport);

}  // namespace
}  // namespace assay::cli
