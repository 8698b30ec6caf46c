// Files: whole reads and mappings, listings and locks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::core {

// These return false where links form a circle or a folder on the way may not be entered; the
// functions of std::filesystem throw there.
bool is_folder(const std::filesystem::path& path);
bool is_regular_file(const std::filesystem::path& path);

// Fails for what cannot be the name of one file in a folder: an empty name, one that begins with a
// dot, has a slash or what printable_line() would replace, or is longer than 240 bytes. Names that
// come from inputs are checked with it before they become part of a path.
Status check_file_name(std::string_view name);

// Fails for an open folder, and for a device that is no terminal: it may never end (/dev/zero).
Status check_is_readable(int descriptor, const std::filesystem::path& path);

Result<std::string> read_file(const std::filesystem::path& path);

Status make_directories(const std::filesystem::path& path);

// Names of the entries of a folder, sorted.
Result<std::vector<std::filesystem::path>> list_directory(const std::filesystem::path& path);

// A whole file as memory, paged in as it is read.
class MappedFile {
 public:
  // An empty file is an error. A file that is not a regular one (a pipe) is read whole.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  // Behind the last byte lies a zero byte, so that a parser needs no other check for the end.
  [[nodiscard]] std::string_view bytes() const;

  // Gives back the memory of the bytes before `end`, which will hardly be read again.
  void forget(std::size_t end);

 private:
  MappedFile() = default;

  void* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t forgotten_ = 0;
  std::string content_;  // used instead of a mapping
};

// A lock that one process at a time can hold. It goes away with its holder, however that ends.
class FileLock {
 public:
  // Makes the file if needed. Error: another process holds the lock for as long as `patience`.
  // Child processes inherit the lock until they start another program.
  static Result<FileLock> acquire(const std::filesystem::path& path,
                                  std::chrono::milliseconds patience);

  // The same for a folder, which is made if needed: several files in it can be replaced together,
  // and never stand beside those of another run. Where folders cannot be locked, this does nothing.
  static Result<FileLock> acquire_folder(const std::filesystem::path& path,
                                         std::chrono::milliseconds patience = kFolderPatience);

  // Is told of a lock that another process holds, once it has been waited for about a second:
  // "another process is writing into 'out'".
  using Notice = void (*)(const std::string& held);
  static void set_notice(Notice notice);

  // Replaces what stands in the file, to say who holds the lock.
  void note(std::string_view text) const;

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  // Writing a run's files takes seconds.
  static constexpr std::chrono::milliseconds kFolderPatience{60'000};

  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  // Returns the system's error: EWOULDBLOCK if another process has held the lock all the time,
  // which `held` tells.
  [[nodiscard]] Result<int> wait(std::chrono::milliseconds patience, const std::string& held) const;

  int descriptor_;
};

}  // namespace assay::core
