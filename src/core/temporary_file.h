// A file that goes away: when its guard does, and when the program is interrupted.
#pragma once

#include <cstddef>
#include <filesystem>

namespace assay::core {

class TemporaryFile {
 public:
  // Reserves a name of this process beside `path`; makes no file.
  static TemporaryFile beside(const std::filesystem::path& path);

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Removes the file if it is still there under its temporary name.
  ~TemporaryFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFile(std::filesystem::path path);

  std::filesystem::path path_;
  std::size_t slot_;
};

// Removes the files of all guards. For signal handlers: calls nothing but unlink().
void remove_temporary_files();

}  // namespace assay::core
