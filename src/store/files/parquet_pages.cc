// The contents of Parquet pages: compression, and the mix of runs and bit-packed groups.
#include <fmt/core.h>
#include <snappy.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/check.h"
#include "store/files/parquet_format.h"

namespace assay::store::parquet {
namespace {

constexpr int kZstdLevel = 3;

// zstd's contexts take a megabyte; they are kept, because tables have many small pages.
struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }

  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

core::Error wrong_size() {
  return core::Error{"a page unpacks to another size than it says"};
}

core::Status unpack_snappy(std::string_view packed, std::size_t size_bytes, std::string& buffer) {
  std::size_t length = 0;
  if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &length) ||
      length != size_bytes) {
    return wrong_size();
  }
  buffer.resize(size_bytes);
  if (!snappy::RawUncompress(packed.data(), packed.size(), buffer.data())) {
    return core::Error{"a page is damaged (snappy)"};
  }
  return {};
}

core::Status unpack_zstd(std::string_view packed, std::size_t size_bytes, std::string& buffer) {
  // This is asked first, so that a small page that claims to be huge takes no memory.
  const auto known = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (known == ZSTD_CONTENTSIZE_ERROR) return core::Error{"a page is damaged (zstd)"};
  if (known != ZSTD_CONTENTSIZE_UNKNOWN && known > size_bytes) return wrong_size();
  buffer.resize(size_bytes);
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  const std::size_t length = ZSTD_decompressDCtx(context.get(), buffer.data(), buffer.size(),
                                                 packed.data(), packed.size());
  if (ZSTD_isError(length) != 0) {
    return core::Error{fmt::format("a page is damaged (zstd: {})", ZSTD_getErrorName(length))};
  }
  if (length != size_bytes) return wrong_size();
  return {};
}

constexpr std::size_t kGroup = 8;  // packed numbers come in groups of eight

class RunReader {
 public:
  RunReader(std::string_view bytes, int bit_width) : bytes_(bytes), bit_width_(bit_width) {}

  // False if the bytes end before `count` numbers.
  bool read(std::size_t count, std::vector<std::uint32_t>& numbers) {
    // The list grows as runs are met, so that a wrong count takes no memory.
    while (numbers.size() < count) {
      const auto head = varint();
      if (!head) return false;
      const std::size_t wanted = count - numbers.size();
      const bool whole = (*head & 1) == 0 ? counted_run(*head >> 1, wanted, numbers)
                                          : packed_groups(*head >> 1, wanted, numbers);
      if (!whole) return false;
    }
    return true;
  }

 private:
  std::optional<std::uint32_t> varint() {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 32 && at_ < bytes_.size(); shift += 7) {
      const auto part = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= static_cast<std::uint32_t>(part & 0x7F) << shift;
      if (part < 0x80) return value;
    }
    return std::nullopt;
  }

  bool counted_run(std::size_t length, std::size_t wanted, std::vector<std::uint32_t>& numbers) {
    const auto width_bytes = static_cast<std::size_t>(bit_width_ + 7) / 8;
    if (width_bytes > bytes_.size() - at_) return false;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width_bytes; ++i)
      value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes_[at_++])) << (8 * i);
    numbers.insert(numbers.end(), std::min(length, wanted), value);
    return true;
  }

  bool packed_groups(std::size_t groups, std::size_t wanted, std::vector<std::uint32_t>& numbers) {
    const auto width = static_cast<std::size_t>(bit_width_);
    const std::size_t size = std::min(groups * width, bytes_.size() - at_);
    const std::size_t whole = width == 0 ? groups * kGroup : size * 8 / width;
    // The last group may be cut off where the rest of its numbers only fills it up.
    const std::size_t count = std::min({groups * kGroup, whole, wanted});
    if (count < std::min(groups * kGroup, wanted)) return false;
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    std::uint64_t bits = 0;
    std::size_t available = 0;
    std::size_t at = at_;
    for (std::size_t i = 0; i < count; ++i) {
      for (; available < width; available += 8)
        bits |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes_[at++])) << available;
      numbers.push_back(static_cast<std::uint32_t>(bits & mask));
      bits >>= width;
      available -= width;
    }
    at_ += size;
    return true;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  int bit_width_;
};

