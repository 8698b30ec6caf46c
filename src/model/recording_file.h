// Reads the files that libassay_recorder.so writes, complete or cut off; see model/recording.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/recording.h"

namespace assay::model::recording {

// One record, which is valid as long as its file.
class RecordView {
 public:
  RecordView(std::uint32_t number, std::span<const std::byte> bytes)
      : number_(number), bytes_(bytes) {}

  [[nodiscard]] std::uint32_t number() const { return number_; }

  [[nodiscard]] Kind kind() const { return as<Head>().kind; }

  // Never reads past the record: fields that a shorter record lacks keep their defaults.
  template <class Record>
  [[nodiscard]] Record as() const {
    Record record;
    std::memcpy(&record, bytes_.data(), std::min(sizeof record, bytes_.size()));
    return record;
  }

  // Returns at most `length` characters from after the record's fixed part.
  template <class Record>
  [[nodiscard]] std::string_view text(std::uint32_t length) const {
    if (bytes_.size() < sizeof(Record)) return "";
    const auto characters = bytes_.subspan(sizeof(Record));
    return {reinterpret_cast<const char*>(characters.data()),
            std::min<std::size_t>(length, characters.size())};
  }

 private:
  std::uint32_t number_;
  std::span<const std::byte> bytes_;
};

class File {
 public:
  // Fails for a file that is not a recording, or that has another version. A file that was cut off
  // before its header was written has no records, and its `header().magic` is zero.
  static core::Result<File> read(const std::filesystem::path& path);
  static core::Result<File> parse(std::string bytes, const std::string& name);

  [[nodiscard]] const Header& header() const { return header_; }

  [[nodiscard]] bool empty() const { return header_.magic != kMagic; }

  // Records in the order of the file, which is the order of time within each thread, but not
  // between threads.
  [[nodiscard]] const std::vector<RecordView>& records() const { return records_; }

  // Returns whether the end of the file is missing. Of a file that does not say how long it was,
  // this shows only where it ends within a block.
  [[nodiscard]] bool cut() const;

  [[nodiscard]] std::uint64_t size_bytes() const { return bytes_.size(); }

  // The number of blocks whose damaged remainder was skipped.
  [[nodiscard]] std::uint64_t damaged_blocks() const { return damaged_blocks_; }

 private:
  void find_records(std::size_t block);

  std::string bytes_;
  Header header_;
  std::vector<RecordView> records_;
  std::uint64_t damaged_blocks_ = 0;
};

// Returns whether the name and the first bytes of a file are those of a recording. A file that is
// empty or was cut off at once is judged by its name alone.
bool is_recording(const std::filesystem::path& path);

// Returns the text of a fixed-size field.
template <std::size_t N>
std::string text_of(const std::array<char, N>& field) {
  return {field.data(), ::strnlen(field.data(), N)};
}

}  // namespace assay::model::recording
