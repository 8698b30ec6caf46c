// Generates the files of one folder from tuned tables.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allreduce/codegen/nccl_tuner.h"
#include "allreduce/nccl_csv.h"
#include "allreduce/strategy_table.h"
#include "allreduce/tuning.h"
#include "core/result.h"

namespace assay::allreduce {

struct GeneratedFile {
  std::string name;
  std::string text;
};

// Returns generated_lookup_table.cpp, allreduce_table.h (constexpr, without dependencies),
// allreduce_tables.h (the dispatcher over this table and `others`), allreduce_table.json (for
// `lookup` and the C library) and those of nccl_tuner_files().
core::Result<std::vector<GeneratedFile>> generated_files(
    const TunedTables& tables,
    const Benchmark& benchmark,
    const NcclSweep& sweep,
    LookupLayout layout,
    const std::vector<StrategyTable>& others = {});

// Returns nccl_tuner.conf, for NCCL's example plugin, and assay_nccl_tuner.conf, for ours. The
// sweep tells the GPU and the version of the facts, and where it has a provenance, that, too.
std::vector<GeneratedFile> nccl_tuner_files(const NcclSweep& sweep, NcclTunerFacts facts);

// Creates the folder, writes the files and returns their paths.
core::Result<std::vector<std::filesystem::path>> write_generated(
    const std::vector<GeneratedFile>& files, const std::filesystem::path& folder);

// A strategy table as a C++17 header without dependencies: flat constexpr arrays and a lookup that
// gives the same answer as StrategyTable::lookup for any input, on the host and in CUDA kernels.

// Each header has a namespace and a guard of its own, with the SM, the launch and a hash of the
// content, so that a program may hold any number of tables. An alias without the hash follows:
// allreduce_table_sm90_graph. Including two different tables of one SM and launch in one source is
// an error of the compiler, unless ALLREDUCE_TABLE_NO_ALIAS is defined before.

struct HeaderOptions {
  std::string name_space = "allreduce_table";  // may be nested: "my::table"
};

// Returns the alias, "my::table_sm90_graph", and the namespace, "my::table_sm90_graph_<hash>".
std::string header_alias(const StrategyTable& table, const HeaderOptions& options = {});
std::string header_namespace(const StrategyTable& table, const HeaderOptions& options = {});

// Returns the text of the header. Fails when the namespace is not a valid name or the table has no
// slice.
core::Result<std::string> strategy_header(const StrategyTable& table,
                                          const HeaderOptions& options = {});

// Returns one header with all tables and a lookup that takes the SM and the launch besides: the
// table of both answers, else one of the same launch of the nearest older SM, else the nearest
// there is. Its namespace is the given one with an s, and the same with a hash. Fails as
// strategy_header() does, and when two tables have the same SM and launch.
core::Result<std::string> dispatcher_header(const std::vector<StrategyTable>& tables,
                                            const HeaderOptions& options = {});

}  // namespace assay::allreduce
