#include "report/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace assay::report {
namespace {

constexpr std::size_t kEndSize = 22;
constexpr std::size_t kEntrySize = 46;
constexpr std::size_t kLocalSize = 30;

core::Error damaged(const std::string& what) {
  return core::Error{"damaged zip file: " + what};
}

// Reads a little-endian number; all machines that we build for are little-endian. The caller has
// checked the range.
template <class Integer>
Integer integer_at(std::string_view bytes, std::size_t offset) {
  Integer value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

bool has(std::string_view bytes, std::size_t offset, std::size_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

core::Result<std::string_view> packed_data(std::string_view zip, std::size_t entry) {
  const std::size_t local = integer_at<std::uint32_t>(zip, entry + 42);
  if (!has(zip, local, kLocalSize)) return damaged("a member starts past the end");
  const std::size_t data = local + kLocalSize + integer_at<std::uint16_t>(zip, local + 26) +
                           integer_at<std::uint16_t>(zip, local + 28);
  const std::size_t size = integer_at<std::uint32_t>(zip, entry + 20);
  if (!has(zip, data, size)) return damaged("a member ends past the end");
  return zip.substr(data, size);
}

// Frees what inflateInit2 allocates.
struct Inflater {
  z_stream stream{};
  bool started = inflateInit2(&stream, -MAX_WBITS) == Z_OK;

  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  ~Inflater() {
    if (started) inflateEnd(&stream);
  }
};

}  // namespace

core::Result<std::vector<ZipMember>> zip_members(std::string_view zip) {
  const std::size_t end = zip.rfind("PK\x05\x06");
  if (end == std::string_view::npos || !has(zip, end, kEndSize)) return damaged("no directory");
  const auto count = integer_at<std::uint16_t>(zip, end + 10);
  std::size_t entry = integer_at<std::uint32_t>(zip, end + 16);
  std::vector<ZipMember> members;
  for (unsigned i = 0; i < count; ++i) {
    if (!has(zip, entry, kEntrySize)) return damaged("the directory is cut off");
    const std::size_t name_size = integer_at<std::uint16_t>(zip, entry + 28);
    if (!has(zip, entry + kEntrySize, name_size)) return damaged("the directory is cut off");
    members.push_back(
        {std::string(zip.substr(entry + kEntrySize, name_size)), ASSAY_TRY(packed_data(zip, entry)),
         integer_at<std::uint32_t>(zip, entry + 24), integer_at<std::uint32_t>(zip, entry + 16)});
    entry += kEntrySize + name_size + integer_at<std::uint16_t>(zip, entry + 30) +
             integer_at<std::uint16_t>(zip, entry + 32);
  }
  return members;
}

core::Status inflate_member(const ZipMember& member,
                            const std::function<void(std::string_view)>& take) {
  Inflater inflater;
  if (!inflater.started) return core::Error{"out of memory"};
  z_stream& stream = inflater.stream;
  // zlib's interface lacks a const here, but zlib does not write to its input.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(member.packed.data()));
  stream.avail_in = static_cast<uInt>(member.packed.size());
  constexpr std::size_t kMostAtOnce = 1 << 16;
  std::vector<char> buffer(std::clamp<std::size_t>(member.size_bytes, 1, kMostAtOnce));
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    code = inflate(&stream, Z_NO_FLUSH);
    take(std::string_view(buffer.data(), buffer.size() - stream.avail_out));
  }
  if (code != Z_STREAM_END || stream.total_out != member.size_bytes) return damaged(member.name);
  return {};
}

}  // namespace assay::report
