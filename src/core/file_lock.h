// Only one at a time: a lock that goes away with its holder, however that ends.
#pragma once

#include <chrono>
#include <filesystem>

#include "core/result.h"

namespace assay::core {

class FileLock {
 public:
  // Makes the file if need be; an error when another process holds the lock all the time that
  // `patience` lasts. Children inherit the lock until they start another program.
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
