// The store: one SQLite file with every measurement, its samples and where it comes from. The
// public tables are views of it ("SELECT * FROM gemm_perf" works in any SQLite shell).
//
// Every append is one transaction on disk (WAL, synchronous = FULL): a kill loses at most what was
// not yet handed over. Several processes may read while one writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/perf.h"
#include "store/files/frame.h"

namespace assay::store {

// Where measurements come from: a collection, or an imported file.
struct Run {
  // "collect", "import"; "rerun": points of a collection measured again, which no table shows.
  std::string kind;
  std::string started_at;  // ISO 8601, UTC
  std::string device;      // name
  std::string plan_hash;   // of all its case ids, so that a resumed run is the same one
  std::map<std::string, std::string> facts;  // versions, clocks, command, file, hash of the file
};

enum class CaseOutcome : std::uint8_t { kMeasured, kSkipped, kFailed };

struct CaseRecord {
  std::string operator_name;
  std::string id;  // collect::Case::id()
  CaseOutcome outcome = CaseOutcome::kMeasured;
  std::string reason;       // of a skip; the message of a failure
  std::string error_class;  // of a failure
  std::string detail;       // JSON: everything known of a failure
  std::vector<model::PerfMeasurement> rows = {};
};

// A case record without its rows.
struct StoredCase {
  std::string id;
  CaseOutcome outcome = CaseOutcome::kMeasured;
  std::string operator_name = {};
  std::string reason = {};
  std::string error_class = {};
  std::string detail = {};
};

// A row of a case, as far as it takes to find it again in another run.
struct StoredRow {
  std::string case_id;
  std::string table;
  std::string op_name;
  std::string kernel_source;
  std::string key;  // values as JSON
  double latency_ms = 0;
  bool is_unsteady = false;  // throttled or drifting
};

// The fact of a run that measured points between those of the run whose number it is.
inline constexpr const char* kRefinesFact = "refines run";

// kGrid: without what such runs measured.
enum class Points { kAll, kGrid };

struct Selection {
  std::string table;           // "gemm_perf"
  std::string op_name = {};    // empty: all
  std::string framework = {};  // empty: all
  std::string version = {};
  std::string device = {};
  std::int64_t last_run = 0;  // later runs are left out; 0: none is
  Points points = Points::kAll;
};

// What a run has left in the store.
struct StoredRun {
  std::int64_t id = 0;
  Run run;
  std::string last_at;  // of its last append
  std::int64_t rows = 0;
  std::int64_t measured = 0;  // cases
  std::int64_t skipped = 0;
  std::int64_t failed = 0;
};

// What a store holds of one table, framework, version, device and op.
struct Content {
  std::string table;
  std::string framework;
  std::string version;
  std::string device;
  std::string op_name;
  std::int64_t rows = 0;      // as table() gives them
  std::string first_at = {};  // when measured or imported
  std::string last_at = {};
};

// Whose figures a store's collections and imports are.
struct Origin {
  std::vector<std::string> devices = {};  // "NVIDIA H200"
  std::vector<std::string> makers = {};   // "assay 0.1.0"; an import has none
  std::string first_day = {};             // "2026-01-02", UTC
  std::string last_day = {};
};

class Store {
 public:
  // kCreate makes it if it is not there. Errors: no store, a newer version's, a damaged one.
  enum class Mode { kRead, kWrite, kCreate };
  static core::Result<Store> open(const std::filesystem::path& path, Mode mode);
  // For files that are read but not kept.
  static core::Result<Store> in_memory();
  // A store's file as zstd packed it, in memory; every write fails. `name`: for messages.
  static core::Result<Store> unpack(const std::string& name, std::string_view packed);

  Store(Store&& other) noexcept;
  Store& operator=(Store&& other) noexcept;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  core::Result<std::int64_t> begin_run(const Run& run);
  core::Result<std::optional<std::int64_t>> last_run(const std::string& kind) const;
  [[nodiscard]] core::Result<Run> run(std::int64_t id) const;
  // The oldest first.
  [[nodiscard]] core::Result<std::vector<StoredRun>> runs() const;
  // Of all runs but reruns. Looks at no row, unlike runs().
  [[nodiscard]] core::Result<Origin> origin() const;

  // Replaces what the run has of this case.
  core::Status append(std::int64_t run, const CaseRecord& record);
  // All or none of them, with one wait for the disk.
  core::Status append(std::int64_t run, const std::vector<CaseRecord>& records);
  [[nodiscard]] core::Result<std::vector<StoredCase>> cases(std::int64_t run) const;
  // Of its cases, in the order in which they were appended.
  [[nodiscard]] core::Result<std::vector<StoredRow>> rows(std::int64_t run) const;

  // All rows of an imported table at once. The frame has the five common columns; all others but
  // latency, power and power_limit are its key.
  core::Status append(std::int64_t run, const std::string& table, const Frame& rows);
  // The same with a new run, all or nothing; gives the run.
  core::Result<std::int64_t> append(const Run& run, const std::string& table, const Frame& rows);

  // Names of its tables, sorted.
  [[nodiscard]] core::Result<std::vector<std::string>> tables() const;
  // Looks at every row: about a second for 3 million.
  [[nodiscard]] core::Result<std::vector<Content>> list(Points points = Points::kAll) const;

  // The public table: common columns, key, latency and, where any row has them, power columns.
  // Of rows with the same key those of the latest run (but no rerun's); a file's own duplicates all
  // stay, so that an imported table comes out as it went in. kWithStatistics adds median_ms to
  // drifting.
  enum class Columns { kPublic, kWithStatistics };
  [[nodiscard]] core::Result<Frame> table(const Selection& selection, Columns columns) const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace assay::store
