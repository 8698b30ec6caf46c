#include "report/xlsx_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/files.h"
#include "report/zip_reader.h"

namespace assay::report {
namespace {

constexpr std::size_t kHeadBytes = 256;  // hold the XML declaration and the root's name
constexpr std::size_t kTailBytes = 64;   // hold the root's closing tag

// "worksheet" of "<?xml … ?>\n<worksheet xmlns=…>".
std::string_view root_name(std::string_view head) {
  std::size_t start = 0;
  if (head.starts_with("<?xml")) start = head.find("?>");
  start = head.find('<', start);
  if (start == std::string_view::npos) return "";
  const std::size_t end = head.find_first_of(" >/\r\n", start + 1);
  return head.substr(start + 1, end - start - 1);
}

core::Status check_part(const ZipMember& part) {
  std::string head;
  std::string tail;
  ASSAY_TRY(inflate_member(part, [&](std::string_view piece) {
    head += piece.substr(0, kHeadBytes - std::min(head.size(), kHeadBytes));
    tail += piece.substr(piece.size() - std::min(piece.size(), kTailBytes));
    tail.erase(0, tail.size() - std::min(tail.size(), kTailBytes));
  }));
  const std::string_view root = root_name(head);
  tail.erase(tail.find_last_not_of(" \r\n") + 1);
  if (!root.empty() && tail.ends_with(fmt::format("</{}>", root))) return {};
  return core::Error{fmt::format("{} is cut off; is the disk of the temporary files ({}) full?",
                                 part.name, std::filesystem::temp_directory_path().string())};
}

}  // namespace

core::Status check_workbook_is_whole(const std::filesystem::path& path) {
  const std::string zip = ASSAY_TRY(core::read_file(path));
  for (const ZipMember& part : ASSAY_TRY(zip_members(zip)))
    ASSAY_TRY(check_part(part));
  return {};
}

}  // namespace assay::report
