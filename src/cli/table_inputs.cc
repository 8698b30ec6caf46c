#include "cli/table_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/operator_costs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "collect/plan/operator.h"
#include "core/check.h"
#include "core/text.h"
#include "model/data_type.h"
#include "model/warnings.h"
#include "store/answers/packed_tables.h"
#include "store/answers/table_index.h"
#include "store/database/store.h"
#include "store/files/perf_file.h"
#include "store/systems/system_yaml.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

core::Result<NamedFrame> read_one(const fs::path& path) {
  model::Warnings warnings;
  store::PerfFile file = ASSAY_TRY(store::read_perf_file(path, warnings));
  for (const model::Warning& warning : warnings.all()) {
    print_warning(path.string() + ": " + warning.sentence());
  }
  return NamedFrame{.table = file.table,
                    .source = path.string(),
                    .frame = std::move(file.rows),
                    .unread = file.unread};
}

core::Result<std::vector<NamedFrame>> read_store(const store::Store& opened,
                                                 const std::string& called,
                                                 const std::string& only,
                                                 std::optional<model::L2State> l2) {
  std::vector<std::string> names = ASSAY_TRY(opened.tables());
  if (names.empty()) return core::Error{called + " holds no tables"};
  if (!only.empty()) {
    if (std::find(names.begin(), names.end(), only) == names.end()) {
      const std::string near = core::nearest(only, names);
      return core::Error{fmt::format(
          "{} has no table {}; {}", called, only,
          near.empty() ? "it has " + core::join(names, ", ") : "did you mean '" + near + "'?")};
    }
    names = {only};
  }
  std::vector<NamedFrame> tables;
  for (const std::string& name : names) {
    store::Selection rows{.table = name};
    rows.l2 = l2;
    store::Frame frame = ASSAY_TRY(opened.table(rows, store::Store::Columns::kWithInterval));
    if (l2 && !only.empty() && frame.num_rows() == 0) {
      return core::Error{fmt::format("{} has no rows of {} that were measured with --l2 {}", called,
                                     name, model::name_of(*l2))};
    }
    tables.push_back({.table = name, .source = {}, .frame = std::move(frame)});
  }
  return tables;
}

core::Result<std::vector<NamedFrame>> read_shipped(const store::ShippedSystem& system,
                                                   const std::string& only,
                                                   std::optional<model::L2State> l2,
                                                   const Presentation& presentation) {
  const store::Store opened = ASSAY_TRY(store::open_shipped(system));
  const std::string called = fmt::format("the shipped database {}", system.name);
  if (!presentation.quiet) {
    const store::Origin origin = ASSAY_TRY(opened.origin());
    print_note(fmt::format("from {}: {}", called, store::origin_text(origin)));
  }
  return read_store(opened, called, only, l2);
}

core::Result<store::WorkRows> map_shipped(const store::ShippedSystem& system,
                                          const RooflineInputs& roofline,
                                          const TableInputs& inputs,
                                          const std::string& table,
                                          const Presentation& presentation) {
  const std::string called = fmt::format("the shipped database {}", system.name);
  const auto tables = ASSAY_TRY(store::PackedTables::open(system.tables));
  if (!presentation.quiet) print_note(fmt::format("from {}: {}", called, tables.origin()));
  auto rows = tables.table(table);
  if (!rows.ok()) return core::Error{called + " has " + rows.error().message};
  // The spreads that ship are those of the device's own rooflines.
  const bool is_own = ASSAY_TRY(read_given_peaks(roofline, inputs)) ==
                      std::optional(ASSAY_TRY(store::peaks_of(system)));
  if (!is_own) rows.value().spreads = nullptr;
  return rows;
}

std::string peak_problem(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || sign == std::string::npos ||
      !positive_number_problem(text.substr(sign + 1)).empty())
    return "takes TYPE=TFLOPS as in bfloat16=989, not '" + text + "'";
  const std::string type = text.substr(0, sign);
  if (model::data_type_named(type)) return "";
  return fmt::format("knows no type '{}'; it knows bfloat16, fp8, int8 and float32", type);
}

}  // namespace

core::Status TableInputs::check() const {
  if (!store.empty() && !files.empty()) {
    return core::Error{"--store and FILE exclude each other"};
  }
  if (l2 && !files.empty() && database().empty())
    return core::Error{"--l2 chooses rows of a store; files do not tell the state of the cache"};
  if (!store.empty() || !files.empty() || shipped() != nullptr) return {};
  const std::string names = store::shipped_names();
  return core::Error{"what to read: --store DB, or performance tables (CSV or Parquet) as FILE" +
                     (names.empty() ? "" : "; --store also takes a shipped database: " + names)};
}

fs::path TableInputs::database() const {
  const bool is_one = store.empty() && files.size() == 1 &&
                      (store::is_store(files[0]) || store::shipped_at(files[0]) != nullptr);
  return is_one ? files[0] : store;
}