class RunWriter {
 public:
  RunWriter(const std::vector<std::uint32_t>& numbers, int bit_width)
      : numbers_(numbers), bit_width_(bit_width) {}

  std::string write() {
    std::size_t packed_from = 0;
    std::size_t at = 0;
    while (at < numbers_.size()) {
      const std::size_t length = run_length(at);
      // A packed part consists of whole groups, so a run can only begin where a group begins.
      const std::size_t to_group = (kGroup - (at - packed_from) % kGroup) % kGroup;
      if (length < to_group + kGroup) {
        at += length;
        continue;
      }
      pack(packed_from, at + to_group);
      varint((length - to_group) << 1);
      little_endian(numbers_[at]);
      at += length;
      packed_from = at;
    }
    pack(packed_from, numbers_.size());
    return bytes_;
  }

 private:
  [[nodiscard]] std::size_t run_length(std::size_t from) const {
    std::size_t to = from + 1;
    while (to < numbers_.size() && numbers_[to] == numbers_[from])
      ++to;
    return to - from;
  }

  void varint(std::size_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  void little_endian(std::uint32_t value) {
    for (int bit = 0; bit < bit_width_; bit += 8)
      bytes_ += static_cast<char>(value >> bit);
  }

  void pack(std::size_t from, std::size_t to) {
    if (from == to) return;
    const std::size_t groups = (to - from + kGroup - 1) / kGroup;
    varint((groups << 1) | 1);
    std::uint64_t bits = 0;
    int held = 0;
    for (std::size_t i = from; i < from + groups * kGroup; ++i) {
      bits |= static_cast<std::uint64_t>(i < to ? numbers_[i] : 0) << held;
      for (held += bit_width_; held >= 8; held -= 8) {
        bytes_ += static_cast<char>(bits);
        bits >>= 8;
      }
    }
  }

  const std::vector<std::uint32_t>& numbers_;
  int bit_width_;
  std::string bytes_;
};

}  // namespace

core::Result<std::string_view> unpack(std::int64_t codec,
                                      std::string_view packed,
                                      std::size_t size_bytes,
                                      std::string& buffer) {
  core::Status done;
  if (codec == static_cast<std::int64_t>(Codec::kUncompressed)) {
    if (packed.size() != size_bytes) return wrong_size();
    return packed;
  }
  if (codec == static_cast<std::int64_t>(Codec::kSnappy)) {
    done = unpack_snappy(packed, size_bytes, buffer);
  } else if (codec == static_cast<std::int64_t>(Codec::kZstd)) {
    done = unpack_zstd(packed, size_bytes, buffer);
  } else {
    return core::Error{fmt::format(
        "packed by codec {}; write the file with zstd, snappy or no compression", codec)};
  }
  if (!done.ok()) return done.error();
  return std::string_view(buffer);
}

std::string pack_zstd(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  const std::size_t length = ZSTD_compressCCtx(context.get(), packed.data(), packed.size(),
                                               bytes.data(), bytes.size(), kZstdLevel);
  ASSAY_CHECK(ZSTD_isError(length) == 0, "the buffer is large enough for any page");
  packed.resize(length);
  return packed;
}

core::Result<std::vector<std::uint32_t>> read_runs(std::string_view bytes,
                                                   int bit_width,
                                                   std::size_t count) {
  std::vector<std::uint32_t> numbers;
  if (bit_width > 32) return core::Error{"its numbers are wider than 32 bits"};
  if (!RunReader(bytes, bit_width).read(count, numbers)) {
    return core::Error{"a page holds fewer values than it says"};
  }
  return numbers;
}

std::string write_runs(const std::vector<std::uint32_t>& numbers, int bit_width) {
  return RunWriter(numbers, bit_width).write();
}

}  // namespace assay::store::parquet
