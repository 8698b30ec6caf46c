// Reads the version of an NCCL or RCCL library from the strings in its file. Asking the library
// itself would mean loading it, with all its GPU code and constructors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::sweep {

// Searches the pieces of a library's read-only data.
class VersionSearch {
 public:
  // The number of bytes by which pieces overlap; every text is shorter.
  static constexpr std::size_t kOverlap = 512;

  // `name` is the library's file name, which distinguishes NCCL from RCCL.
  explicit VersionSearch(std::string_view name);

  void add(std::string_view piece);

  // Returns a text such as "2.28.3+cuda13.0" or "2.22.3-HEAD:eef7b29", or "" if none was found.
  [[nodiscard]] std::string version() const;

 private:
  void add_version(std::string_view piece, std::size_t at);

  bool rccl_;
  std::string version_;
  std::string commit_;  // for RCCL: branch and hash, which are stored apart from the number
};

// Returns "1.0.60403" for "librccl.so.1.0.60403", and "" for "libnccl.so.2", whose number only
// stands for the interface.
std::string version_in_name(std::string_view name);

}  // namespace assay::sweep
