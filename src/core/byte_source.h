// A file as a stream of bytes, inflated on the way when it is gzip (by content, not by name).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "core/result.h"

namespace assay::core {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills up to `capacity` bytes and returns how many; 0 at the end. An error (damaged or
  // truncated gzip, failed read) comes after all the bytes that were sound.
  virtual Result<std::size_t> read(char* destination, std::size_t capacity) = 0;

  // Bytes taken from the file so far (compressed ones for gzip).
  [[nodiscard]] virtual std::uint64_t file_bytes_read() const = 0;
};

Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path);

}  // namespace assay::core
