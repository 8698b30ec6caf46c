// A tree of public tables: which file of it answers for a table of an engine's version.
//
//   ROOT/SYSTEM.yaml
//   ROOT/data/SYSTEM/FAMILY/BACKEND/VERSION/TABLE.parquet     or under ROOT/SYSTEM/, or under the
//                                                             folder that data_dir of the YAML
//                                                             names
//   ROOT/data/SYSTEM/FAMILY/BACKEND/VERSION/reuse.yaml        tables that another version lends it
//
// A table may be CSV instead (TABLE.csv, TABLE.txt). NCCL's tables lie under comm/nccl/VERSION.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/systems/system_facts.h"
#include "store/systems/version_order.h"

namespace assay::store {

// Why a file may answer, the best reason first.
enum class TreeOrigin : std::uint8_t {
  kExact,         // it is of the version that was asked for
  kDeclared,      // reuse.yaml of that version names it
  kEarlier,       // it is of an earlier version of the backend
  kLater,         // it is of a later one
  kNewest,        // of any version: none was asked for, or one that has no place among the others
  kOtherBackend,  // it is another engine's
};

struct TreeSource {
  std::filesystem::path file;
  std::string backend;
  std::string version;  // of its folder, as it is spelled there
  TreeOrigin origin = TreeOrigin::kExact;
  std::string reason;  // for users: "the nearest later version than 0.11.2"
};

// A table that a reuse.yaml lends.
struct TreeReuse {
  std::string table;         // "gemm_perf"
  std::string from_version;  // of the same backend
  std::string reason;
};

// Fields that it does not know are passed over. The error names `called`, line and field.
core::Result<std::vector<TreeReuse>> parse_reuse(std::string_view yaml, const std::string& called);

class PublicTree {
 public:
  // Reads ROOT/SYSTEM.yaml and lists the files of its tables, but reads none of them. Errors: the
  // root is no folder; it has no such system (the message names those that it has, and the one that
  // may have been meant); the YAML does not read. A system without tables is no error.
  static core::Result<PublicTree> open(const std::filesystem::path& root,
                                       const std::string& system);

  // The systems of a root, sorted.
  static std::vector<std::string> systems_of(const std::filesystem::path& root);

  [[nodiscard]] const SystemFacts& facts() const { return facts_; }

  // The engines that have tables, sorted, without libraries such as NCCL.
  [[nodiscard]] std::vector<std::string> backends() const;

  // The versions of a backend (or of "nccl") that have the table, or any table if it is empty;
  // ascending, those without a place (Version) first.
  [[nodiscard]] std::vector<std::string> versions(const std::string& backend,
                                                  const std::string& table = "") const;

  // The tables of all backends, sorted: "gemm_perf".
  [[nodiscard]] std::vector<std::string> tables() const;

  // The files that may answer for a table, in the order in which they are to be asked: the first
  // that has rows for a question answers it. "gemm" is gemm_perf.
  //
  // 1. The asked version itself.
  // 2. Those that its reuse.yaml names, in that order.
  // 3. Earlier versions of the backend, the nearest first.
  // 4. Later ones, the nearest first: the only ones if the asked version is older than all.
  // 5. Other backends, by their name and then the newest first. They are for callers that say so:
  //    they tell what another engine takes.
  //
  // If no version is asked for (""), or one that has no place among the others ("gpt-oss-dev"), the
  // backend's versions come newest first instead of 1 to 4.
  //
  // Tables of a library (NCCL) are the same for every backend: the version asked for is then that
  // of the system's YAML, unless `backend` is the library itself.
  //
  // There is at least one. What reuse.yaml names and is not there is passed over. Errors: the tree
  // has no such backend or no such table (the messages name those that it has), or a reuse.yaml
  // does not read.
  [[nodiscard]] core::Result<std::vector<TreeSource>> sources(const std::string& backend,
                                                              const std::string& version,
                                                              const std::string& table) const;

 private:
  struct File {
    std::string family;
    std::string backend;
    std::string version;
    std::optional<Version> place;
    std::string table;
    std::filesystem::path path;
  };

  PublicTree() = default;

  void list_tables(const std::filesystem::path& folder);
  void list_version(const std::filesystem::path& folder,
                    const std::string& family,
                    const std::string& backend,
                    const std::string& version);
  [[nodiscard]] core::Status check_asked(const std::string& backend,
                                         const std::string& table) const;
  [[nodiscard]] std::string library_of(const std::string& table) const;
  [[nodiscard]] std::string library_version(const std::string& library) const;
  // The files of the table, ascending by version.
  [[nodiscard]] std::vector<const File*> files_of(const std::string& backend,
                                                  const std::string& table) const;
  core::Status add_exact_and_declared(const std::string& backend,
                                      const std::string& version,
                                      const std::string& table,
                                      std::vector<TreeSource>& sources) const;

  std::filesystem::path root_;
  SystemFacts facts_;
  std::vector<std::filesystem::path> looked_in_;  // where tables may lie
  std::vector<File> files_;                       // by backend, then by version
  std::vector<std::filesystem::path> reuses_;     // files reuse.yaml
};

}  // namespace assay::store
