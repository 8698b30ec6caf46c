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
constexpr std::uint16_t kSizesFollow = 1 << 3;  // a data descriptor comes after the content
constexpr std::uint16_t kDate = (1 << 5) | 1;   // 1 January 1980, as libxlsxwriter writes

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

// Takes the header and the trailer from a gzip stream that comes in pieces.
class Unwrapped {
 public:
  // Returns what can be passed on; it is valid until the next call.
  std::string_view take(std::string_view piece) {
    held_.erase(0, passed_on_);
    held_ += piece;
    passed_on_ = 0;
    if (!has_begun_ && held_.size() < kGzipHeaderBytes) return {};
    if (!std::exchange(has_begun_, true)) held_.erase(0, kGzipHeaderBytes);
    if (held_.size() > kGzipTrailerBytes) passed_on_ = held_.size() - kGzipTrailerBytes;
    return std::string_view(held_).substr(0, passed_on_);
  }

  // Returns that of the whole content, once the stream has ended.
  [[nodiscard]] std::uint32_t checksum() const {
    std::uint32_t checksum = 0;
    std::memcpy(&checksum, held_.data() + passed_on_, sizeof(checksum));
    return checksum;
  }

 private:
  std::string held_;  // at its end what may be the trailer
  std::size_t passed_on_ = 0;
  bool has_begun_ = false;
};

core::Status check_fits(std::uint64_t bytes) {
  if (bytes <= std::numeric_limits<std::uint32_t>::max()) return {};
  return core::Error{"a workbook holds no more than 4 GB: write csv or json instead"};
}

}  // namespace

core::Status ZipWriter::begin(const Entry& entry) {
  Record start;
  start.add_text("PK\x03\x04").add(kVersion).add(entry.flags).add(kDeflated).add_16(0).add(kDate);
  start.add(entry.checksum).add_32(entry.packed_bytes).add_32(entry.size_bytes);
  start.add_16(entry.name.size()).add_16(0).add_text(entry.name);
  return write(start.bytes());
}

core::Status ZipWriter::copy(const ZipMember& member) {
  entries_.push_back(
      {member.name, offset_, member.packed.size(), member.size_bytes, member.checksum, 0});
  ASSAY_TRY(begin(entries_.back()));
  return write(member.packed);
}

core::Status ZipWriter::add(const std::string& name,
                            const std::function<core::Status(const Take&)>& content) {
  Entry entry{name, offset_, 0, 0, 0, kSizesFollow};
  ASSAY_TRY(begin(entry));
  const std::uint64_t start = offset_;
  Unwrapped unwrapped;
  core::GzipOutput gzip([&](std::string_view piece) { return write(unwrapped.take(piece)); });
  ASSAY_TRY(content([&](std::string_view piece) {
    entry.size_bytes += piece.size();
    return gzip.write(piece);
  }));
  ASSAY_TRY(gzip.finish());
  entry.packed_bytes = offset_ - start;
  entry.checksum = unwrapped.checksum();
  ASSAY_TRY(check_fits(entry.size_bytes));
  Record sizes;
  sizes.add_text("PK\x07\x08").add(entry.checksum).add_32(entry.packed_bytes);
  sizes.add_32(entry.size_bytes);
  entries_.push_back(std::move(entry));
  return write(sizes.bytes());
}

core::Status ZipWriter::finish() {
  const std::uint64_t start = offset_;
  for (const Entry& entry : entries_) {
    Record record;
    record.add_text("PK\x01\x02").add(kVersion).add(kVersion).add(entry.flags).add(kDeflated);
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
