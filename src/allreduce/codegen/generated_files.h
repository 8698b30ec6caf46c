// Everything that is generated from tuned tables, as files of one folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allreduce/tuning.h"

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

}  // namespace assay::allreduce
