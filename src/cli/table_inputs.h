// Performance tables as commands take them: from a store, or straight from files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/frame.h"
#include "store/table_check.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}  // namespace CLI

namespace assay::cli {

struct TableInputs {
  std::filesystem::path store;
  std::vector<std::filesystem::path> files;

  // Just one of the two must be there.
  [[nodiscard]] core::Status check() const;
};

// Declares --store and FILE.
void add_table_inputs(CLI::App& app, TableInputs& inputs, const char* file_help);

struct NamedFrame {
  std::string table;   // "gemm_perf"
  std::string source;  // the file; "" of a store
  store::Frame frame;
};

// All tables; with a name, that one alone: files that are of another table are an error, a store
// without it as well. Prints what was wrong with a file that could be read all the same.
core::Result<std::vector<NamedFrame>> read_tables(const TableInputs& inputs,
                                                  const std::string& table);

// What limits a kernel: --system, --mem-bw, --peak.
struct RooflineInputs {
  std::filesystem::path system;
  double memory_gb_per_s = 0;
  std::vector<std::string> peaks;  // "bfloat16=989"
};

void add_roofline_options(CLI::App& app, RooflineInputs& inputs);

// Null where nothing is known of the device's peaks or of what the table's operator costs.
core::Result<store::Rooflines> read_rooflines(const RooflineInputs& inputs,
                                              const std::string& table);

}  // namespace assay::cli
