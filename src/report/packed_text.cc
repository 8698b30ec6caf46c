#include "report/packed_text.h"

#include <zlib.h>

#include <array>
#include <cstdint>

#include "core/check.h"

namespace assay::report {
namespace {

constexpr int kGzip = 15 + 16;  // zlib's largest window, with the header of gzip
constexpr int kMemory = 9;
// Level 4 takes a third of the time of level 9 and makes pages a tenth larger.
constexpr int kLevel = 4;

std::string gzip(std::string_view text) {
  z_stream stream{};
  ASSAY_CHECK(deflateInit2(&stream, kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK,
              "zlib cannot start");
  std::string packed;
  std::array<char, 65536> piece{};
  // zlib takes its input as bytes that it does not change.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  std::size_t left = text.size();
  int state = Z_OK;
  while (state == Z_OK) {
    if (stream.avail_in == 0 && left > 0) {
      constexpr std::size_t kMost = std::size_t{1} << 30U;  // avail_in has 32 bits
      stream.avail_in = static_cast<uInt>(left < kMost ? left : kMost);
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
    packed.append(piece.data(), piece.size() - stream.avail_out);
  }
  ASSAY_CHECK(state == Z_STREAM_END, "zlib stopped before the end of a text");
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint32_t byte =
          at + i < bytes.size() ? static_cast<std::uint8_t>(bytes[at + i]) : 0;
      three = three << 8U | byte;
    }
    for (std::size_t i = 0; i < 4; ++i)
      text += at + i <= bytes.size() ? kDigits[three >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

std::string packed_text(std::string_view text) {
  return base64(gzip(text));
}

}  // namespace assay::report
