// Reads performance tables for commands, from a store or directly from files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/summary_output.h"
#include "core/result.h"
#include "model/perf.h"
#include "store/answers/work_index.h"
#include "store/files/frame.h"
#include "store/judging/table_check.h"
#include "store/systems/shipped.h"

namespace assay::cli {

class App;

// The behaviour of a command if neither a store nor files are given.
enum class WithoutInput { kRefuse, kShipped };

struct TableInputs {
  std::filesystem::path store;               // a file, or the name of a shipped one
  std::vector<std::filesystem::path> files;  // tables; or one store, which people forget to name
  WithoutInput without = WithoutInput::kRefuse;
  std::optional<model::L2State> l2 = {};  // of a store, only such rows

  // Returns what is read as a store: --store, or the only FILE if it is one. Empty if there is
  // none.
  [[nodiscard]] std::filesystem::path database() const;

  // Fails if both are given, or if neither is given and the command does not read the only shipped
  // database.
  [[nodiscard]] core::Status check() const;

  // Returns the shipped database that is read, or nullptr if none is read.
  [[nodiscard]] const store::ShippedSystem* shipped() const;
};

// Declares --store and FILE.
void add_table_inputs(App& app, TableInputs& inputs, const char* file_help);

struct NamedFrame {
  std::string table;   // such as "gemm_perf"
  std::string source;  // the file; "" for a store
  store::Frame frame;
  std::int64_t unread = 0;  // rows of the file that are not in the frame
};

// Reads all tables, or only the one of this name; those of a store with their intervals. With a
// name, it fails for a file that holds another table and for a store without that table. Prints on
// standard error the problems of a file that could still be read and, unless quiet, the origin of
// the figures in a shipped database.
core::Result<std::vector<NamedFrame>> read_tables(const TableInputs& inputs,
                                                  const std::string& table,
                                                  const Presentation& presentation);

// The options for the limits of a kernel: --system, --mem-bw and --peak.
struct RooflineInputs {
  std::filesystem::path system;  // a file, or the name of a shipped system
  double memory_gb_per_s = 0;
  std::vector<std::string> peaks;  // such as "bfloat16=989"

  [[nodiscard]] bool is_given() const {
    return !system.empty() || memory_gb_per_s > 0 || !peaks.empty();
  }
};

void add_roofline_options(App& app, RooflineInputs& inputs);

// Without --system, the rows of a shipped database have the peaks of its own device. std::nullopt
// if nothing tells the peaks.
core::Result<std::optional<store::Peaks>> read_given_peaks(const RooflineInputs& inputs,
                                                           const TableInputs& rows);

// Returns null if the device's peaks or the cost of the table's operator are unknown.
core::Result<store::Rooflines> read_rooflines(const RooflineInputs& inputs,
                                              const TableInputs& rows,
                                              const std::string& table);

// Prints on standard error what a shipped database was measured on, where one is read.
core::Status tell_origin(const TableInputs& inputs);

// Returns the table that a word means: its name, with or without "_perf", or an operator of
// `assay collect`.
std::string table_meant(const std::string& word);

// Reads a table and makes it ready for queries. Of a shipped database that is not narrowed, the
// rows are mapped rather than read.
core::Result<store::WorkIndex> read_index(const TableInputs& inputs,
                                          const RooflineInputs& roofline,
                                          const std::string& table,
                                          const Presentation& presentation);

}  // namespace assay::cli
