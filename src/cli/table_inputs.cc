#include "cli/table_inputs.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/options.h"
#include "cli/output.h"
#include "core/files.h"
#include "model/warnings.h"
#include "store/columns.h"
#include "store/csv_frame.h"
#include "store/parquet_reader.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

core::Result<NamedFrame> read_one(const fs::path& path) {
  const std::string bytes = ASSAY_TRY(core::read_file(path));
  NamedFrame named{.table = store::table_name(path.string()), .source = path.string(), .frame = {}};
  if (bytes.starts_with("PAR1")) {
    named.frame = ASSAY_TRY(store::read_parquet_file(path));
    return named;
  }
  model::Warnings warnings;
  auto frame = store::read_csv_frame(
      bytes, warnings,
      {.text_columns = {"framework", "version", "device", "op_name", "kernel_source"}});
  if (!frame.ok()) return frame.error().context(path.string());
  for (const model::Warning& warning : warnings.all()) {
    print_warning(fmt::format("{}: {} ({} times): {}; {}", path.string(), warning.reason,
                              warning.count, warning.effect, warning.example));
  }
  named.frame = std::move(frame).value();
  return named;
}

}  // namespace

core::Status TableInputs::check() const {
  if (store.empty() && files.empty()) {
    return core::Error{"what to read: --store DB, or performance tables (CSV or Parquet) as FILE"};
  }
  if (store.empty() || files.empty()) return {};
  return core::Error{"--store and FILE exclude each other"};
}

void add_table_inputs(CLI::App& app, TableInputs& inputs, const char* file_help) {
  app.add_option("FILE", inputs.files, file_help);
  app.add_option("--store", inputs.store, "read this store instead of files")->type_name("FILE");
}

core::Result<std::vector<NamedFrame>> read_tables(const TableInputs& inputs,
                                                  const std::string& table) {
  std::vector<NamedFrame> tables;
  for (const fs::path& path : inputs.files) {
    NamedFrame named = ASSAY_TRY(read_one(path));
    if (!table.empty() && named.table != table) {
      return core::Error{fmt::format("{} is a {}, not a {}", path.string(), named.table, table)};
    }
    tables.push_back(std::move(named));
  }
  return tables;
}

}  // namespace assay::cli
