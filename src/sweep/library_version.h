// The version of an NCCL or RCCL library as its own strings tell it. Asking the library itself
// would mean to load it, with all its GPU code and constructors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::sweep {

// Collects from pieces of a library's read-only data.
class VersionSearch {
 public:
  // Texts are shorter; pieces overlap by this.
  static constexpr std::size_t kOverlap = 512;

  // `name` is the library's file name: it tells NCCL from RCCL.
  explicit VersionSearch(std::string_view name);

  void add(std::string_view piece);

  // "2.28.3+cuda13.0", "2.22.3-HEAD:eef7b29"; "" when nothing was found.
  [[nodiscard]] std::string version() const;

 private:
  void add_version(std::string_view piece, std::size_t at);

  bool rccl_;
  std::string version_;
  std::string commit_;  // of RCCL: branch and hash, which stand apart from the number
};

// "1.0.60403" of "librccl.so.1.0.60403"; "" of "libnccl.so.2", which says only what it fits.
std::string version_in_name(std::string_view name);

}  // namespace assay::sweep
