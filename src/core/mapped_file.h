// A whole file as memory, paged in as it is read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::core {

class MappedFile {
 public:
  // The error names the file; an empty file is one. What is no regular file (a pipe) is read whole.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  // Behind the last byte lies a zero byte, so that a parser needs no other check for the end.
  [[nodiscard]] std::string_view bytes() const;

  // The bytes before `end` will hardly be read again: their memory may go.
  void forget(std::size_t end);

 private:
  MappedFile() = default;

  void* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t forgotten_ = 0;
  std::string content_;  // instead of a mapping
};

}  // namespace assay::core
