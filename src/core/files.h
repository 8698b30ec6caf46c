// Files: whole reads and mappings, listings, locks, and writes that appear under their name only
// when they are whole.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::core {

// These return false where links form a circle or a folder on the way may not be entered; the
// functions of std::filesystem throw there.
bool is_folder(const std::filesystem::path& path);
bool is_regular_file(const std::filesystem::path& path);

Result<std::string> read_file(const std::filesystem::path& path);

// kSynced: a written file is whole on the disk, even if the machine loses power right after.
// kUnsynced: it may then be empty. This is for many files that are easily made again, because
// waiting for the disk takes longer than making them.
enum class Durability { kSynced, kUnsynced };

// Writes under a temporary name beside `path` and renames: readers see the old file or the new
// one, never a part. The temporary file is removed when anything fails or the program is
// interrupted.
Status write_file(const std::filesystem::path& path,
                  std::string_view content,
                  Durability durability = Durability::kSynced);

// The same for a library that writes files by itself: `write` gets the temporary path.
Status write_file_with(const std::filesystem::path& path,
                       const std::function<Status(const std::filesystem::path&)>& write,
                       Durability durability = Durability::kSynced);

// The same for content that is written in pieces.
using WritePiece = std::function<Status(std::string_view)>;
Status write_file_in_pieces(const std::filesystem::path& path,
                            const std::function<Status(const WritePiece&)>& content,
                            Durability durability = Durability::kSynced);

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

// A file that is removed with its guard and when the program is interrupted.
class TemporaryFile {
 public:
  // Reserves a name beside `path` that no other process uses; does not make the file.
  static TemporaryFile beside(const std::filesystem::path& path);

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Removes the file if it still has its temporary name.
  ~TemporaryFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFile(std::filesystem::path path);

  std::filesystem::path path_;
  std::size_t slot_;
};

// Removes the files of all guards. A signal handler may call it, as it calls nothing but unlink().
void remove_temporary_files();

// A lock that one process at a time can hold. It goes away with its holder, however that ends.
class FileLock {
 public:
  // Makes the file if needed. Error: another process holds the lock for as long as `patience`.
  // Child processes inherit the lock until they start another program.
  static Result<FileLock> acquire(const std::filesystem::path& path,
                                  std::chrono::milliseconds patience);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace assay::core
