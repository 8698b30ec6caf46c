// Performance tables as commands take them: from a store, or straight from files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/summary_output.h"
#include "core/result.h"
#include "store/files/frame.h"
#include "store/judging/table_check.h"
#include "store/systems/shipped.h"

namespace assay::cli {

class App;

// What a command reads when neither a store nor files are given.
enum class WithoutInput { kRefuse, kShipped };

struct TableInputs {
  std::filesystem::path store;  // a file, or the name of a shipped one
  std::vector<std::filesystem::path> files;
  WithoutInput without = WithoutInput::kRefuse;

  // Fails if both are given, or neither where the command does not read the only shipped database.
  [[nodiscard]] core::Status check() const;

  // The shipped database that is read; null if none is.
  [[nodiscard]] const store::ShippedSystem* shipped() const;
};

// Declares --store and FILE.
void add_table_inputs(App& app, TableInputs& inputs, const char* file_help);

struct NamedFrame {
  std::string table;   // "gemm_perf"
  std::string source;  // the file; "" for a store
  store::Frame frame;
};

// Reads all tables, or the one of this name alone; then files of another table and a store without
// it are errors. Says on standard error what was wrong with a file that could be read all the same
// and, unless quiet, where the figures of a shipped database come from.
core::Result<std::vector<NamedFrame>> read_tables(const TableInputs& inputs,
                                                  const std::string& table,
                                                  const Presentation& presentation);

// The options that tell what limits a kernel: --system, --mem-bw, --peak.
struct RooflineInputs {
  std::filesystem::path system;  // a file, or the name of a shipped system
  double memory_gb_per_s = 0;
  std::vector<std::string> peaks;  // "bfloat16=989"
};

void add_roofline_options(App& app, RooflineInputs& inputs);

// Null where the device's peaks or the cost of the table's operator are unknown. Without --system
// the rows of a shipped database have the peaks of its own device.
core::Result<store::Rooflines> read_rooflines(const RooflineInputs& inputs,
                                              const TableInputs& rows,
                                              const std::string& table);

}  // namespace assay::cli
