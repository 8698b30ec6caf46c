// Streams of bytes: a file, inflated on the way when it is gzip (by content, not by name), or
// memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

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

// Opens a file, whose gzip data are inflated.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path);

// Inflates the gzip data of another source. Messages call it `name`.
std::unique_ptr<ByteSource> inflating_source(std::unique_ptr<ByteSource> compressed,
                                             std::string name);

// Bytes in memory in pieces of at most `piece_bytes`, for tests and fuzzing.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes, std::size_t piece_bytes = 1 << 16)
      : bytes_(bytes), piece_bytes_(piece_bytes) {}

  Result<std::size_t> read(char* destination, std::size_t capacity) override {
    const std::size_t n = std::min({capacity, piece_bytes_, bytes_.size() - at_});
    std::memcpy(destination, bytes_.data() + at_, n);
    at_ += n;
    return n;
  }

  [[nodiscard]] std::uint64_t file_bytes_read() const override { return at_; }

 private:
  std::string_view bytes_;
  std::size_t piece_bytes_;
  std::size_t at_ = 0;
};

}  // namespace assay::core
