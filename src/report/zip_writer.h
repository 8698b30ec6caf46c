// Writes a zip file below 4 GB (APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16) of members that another zip file
// has and of new ones, which isa-l deflates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "report/zip_reader.h"

namespace assay::report {

class ZipWriter {
 public:
  using Take = std::function<core::Status(std::string_view)>;

  // The bytes of the file go to `take`.
  explicit ZipWriter(Take take) : take_(std::move(take)) {}

  // Writes a member as it is.
  core::Status copy(const ZipMember& member);

  // Deflates what `content` passes on, and writes its size and checksum after it.
  core::Status add(const std::string& name,
                   const std::function<core::Status(const Take&)>& content);

  // Writes the directory.
  core::Status finish();

 private:
  struct Entry {
    std::string name;
    std::uint64_t offset;
    std::uint64_t packed_bytes;
    std::uint64_t size_bytes;
    std::uint32_t checksum;
    std::uint16_t flags;
  };

  core::Status begin(const Entry& entry);

  core::Status write(std::string_view bytes);

  Take take_;
  std::uint64_t offset_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace assay::report
