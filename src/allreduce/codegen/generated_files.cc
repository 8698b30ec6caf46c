#include "allreduce/codegen/generated_files.h"

#include "allreduce/codegen/header.h"
#include "allreduce/codegen/nccl_tuner.h"
#include "core/files.h"

namespace assay::allreduce {

core::Result<std::vector<GeneratedFile>> generated_files(const TunedTables& tables,
                                                         const Benchmark& benchmark,
                                                         LookupLayout layout) {
  const std::string header = ASSAY_TRY(strategy_header(tables.table));
  const std::string tuner =
      nccl_tuner_config(nccl_timings(benchmark), {.sm_version = benchmark.sm_version,
                                                  .provenance = tables.table.provenance,
                                                  .tie = tables.options.tie});
  return std::vector<GeneratedFile>{
      {"generated_lookup_table.cpp", lookup_table_cpp(tables.lookup, layout)},
      {"allreduce_table.h", header},
      {"allreduce_table.json", table_json(tables.table)},
      {"nccl_tuner.conf", tuner}};
}

core::Result<std::vector<std::filesystem::path>> write_generated(
    const std::vector<GeneratedFile>& files, const std::filesystem::path& folder) {
  if (const auto made = core::make_directories(folder); !made.ok()) return made.error();
  std::vector<std::filesystem::path> paths;
  for (const GeneratedFile& file : files) {
    paths.push_back(folder / file.name);
    const auto written = core::write_file(paths.back(), file.text);
    if (!written.ok()) return written.error();
  }
  return paths;
}

}  // namespace assay::allreduce
