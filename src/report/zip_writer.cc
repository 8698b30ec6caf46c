#include "report/zip_writer.h"

#include <algorithm>
#include <cerrno>
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
  return core::Error{"more than 4 GB; a workbook holds less: write csv or json"};
}

// Passes on the bytes of a stream but its first and last ones.
class Middle {
 public:
  explicit Middle(ZipWriter::Take take) : take_(std::move(take)) {}

  core::Status operator()(std::string_view piece) {
    held_ += piece;
    const std::size_t skipped = std::min(left_to_skip_, held_.size());
    held_.erase(0, skipped);
    left_to_skip_ -= skipped;
    if (held_.size() <= kGzipTrailerBytes) return {};
    const std::size_t whole = held_.size() - kGzipTrailerBytes;
    ASSAY_TRY(take_(std::string_view(held_).substr(0, whole)));
    held_.erase(0, whole);
    return {};
  }

  // Returns the last bytes, once all are given.
  [[nodiscard]] const std::string& trailer() const { return held_; }

 private:
  ZipWriter::Take take_;
  std::size_t left_to_skip_ = kGzipHeaderBytes;
  std::string held_;
};

}  // namespace

core::Result<ZipWriter> ZipWriter::open(const std::filesystem::path& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return core::Error{std::strerror(errno)};
  return ZipWriter(file);
}

core::Status ZipWriter::copy(const ZipMember& member) {
  entries_.push_back(
      {member.name, offset_, member.packed.size(), member.size_bytes, member.checksum});
  ASSAY_TRY(write_start(entries_.back()));
  return write(member.packed);
}

core::Status ZipWriter::add(const std::string& name,
                            const std::function<core::Status(const Take&)>& content) {
  Entry entry{name, offset_, 0, 0, 0};
  ASSAY_TRY(write_start(entry));
  const std::uint64_t start = offset_;
  Middle middle([this](std::string_view piece) { return write(piece); });
  core::GzipOutput gzip([&middle](std::string_view piece) { return middle(piece); });
  ASSAY_TRY(content([&](std::string_view piece) {
    entry.size_bytes += piece.size();
    return gzip.write(piece);
  }));
  ASSAY_TRY(gzip.finish());
  ASSAY_TRY(check_fits(entry.size_bytes));
  entry.packed_bytes = offset_ - start;
  std::memcpy(&entry.checksum, middle.trailer().data(), sizeof(entry.checksum));
  entries_.push_back(entry);
  return write_again(entry);
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
  ASSAY_TRY(write(end.bytes()));
  if (std::fclose(file_.release()) != 0) return core::Error{std::strerror(errno)};
  return {};
}

core::Status ZipWriter::write(std::string_view bytes) {
  ASSAY_TRY(check_fits(offset_ + bytes.size()));
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    return core::Error{std::strerror(errno)};
  offset_ += bytes.size();
  return {};
}

core::Status ZipWriter::write_start(const Entry& entry) {
  Record record;
  record.add_text("PK\x03\x04").add(kVersion).add_16(0).add(kDeflated);
  record.add_16(0).add(kDate).add(entry.checksum);
  record.add_32(entry.packed_bytes).add_32(entry.size_bytes).add_16(entry.name.size()).add_16(0);
  record.add_text(entry.name);
  return write(record.bytes());
}

// The sizes of a new member are known only at its end.
core::Status ZipWriter::write_again(const Entry& entry) {
  const std::uint64_t end = offset_;
  if (std::fseek(file_.get(), static_cast<long>(entry.offset), SEEK_SET) != 0)
    return core::Error{std::strerror(errno)};
  ASSAY_TRY(write_start(entry));
  if (std::fseek(file_.get(), static_cast<long>(end), SEEK_SET) != 0)
    return core::Error{std::strerror(errno)};
  offset_ = end;
  return {};
}

}  // namespace assay::report
