// Everything that is generated from tuned tables, as files of one folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allreduce/strategy_table.h"
#include "allreduce/tuning.h"
#include "core/result.h"

namespace assay::allreduce {

struct GeneratedFile {
  std::string name;
  std::string text;
};

// generated_lookup_table.cpp, allreduce_table.h (constexpr, stands alone), allreduce_table.json
// (for `lookup` and the C library) and nccl_tuner.conf.
core::Result<std::vector<GeneratedFile>> generated_files(const TunedTables& tables,
                                                         const Benchmark& benchmark,
                                                         LookupLayout layout);

// Makes the folder; gives the paths written.
core::Result<std::vector<std::filesystem::path>> write_generated(
    const std::vector<GeneratedFile>& files, const std::filesystem::path& folder);

// A strategy table as a C++17 header that needs nothing else: flat constexpr arrays and a lookup
// that gives StrategyTable::lookup's answer for any input, on the host and in CUDA kernels.

struct HeaderOptions {
  std::string name_space = "allreduce_table";  // may be nested: "my::table"
};

// The text of the header. Error: the name of the namespace is none, or the table has no slice.
core::Result<std::string> strategy_header(const StrategyTable& table,
                                          const HeaderOptions& options = {});

}  // namespace assay::allreduce
