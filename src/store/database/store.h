// The store is one SQLite file with every measurement, its samples and its origin. The public
// tables are views of it ("SELECT * FROM gemm_perf" works in any SQLite shell).
//
// Every append is one transaction on disk (WAL, synchronous = FULL), so a kill loses at most what
// was not yet handed over. Several processes may read while one writes.
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

// A collection or an imported file, from which measurements come.
struct Run {
  // "collect" or "import"; "rerun" for points of a collection that were measured again, which no
  // table shows.
  std::string kind;
  std::string started_at;                    // ISO 8601, UTC
  std::string device;                        // its name
  std::string plan_hash;                     // of all case ids, so that a resumed run is recognised
  std::map<std::string, std::string> facts;  // versions, clocks, command, file, hash of the file
};

// The day of a time: "2026-01-02" of "2026-01-02T03:04:05Z".
std::string day_of(const std::string& time);

enum class CaseOutcome : std::uint8_t { kMeasured, kSkipped, kFailed };

struct CaseRecord {
  std::string operator_name;
  std::string id;  // collect::Case::id()
  CaseOutcome outcome = CaseOutcome::kMeasured;
  std::string reason;       // why it was skipped, or the message of a failure
  std::string error_class;  // of a failure
  std::string detail;       // everything that is known about a failure, as JSON
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
  bool has_power = false;  // whether a row of it has the power
};

// A row of a case, with what is needed to find it again in another run.
struct StoredRow {
  std::string case_id;
  std::string table;
  std::string op_name;
  std::string kernel_source;
  std::string key;  // values as JSON
  double latency_ms = 0;
  bool is_unsteady = false;  // throttled or drifting
};

// A run that measured points between those of another run has this fact: the number of that run.
inline constexpr const char* kRefinesFact = "refines run";

// These facts say how a run was told to measure: until half the interval of a median is within this
// many percent of it, or this many samples, if they are not "0".
inline constexpr const char* kCertaintyFact = "setting --certainty";
inline constexpr const char* kNumRunsFact = "setting --num-runs";

// kGrid leaves out what such runs measured.
enum class Points { kAll, kGrid };

struct Selection {
  std::string table;           // "gemm_perf"
  std::string op_name = {};    // empty for all; so are the next three
  std::string framework = {};  // whatever its case: vLLM writes its own in two ways
  std::string version = {};
  std::string device = {};
  std::int64_t last_run = 0;  // later runs are left out; 0 for all runs
  Points points = Points::kAll;
  // Only rows of this state of the L2 cache. Without it, of the rows with one key those that were
  // measured as engines find it come before all others, also before later ones.
  std::optional<model::L2State> l2 = {};
};

// A run with what it has left in the store.
struct StoredRun {
  std::int64_t id = 0;
  Run run;
  std::string last_at;  // of its last append
  std::int64_t rows = 0;
  std::int64_t measured = 0;  // cases, as the next two
  std::int64_t skipped = 0;
  std::int64_t failed = 0;
};

// A run of another store that this one took, or has already.
struct MergedRun {
  Run run;
  std::int64_t rows = 0;
  bool is_known = false;
};

// A summary of a store's rows for one table, framework, version, device and operation.
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

// The origin of the figures of a store's collections and imports.
struct Origin {
  std::vector<std::string> devices = {};  // "NVIDIA H200"
  std::vector<std::string> makers = {};   // "assay 0.1.0"; an import names none
  std::string first_day = {};             // "2026-01-02", UTC
  std::string last_day = {};
};

// "NVIDIA H200, assay 0.1.0, measured 2026-01-02"
std::string origin_text(const Origin& origin);

