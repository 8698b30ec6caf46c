#include "report/zip_writer.h"

#include <cstring>
#include <limits>
#include <utility>

#include "core/gzip_output.h"

namespace assay::report {
namespace {

// A gzip stream is what a zip member needs, between a header and the checksum and size (RFC 1952).
constexpr std::size_t kGzipHeaderBytes = 10;
constexpr std::size_t kGzipTrailerBytes = 8;

constexpr std::uint16_t kVersion = 20;  // 2.0: deflate
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint16_t kDate = (1 << 5) | 1;  // 1 January 1980, as libxlsxwriter writes

// Appends little-endian numbers; all machines that we build for are little-endian.
class Record {
 public:
  template <class Integer>
  Record& add(Integer value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }

  Record& add_32(std::uint64_t value) { return add(static_cast<std::uint32_t>(value)); }

  Record& add_16(std::uint64_t value) { return add(static_cast<std::uint16_t>(value)); }

  Record& add_text(std::string_view text) {
    bytes_ += text;
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

core::Status check_fits(std::uint64_t bytes) {
  if (bytes <= std::numeric_limits<std::uint32_t>::max()) return {};
  return core::Error{"a workbook holds no more than 4 GB: write csv or json instead"};
}

}  // namespace

core::Status ZipWriter::copy(const ZipMember& member) {
  Entry entry{member.name, offset_, member.packed.size(), member.size_bytes, member.checksum};
  Record start;
  start.add_text("PK\x03\x04").add(kVersion).add_16(0).add(kDeflated).add_16(0).add(kDate);
  start.add(entry.checksum).add_32(entry.packed_bytes).add_32(entry.size_bytes);
  start.add_16(entry.name.size()).add_16(0).add_text(entry.name);
  entries_.push_back(std::move(entry));
  ASSAY_TRY(write(start.bytes()));
  return write(member.packed);
}

core::Status ZipWriter::add(const std::string& name,
                            const std::function<core::Status(const Take&)>& content) {
  std::string packed;
  std::uint64_t size_bytes = 0;
  core::GzipOutput gzip([&](std::string_view piece) -> core::Status {
    packed += piece;
    return check_fits(packed.size());
  });
  ASSAY_TRY(content([&](std::string_view piece) {
    size_bytes += piece.size();
    return gzip.write(piece);
  }));
  ASSAY_TRY(gzip.finish());
  ASSAY_TRY(check_fits(size_bytes));
  const std::string_view all = packed;
  const std::string_view trailer = all.substr(all.size() - kGzipTrailerBytes);
  ZipMember member{name,
                   all.substr(kGzipHeaderBytes, all.size() - kGzipHeaderBytes - kGzipTrailerBytes),
                   static_cast<std::uint32_t>(size_bytes), 0};
  std::memcpy(&member.checksum, trailer.data(), sizeof(member.checksum));
  return copy(member);
}

core::Status ZipWriter::finish() {
  const std::uint64_t start = offset_;
  for (const Entry& entry : entries_) {
    Record record;
    record.add_text("PK\x01\x02").add(kVersion).add(kVersion).add_16(0).add(kDeflated);
    record.add_16(0).add(kDate).add(entry.checksum);
    record.add_32(entry.packed_bytes).add_32(entry.size_bytes).add_16(entry.name.size());
    record.add_16(0).add_16(0).add_16(0).add_16(0).add_32(0);  // no extra field, comment, attribute
    record.add_32(entry.offset).add_text(entry.name);
    ASSAY_TRY(write(record.bytes()));
  }
  Record end;
  end.add_text("PK\x05\x06").add_32(0).add_16(entries_.size()).add_16(entries_.size());
  end.add_32(offset_ - start).add_32(start).add_16(0);
  return write(end.bytes());
}

core::Status ZipWriter::write(std::string_view bytes) {
  ASSAY_TRY(check_fits(offset_ + bytes.size()));
  offset_ += bytes.size();
  return take_(bytes);
}

}  // namespace assay::report
