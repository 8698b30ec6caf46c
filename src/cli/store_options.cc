#include "cli/store_options.h"

namespace assay::cli {

void add_store_option(CLI::App& app, std::filesystem::path& store) {
  app.add_option("--store", store, "the store to read")->type_name("FILE")->required();
}

void add_rows_options(CLI::App& app, store::Selection& rows) {
  const char* group = "Which rows";
  app.add_option("--framework", rows.framework,
                 "only rows of this one: assay, TRTLLM, VLLM, SGLang")
      ->type_name("NAME")
      ->default_str("all")
      ->group(group);
  app.add_option("--version", rows.version, "only rows of this version of the framework")
      ->type_name("VERSION")
      ->default_str("all")
      ->group(group);
  app.add_option("--device", rows.device, "only rows of this GPU: \"NVIDIA H200\"")
      ->type_name("NAME")
      ->default_str("all")
      ->group(group);
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

}  // namespace assay::cli
