// The file of a library: its identity, version, build id and the variables that it reads.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "sweep/library_variables.h"

namespace assay::sweep {

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the generated code for ours.
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

std::optional<FileIdentity> file_identity(const std::filesystem::path& path);

struct LibraryText {
  std::string version = {};
  std::string build_id = {};  // hexadecimal; differs between different builds
  VariableNames variables = {};
};

// Reads each file only once, even when many processes and runs have loaded it.
class LibraryTexts {
 public:
  // `path` is a path that we can open, `name` the file's name in the process that loaded it.
  const LibraryText& of(const FileIdentity& identity,
                        const std::filesystem::path& path,
                        const std::string& name);

 private:
  std::map<FileIdentity, LibraryText> known_;
};

// Returns empty texts for a file that is damaged or not a library.
LibraryText read_library_text(const std::filesystem::path& path, const std::string& name);

}  // namespace assay::sweep