const store::ShippedSystem* TableInputs::shipped() const {
  if (const fs::path named = database(); !named.empty()) return store::shipped_at(named);
  const auto systems = store::shipped_systems();
  const bool is_asked = files.empty() && without == WithoutInput::kShipped;
  return is_asked && systems.size() == 1 ? &systems.front() : nullptr;
}

void add_table_inputs(App& app, TableInputs& inputs, const char* file_help) {
  app.add_option("FILE", inputs.files, file_help);
  app.add_option("--store", inputs.store, store_help("read this store instead of files"))
      ->type_name("STORE")
      ->suggest(shipped_words());
}

core::Result<std::vector<NamedFrame>> read_tables(const TableInputs& inputs,
                                                  const std::string& table,
                                                  const Presentation& presentation) {
  const store::ShippedSystem* shipped = inputs.shipped();
  if (shipped != nullptr) return read_shipped(*shipped, table, inputs.l2, presentation);
  if (const fs::path database = inputs.database(); !database.empty()) {
    return read_store(ASSAY_TRY(store::open_to_read(database)), database.string(), table,
                      inputs.l2);
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

void add_roofline_options(App& app, RooflineInputs& inputs) {
  const char* group = "Roofline options";
  app.add_option("--system", inputs.system,
                 store::shipped_names().empty()
                     ? "peaks of the device: systems/NAME.yaml"
                     : "peaks of the device: systems/NAME.yaml, or a shipped system: " +
                           store::shipped_names())
      ->type_name("FILE")
      ->suggest(shipped_words())
      ->group(group);
  app.add_option("--mem-bw", inputs.memory_gb_per_s, "memory bandwidth in GB/s (1e9)")
      ->type_name("GB/S")
      ->check(positive_number_problem)
      ->group(group);
  app.add_option("--peak", inputs.peaks, "TFLOPS (1e12) of a data type; may be repeated")
      ->type_name("TYPE=TFLOPS")
      ->check(peak_problem)
      ->group(group);
}

core::Result<std::optional<store::Peaks>> read_given_peaks(const RooflineInputs& inputs,
                                                           const TableInputs& rows) {
  const store::ShippedSystem* shipped = inputs.system.empty() ? rows.shipped() : nullptr;
  if (shipped == nullptr && !inputs.is_given()) return std::optional<store::Peaks>();
  store::Peaks peaks;
  if (!inputs.system.empty()) peaks = ASSAY_TRY(store::peaks_of_system(inputs.system));
  if (shipped != nullptr) peaks = ASSAY_TRY(store::peaks_of(*shipped));
  if (inputs.memory_gb_per_s > 0) peaks.memory_bytes_per_s = inputs.memory_gb_per_s * 1e9;
  for (const std::string& peak : inputs.peaks) {
    const std::size_t sign = peak.find('=');
    const auto type = model::data_type_named(peak.substr(0, sign));
    ASSAY_CHECK(type.has_value(), "peak_problem() lets no other type through");
    peaks.flops_per_s[std::string(store::Peaks::name_of(model::name_of(*type)))] =
        finite_number(peak.substr(sign + 1)).value_or(0) * 1e12;
  }
  return std::optional(std::move(peaks));
}

core::Result<store::Rooflines> read_rooflines(const RooflineInputs& inputs,
                                              const TableInputs& rows,
                                              const std::string& table) {
  const std::optional<store::Peaks> peaks = ASSAY_TRY(read_given_peaks(inputs, rows));
  if (!peaks) return store::Rooflines();
  return store::table_rooflines(table, costed_operators(table), *peaks);
}

core::Status tell_origin(const TableInputs& inputs) {
  const store::ShippedSystem* shipped = inputs.shipped();
  if (shipped == nullptr) return {};
  const auto tables = ASSAY_TRY(store::PackedTables::open(shipped->tables));
  print_note(fmt::format("from the shipped database {}: {}", shipped->name, tables.origin()));
  return {};
}

std::string table_meant(const std::string& word) {
  const collect::Operator* measured = collect::find_operator(word);
  return measured != nullptr ? measured->table : store::table_name(word);
}

core::Result<store::WorkIndex> read_index(const TableInputs& inputs,
                                          const RooflineInputs& roofline,
                                          const std::string& table,
                                          const Presentation& presentation) {
  store::RooflineBinder binder = ASSAY_TRY(read_rooflines(roofline, inputs, table)).bound;
  const store::ShippedSystem* shipped = inputs.shipped();
  if (shipped != nullptr && !inputs.l2)
    return store::WorkIndex(ASSAY_TRY(map_shipped(*shipped, roofline, inputs, table, presentation)),
                            std::move(binder));
  std::vector<store::Frame> frames;
  for (NamedFrame& named : ASSAY_TRY(read_tables(inputs, table, presentation)))
    frames.push_back(std::move(named.frame));
  return store::WorkIndex::make(
      table, frames.size() == 1 ? frames.front() : store::joined_frames(frames), std::move(binder));
}

}  // namespace assay::cli
