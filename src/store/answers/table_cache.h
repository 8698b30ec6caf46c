// Tables of files, kept in the form in which queries map them.
//
// A public table takes 0.03 to 0.3 s of CPU to read, to order and to learn the errors of its
// answers from. What came of that is kept in a folder, an entry a table, and mapped from then on.
// An entry is used only if it was made from the table's content, by this program, with the same
// learner:
//
// - It has the table's size, time of change and inode. Where they are the table's, the content is
//   taken to be the same; where they differ, the hash of the content decides.
// - The entry has the time of change of its table as its own. One that has another was written by
//   somebody else since, and its bytes must have the sum that its head tells.
//
// Anything else in the place of an entry is replaced by a new one and is no error. Entries appear
// under their name only when whole, so that any number of processes may use a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/answers/spread.h"
#include "store/answers/work_rows.h"
#include "store/database/modelled_power.h"
#include "store/files/frame.h"

namespace assay::store {

// How the errors of a table's answers are learnt, and the power of rows that have none
// (judging/spread_learner.h makes one with rooflines). `learn` and `learn_power` may be null: rows
// then have no spreads, or no such power; several threads may call them.
struct SpreadLearner {
  std::string key;  // tells learners apart that learn something else of the same rows
  std::function<Spreads(const WorkRows& rows)> learn;
  std::function<TablePower(const std::string& table, const Frame& rows)> learn_power = nullptr;
};

struct TableOfFile {
  WorkRows rows;                   // with their spreads; the memory stays as long as a copy of them
  std::int64_t unread = 0;         // rows of the file without a usable time or size
  std::vector<std::string> notes;  // repairs of the file and doubts, a sentence each
  bool was_kept = false;           // it came from an entry
};

// What tells that a file was not written since.
struct FileStamp {
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;

  bool operator==(const FileStamp&) const = default;
};

class TableCache {
 public:
  static constexpr std::uint64_t kMostBytes = 1ULL << 30;

  // Entries of a folder, which is made with the first one; if its name is empty, none are kept.
  // When all entries together are larger than `most_bytes`, the oldest go.
  explicit TableCache(std::filesystem::path folder, std::uint64_t most_bytes = kMostBytes);

  // The user's folder: $XDG_CACHE_HOME/assay/tables, or ~/.cache/assay/tables. Empty if
  // ASSAY_CACHE is "off", or if neither is known. `variable` is getenv().
  static std::filesystem::path users_folder(
      const std::function<const char*(const char* name)>& variable);

  // The table of a file that read_perf_file() reads, which its name must tell
  // ("gemm_perf.parquet"). Errors: those of read_perf_file() and make_work_rows(), with the file's
  // name. That the folder cannot be written is none (note()).
  [[nodiscard]] core::Result<TableOfFile> table(const std::filesystem::path& file,
                                                const SpreadLearner& learner) const;

  // Several, in the order of the files; those that have no entry are made by this many threads
  // (0: one for each processor).
  [[nodiscard]] std::vector<core::Result<TableOfFile>> tables(
      std::span<const std::filesystem::path> files,
      const SpreadLearner& learner,
      unsigned threads = 0) const;

  // Why entries could not be kept, in a sentence; "" if none failed.
  [[nodiscard]] std::string note() const;

 private:
  struct Asked;

  [[nodiscard]] Asked asked(const std::filesystem::path& file, const SpreadLearner& learner) const;
  void keep(const Asked& asked, std::string_view head, std::string_view body) const;
  [[nodiscard]] std::optional<TableOfFile> kept(const Asked& asked) const;
  [[nodiscard]] core::Result<TableOfFile> made(const Asked& asked) const;
  void remove_oldest(const std::filesystem::path& newest) const;

  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  mutable std::string note_;
};

}  // namespace assay::store
