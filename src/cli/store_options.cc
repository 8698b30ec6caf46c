#include "cli/store_options.h"

#include <fmt/core.h>

#include <utility>

#include "cli/options.h"
#include "store/files/table_spec.h"
#include "store/systems/shipped.h"

namespace assay::cli {

std::string store_help(const std::string& what) {
  const std::string names = store::shipped_names();
  return names.empty() ? what : what + ", or the name of a shipped one: " + names;
}

std::vector<std::string> shipped_words() {
  std::vector<std::string> words;
  for (const store::ShippedSystem& system : store::shipped_systems())
    words.emplace_back(system.name);
  return words;
}

std::vector<std::string> table_words() {
  std::vector<std::string> words;
  for (const store::TableSpec& spec : store::table_specs())
    words.push_back(spec.table);
  return words;
}

Option* add_store_option(App& app, std::filesystem::path& store) {
  return app.add_option("STORE,--store", store, store_help("the store to read"))
      ->suggest(shipped_words())
      ->required();
}

core::Status refuse_shipped_output(const std::filesystem::path& store) {
  if (store::shipped_at(store) == nullptr) return {};
  return core::Error{fmt::format(
      "{0} ships with assay, and nothing may be written into it; name a file of your own, such as "
      "{0}.db",
      store.string())};
}

void add_rows_options(App& app, store::Selection& rows) {
  const char* group = "Which rows";
  app.add_option("--framework", rows.framework,
                 "only rows of this one: assay, TRTLLM, VLLM, SGLang")
      ->type_name("NAME")
      ->default_str("all")
      ->group(group);
  app.add_option("--framework-version", rows.version, "only rows of this version of the framework")
      ->type_name("VERSION")
      ->default_str("all")
      ->group(group);
  app.add_option("--device-name", rows.device, "only rows of this GPU: \"NVIDIA H200\"")
      ->type_name("NAME")
      ->default_str("all")
      ->group(group);
  add_l2_option(app, rows.l2)->group(group);
  Choices<store::Points> choices{{"all", store::Points::kAll}, {"grid", store::Points::kGrid}};
  if (rows.points == store::Points::kGrid) std::swap(choices.front(), choices.back());
  add_choice(app, "--points", rows.points, choices,
             "grid: without the points that collect --refine measured between others")
      ->group(group);
}

Option* add_l2_option(App& app, std::optional<model::L2State>& l2) {
  static const Choices<std::optional<model::L2State>> states{{"engine", model::L2State::kEngine},
                                                             {"cold", model::L2State::kCold},
                                                             {"hot", model::L2State::kHot}};
  return add_choice(
             app, "--l2", l2, states,
             "only rows that were measured with the L2 cache as engines find it, cold or hot")
      ->default_str("of rows with one key, engine before others");
}

model::Table written_table(const std::vector<store::WrittenFile>& written) {
  model::Table table{.name = "files",
                     .title = "Files written",
                     .columns = {{.name = "file"}, {.name = "table"}, {.name = "rows"}}};
  for (const store::WrittenFile& file : written) {
    table.add_row({file.path.string(), file.table,
                   file.table.empty() ? model::Cell() : model::Cell(file.rows)});
  }
  return table;
}

model::Table left_out_table(const std::string& title, const std::vector<store::LeftOut>& left_out) {
  model::Table table{.name = "left_out",
                     .title = title,
                     .columns = {{.name = "table"}, {.name = "reason"}, {.name = "rows"}}};
  for (const store::LeftOut& rows : left_out)
    table.add_row({rows.table, rows.reason, model::Cell(rows.rows)});
  return table;
}

model::Table power_table(const std::vector<store::PowerFit>& power, const std::string& note) {
  model::Table table{.name = "modelled_power",
                     .title = "Power by a model of the rows that have theirs",
                     .columns = {{.name = "table"},
                                 {.name = "op"},
                                 {.name = "measured"},
                                 {.name = "modelled"},
                                 {.name = "median", .unit = "%"},
                                 {.name = "p90", .unit = "%"},
                                 {.name = "other_types", .unit = "%"},
                                 {.name = "why_not"}},
                     .notes = {"errors of rows that were left out, a tenth at a time; other_types: "
                               "all rows of a type, the worst one"}};
  if (!note.empty()) table.notes.push_back(note);
  for (const store::PowerFit& fit : power) {
    const bool is_judged = fit.errors.p90 > 0;
    const auto percent = [](bool is_there, double share) {
      return is_there ? model::Cell(share * 100) : model::Cell();
    };
    const auto others = fit.errors_of_other_types;
    table.add_row({fit.table, fit.op_name, model::Cell(fit.measured), model::Cell(fit.modelled),
                   percent(is_judged, fit.errors.median), percent(is_judged, fit.errors.p90),
                   percent(others.has_value(), others ? others->median : 0), fit.why_not});
  }
  return table;
}

}  // namespace assay::cli
