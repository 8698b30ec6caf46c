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

// What is read when neither a store nor files are given.
enum class WithoutInput { kRefuse, kShipped };

struct TableInputs {
  std::filesystem::path store;  // a file, or the name of a shipped one
  std::vector<std::filesystem::path> files;
  WithoutInput without = WithoutInput::kRefuse;

  // Not both may be there; nor none, but where the only shipped database is then read.
  [[nodiscard]] core::Status check() const;

  // The shipped database that is read; null: none.
  [[nodiscard]] const store::ShippedSystem* shipped() const;
};

// Declares --store and FILE.
void add_table_inputs(App& app, TableInputs& inputs, const char* file_help);

struct NamedFrame {
  std::string table;   // "gemm_perf"
  std::string source;  // the file; "" of a store
  store::Frame frame;
};

// All tables; with a name, that one alone: files that are of another table are an error, a store
// without it as well. Says what was wrong with a file that could be read all the same and, unless
// quiet, whose figures a shipped database holds.
core::Result<std::vector<NamedFrame>> read_tables(const TableInputs& inputs,
                                                  const std::string& table,
                                                  const Presentation& presentation);

// What limits a kernel: --system, --mem-bw, --peak.
struct RooflineInputs {
  std::filesystem::path system;  // a file, or the name of a shipped system
  double memory_gb_per_s = 0;
  std::vector<std::string> peaks;  // "bfloat16=989"
};

void add_roofline_options(App& app, RooflineInputs& inputs);

// Null where nothing is known of the device's peaks or of what the table's operator costs. Without
// --system the rows of a shipped database have the peaks of its own device.
core::Result<store::Rooflines> read_rooflines(const RooflineInputs& inputs,
                                              const TableInputs& rows,
                                              const std::string& table);

}  // namespace assay::cli
