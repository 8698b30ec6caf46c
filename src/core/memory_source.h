// Bytes in memory as a ByteSource, in pieces of at most `piece_bytes`: for tests and fuzzing.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/byte_source.h"

namespace assay::core {

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
