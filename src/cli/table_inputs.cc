#include "cli/table_inputs.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "core/text.h"
#include "model/warnings.h"
#include "store/database/store.h"
#include "store/files/perf_file.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

core::Result<NamedFrame> read_one(const fs::path& path) {
  model::Warnings warnings;
  store::PerfFile file = ASSAY_TRY(store::read_perf_file(path, warnings));
  for (const model::Warning& warning : warnings.all()) {
    print_warning(fmt::format("{}: {}: {}, {} ({})", path.string(), warning.reason, warning.count,
                              warning.effect, warning.example));
  }
  return NamedFrame{.table = file.table, .source = path.string(), .frame = std::move(file.rows)};
}

core::Result<std::vector<NamedFrame>> read_store(const store::Store& opened,
                                                 const std::string& called,
                                                 const std::string& only) {
  std::vector<std::string> names = ASSAY_TRY(opened.tables());
  if (names.empty()) return core::Error{called + " holds no tables"};
  if (!only.empty()) {
    if (std::find(names.begin(), names.end(), only) == names.end()) {
      return core::Error{
          fmt::format("{} has no table {}; it has {}", called, only, core::join(names, ", "))};
    }
    names = {only};
  }
  std::vector<NamedFrame> tables;
  for (const std::string& name : names) {
    tables.push_back(
        {.table = name,
         .source = {},
         .frame = ASSAY_TRY(opened.table({.table = name}, store::Store::Columns::kPublic))});
  }
  return tables;
}

core::Result<std::vector<NamedFrame>> read_shipped(const store::ShippedSystem& system,
                                                   const std::string& only,
                                                   const Presentation& presentation) {
  const store::Store opened = ASSAY_TRY(store::open_shipped(system));
  const std::string called = fmt::format("the shipped database {}", system.name);
  if (!presentation.quiet) {
    const store::Origin origin = ASSAY_TRY(opened.origin());
    print_note(fmt::format("from {}: {}", called, store::origin_text(origin)));
  }
  return read_store(opened, called, only);
}

}  // namespace

core::Status TableInputs::check() const {
  if (!store.empty() && !files.empty()) {
    return core::Error{"--store and FILE exclude each other"};
  }
  if (!store.empty() || !files.empty() || shipped() != nullptr) return {};
  const std::string names = store::shipped_names();
  return core::Error{"what to read: --store DB, or performance tables (CSV or Parquet) as FILE" +
                     (names.empty() ? "" : "; --store also takes a shipped database: " + names)};
}

const store::ShippedSystem* TableInputs::shipped() const {
  if (!store.empty()) return store::shipped_at(store);
  const auto systems = store::shipped_systems();
  const bool is_asked = files.empty() && without == WithoutInput::kShipped;
  return is_asked && systems.size() == 1 ? &systems.front() : nullptr;
}

void add_table_inputs(App& app, TableInputs& inputs, const char* file_help) {
  app.add_option("FILE", inputs.files, file_help);
  app.add_option("--store", inputs.store, store_help("read this store instead of files"))
      ->type_name("FILE");
}

core::Result<std::vector<NamedFrame>> read_tables(const TableInputs& inputs,
                                                  const std::string& table,
                                                  const Presentation& presentation) {
  const store::ShippedSystem* shipped = inputs.shipped();
  if (shipped != nullptr) return read_shipped(*shipped, table, presentation);
  if (!inputs.store.empty()) {
    return read_store(ASSAY_TRY(store::open_to_read(inputs.store)), inputs.store.string(), table);
  }
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
