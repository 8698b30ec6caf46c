#include "store/files/parquet_codec.h"

#include <fmt/core.h>
#include <snappy.h>
#include <zstd.h>

#include "core/check.h"
#include "store/files/parquet_format.h"

namespace assay::store::parquet {
namespace {

constexpr int kZstdLevel = 3;

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
  // Asked first: a small page that claims to be huge then allocates nothing.
  const auto known = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (known == ZSTD_CONTENTSIZE_ERROR) return core::Error{"a page is damaged (zstd)"};
  if (known != ZSTD_CONTENTSIZE_UNKNOWN && known > size_bytes) return wrong_size();
  buffer.resize(size_bytes);
  const std::size_t length =
      ZSTD_decompress(buffer.data(), buffer.size(), packed.data(), packed.size());
  if (ZSTD_isError(length) != 0) {
    return core::Error{fmt::format("a page is damaged (zstd: {})", ZSTD_getErrorName(length))};
  }
  if (length != size_bytes) return wrong_size();
  return {};
}

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
  const std::size_t length =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kZstdLevel);
  ASSAY_CHECK(ZSTD_isError(length) == 0, "the buffer is large enough for any page");
  packed.resize(length);
  return packed;
}

}  // namespace assay::store::parquet