class Store {
 public:
  // kCreate makes the file if it does not exist. Errors: the file is no store, is damaged, or was
  // written by a newer version.
  enum class Mode { kRead, kWrite, kCreate };
  static core::Result<Store> open(const std::filesystem::path& path, Mode mode);
  // An empty store for files that are read but not kept.
  static core::Result<Store> in_memory();
  // Opens the bytes of a store's file in memory; every write fails. Messages call it `name`.
  static core::Result<Store> from_bytes(const std::string& name, std::string_view bytes);
  // Does the same with a file that zstd has packed.
  static core::Result<Store> unpack(const std::string& name, std::string_view packed);

  Store(Store&& other) noexcept;
  Store& operator=(Store&& other) noexcept;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  core::Result<std::int64_t> begin_run(const Run& run);
  // Adds facts to a run that was begun earlier, or replaces them.
  core::Status set_facts(std::int64_t run, const std::map<std::string, std::string>& changed);
  core::Result<std::optional<std::int64_t>> last_run(const std::string& kind) const;
  [[nodiscard]] core::Result<Run> run(std::int64_t id) const;
  // All runs, the oldest first.
  [[nodiscard]] core::Result<std::vector<StoredRun>> runs() const;
  // The origin of all runs but reruns. Unlike runs(), it looks at no row.
  [[nodiscard]] core::Result<Origin> origin() const;

  // Replaces what the run holds of this case.
  core::Status append(std::int64_t run, const CaseRecord& record);
  // Appends all or none of them, and waits only once for the disk.
  core::Status append(std::int64_t run, const std::vector<CaseRecord>& records);
  [[nodiscard]] core::Result<std::vector<StoredCase>> cases(std::int64_t run) const;
  // The rows of the run's cases, in the order in which they were appended.
  [[nodiscard]] core::Result<std::vector<StoredRow>> rows(std::int64_t run) const;

  // Appends all rows of an imported table. The frame has the five common columns; all others but
  // latency, power and power_limit are its key.
  core::Status append(std::int64_t run, const std::string& table, const Frame& rows);
  // Does the same with a new run, all or nothing, and returns the run.
  core::Result<std::int64_t> append(const Run& run, const std::string& table, const Frame& rows);
  // Does the same unless a run has the fact "file_hash" of this one, even one that another process
  // appends at this moment. Returns the fact "file" of that run, or std::nullopt if it appended.
  core::Result<std::optional<std::string>> append_file(const Run& run,
                                                       const std::string& table,
                                                       const Frame& rows);

  // Takes the runs of another store, with their cases and how their rows were measured, all or
  // nothing; of runs with rows of these tables only those rows, if tables are named. A run that
  // this store has already (the same kind, start, device, plan and facts) is passed over.
  core::Result<std::vector<MergedRun>> merge(const Store& other,
                                             const std::vector<std::string>& tables);

  // The names of its tables, sorted.
  [[nodiscard]] core::Result<std::vector<std::string>> tables() const;
  // The names of the columns that rows of this table may have in table(), kPublic. Unlike table(),
  // it looks at no row. A table that is not there has none.
  [[nodiscard]] core::Result<std::vector<std::string>> columns(const std::string& table) const;
  // Looks at every row, which takes about a second for 3 million.
  [[nodiscard]] core::Result<std::vector<Content>> list(Points points = Points::kAll) const;

  // The public table: the common columns, the key, the latency and, where any row has them, the
  // power columns. Of rows with the same key those of the latest run count (reruns do not); a
  // file's own duplicates all stay, so that an imported table comes out as it went in.
  // kWithStatistics adds the columns from median_ms to drifting. kWithInterval adds, where they are
  // known, the interval of a latency that is a median (interval_low_ms, interval_high_ms, and the
  // number of samples), and half of the median's interval as a part of it, as it is
  // (certainty_reached) and as the run was told to measure (certainty_asked), and whether clocks
  // were lowered (throttled). kWithConditions adds condition_launch, condition_l2,
  // condition_throttled and condition_driver, which files do not have.
  enum class Columns { kPublic, kWithStatistics, kWithInterval, kWithConditions };
  [[nodiscard]] core::Result<Frame> table(const Selection& selection, Columns columns) const;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace assay::store
