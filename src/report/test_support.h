// Helpers for this folder's tests: a temporary folder and a reader of zip files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "core/check.h"
#include "report/zip_reader.h"

namespace assay::report {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "assay_report_XXXXXX").string();
    ASSAY_CHECK(::mkdtemp(name.data()) != nullptr, "cannot make a temporary folder");
    path_ = name;
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Returns the members of a zip file: name to content.
inline std::map<std::string, std::string> unzipped(const std::string& zip) {
  std::map<std::string, std::string> members;
  for (const ZipMember& member : zip_members(zip).value()) {
    std::string& content = members[member.name];
    inflate_member(member, [&](std::string_view piece) { content += piece; }).value();
  }
  return members;
}

}  // namespace assay::report
