// Writes a zip file below 4 GB (APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16) of members that another zip file
// has and of new ones, which isa-l deflates.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "report/zip_reader.h"

namespace assay::report {

class ZipWriter {
 public:
  using Take = std::function<core::Status(std::string_view)>;

  // Empties the file.
  static core::Result<ZipWriter> open(const std::filesystem::path& path);

  // Writes a member as it is.
  core::Status copy(const ZipMember& member);

  // Deflates what `content` passes on. Error: that of `content`, or a full disk.
  core::Status add(const std::string& name,
                   const std::function<core::Status(const Take&)>& content);

  // Writes the directory and closes the file.
  core::Status finish();

 private:
  struct Entry {
    std::string name;
    std::uint64_t offset;
    std::uint64_t packed_bytes;
    std::uint64_t size_bytes;
    std::uint32_t checksum;
  };

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  explicit ZipWriter(std::FILE* file) : file_(file) {}

  core::Status write(std::string_view bytes);
  core::Status write_start(const Entry& entry);
  core::Status write_again(const Entry& entry);

  std::unique_ptr<std::FILE, CloseFile> file_;
  std::uint64_t offset_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace assay::report
