// Output files, which appear under their name only when they are whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace assay::core {

// Says what is left if the machine loses power right after a file was written. kLasting: the whole
// file, for what cannot be made again. kSynced: the whole file or what was there before. kUnsynced:
// it may be empty, too; this is for many files that are easily made again, because waiting for the
// disk takes longer than making them.
enum class Durability { kLasting, kSynced, kUnsynced };

// Writes under a temporary name beside `path` and renames: readers see the old file or the new one,
// never a part. A link is followed and stays a link; a file that exists keeps its mode, and is
// replaced only if it may be written. What exists and is no regular file (a device, a FIFO) gets
// the content once that is whole, and stays what it is. Errors name `path`.
Status write_file(const std::filesystem::path& path,
                  std::string_view content,
                  Durability durability = Durability::kSynced);

// The same for a library that writes files by itself: `write` gets the path of an empty file.
Status write_file_with(const std::filesystem::path& path,
                       const std::function<Status(const std::filesystem::path&)>& write,
                       Durability durability = Durability::kSynced);

// The same for content that is written in pieces, each by a system call of its own.
using WritePiece = std::function<Status(std::string_view)>;
Status write_file_in_pieces(const std::filesystem::path& path,
                            const std::function<Status(const WritePiece&)>& content,
                            Durability durability = Durability::kSynced);

// Gives a whole file on the same file system its name, by the rules of write_file().
Status place_file(const std::filesystem::path& whole,
                  const std::filesystem::path& path,
                  Durability durability = Durability::kSynced);

// Removes what an earlier run wrote under `path`, if there is anything, by the same rules: a link
// stays and the file that it leads to goes; what is no regular file stays what it is.
Status remove_file(const std::filesystem::path& path);

// Makes `link` lead to `target`, at once: it never leads nowhere. Error: there is something that is
// no link.
Status replace_link(const std::filesystem::path& link, const std::filesystem::path& target);

// An empty file with a name that nobody can guess. It is removed with its guard, when the program
// is interrupted, and otherwise by the next process of assay that writes into the folder: the guard
// holds a lock on the file, which goes away with its process however that ends.
class TemporaryFile {
 public:
  // Makes the file in the folder of `path`, and removes what processes that are gone left there.
  // Error: the folder cannot be written; it names `path`.
  static Result<TemporaryFile> beside(const std::filesystem::path& path);

  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Removes the file if it still has its temporary name.
  ~TemporaryFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // The open file, which also holds the lock.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // The file has got its own name.
  void release() { path_.clear(); }

 private:
  TemporaryFile(std::filesystem::path path, int descriptor);

  std::filesystem::path path_;
  int descriptor_;
  std::size_t slot_;
};

// A folder for files that get their names together, with the same guarantees.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> beside(const std::filesystem::path& path);

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Removes the folder and what is left in it.
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::filesystem::path path_;
  int lock_;
};

// Removes what processes that are gone left in the folders of a folder, and in theirs down to so
// many levels, as the guards do for the folders that they are made in. It is for folders that get
// no more files.
void remove_left_behind_below(const std::filesystem::path& folder, int levels);

// Whether a file or folder has a name that a guard gives: it is a guard's, or was left behind.
bool is_temporary_name(std::string_view name);

// Removes the files of all guards. A signal handler may call it, as it calls nothing but unlink().
void remove_temporary_files();

}  // namespace assay::core
