#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xlsxwriter.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/output_file.h"
#include "model/table.h"
#include "report/book.h"
#include "report/xlsx_plan.h"
#include "report/xlsx_sheet.h"
#include "report/xlsx_splice.h"
#include "report/zip_reader.h"

namespace assay::report {
namespace {

struct FreeWorkbook {
  void operator()(lxw_workbook* workbook) const { lxw_workbook_free(workbook); }
};

using Workbook = std::unique_ptr<lxw_workbook, FreeWorkbook>;

// Returns the rows that the sheets lack.
core::Result<MissingRows> add_sheets(lxw_workbook* workbook, const std::vector<SheetPlan>& plans) {
  const CellFormats formats(workbook);
  MissingRows missing;
  bool has_active = false;
  for (const SheetPlan& plan : plans) {
    lxw_worksheet* sheet = workbook_add_worksheet(workbook, plan.name.c_str());
    if (sheet == nullptr) {
      return core::Error{
          fmt::format("cannot start worksheet '{}' in the folder for temporary files", plan.name)};
    }
    if (plan.visibility == model::Visibility::kHidden) {
      worksheet_hide(sheet);
    } else if (!has_active) {
      worksheet_activate(sheet);
      worksheet_set_first_sheet(sheet);
      has_active = true;
    }
    auto rows = ASSAY_TRY(write_sheet(sheet, plan, formats));
    const std::string name = fmt::format("xl/worksheets/sheet{}.xml", &plan - plans.data() + 1);
    if (rows) missing.emplace(name, std::move(*rows));
  }
  return missing;
}

// Where the library writes to, because it would print to stderr of a full disk.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("workbook", MFD_CLOEXEC)) {}

  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

constexpr std::size_t kHeadBytes = 256;  // enough for the XML declaration and the root's name
constexpr std::size_t kTailBytes = 64;   // enough for the root's closing tag

// Returns "worksheet" for "<?xml … ?>
// <worksheet xmlns=…>".
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

// libxlsxwriter ignores failed writes to its temporary files (as on a full disk): it then closes a
// workbook with a truncated sheet and reports success. So every XML part is read back and must end
// with the closing tag of its root element.
core::Status check_workbook_is_whole(std::string_view workbook) {
  for (const ZipMember& part : ASSAY_TRY(zip_members(workbook)))
    ASSAY_TRY(check_part(part));
  return {};
}

struct LibraryWorkbook {
  std::string bytes;
  MissingRows missing;
};

core::Result<LibraryWorkbook> make_workbook(const std::vector<SheetPlan>& plans) {
  const MemoryFile file;
  if (!file.is_open()) return core::Error{std::strerror(errno)};
  // It keeps cells in memory: they are few, and its other mode makes a temporary file more a sheet.
  Workbook workbook(workbook_new(file.path().c_str()));
  if (!workbook) return core::Error{"out of memory"};
  MissingRows missing = ASSAY_TRY(add_sheets(workbook.get(), plans));
  const lxw_error code = workbook_close(workbook.release());
  if (code != LXW_NO_ERROR) return core::Error{lxw_strerror(code)};
  std::string bytes = ASSAY_TRY(core::read_file(file.path()));
  ASSAY_TRY(check_workbook_is_whole(bytes));
  return LibraryWorkbook{std::move(bytes), std::move(missing)};
}

core::Result<LibraryWorkbook> workbook_of(const model::Book& book, std::vector<SheetPlan>& plans) {
  plans = ASSAY_TRY(plan_sheets(book));
  return make_workbook(plans);
}

}  // namespace

core::Status write_xlsx(const model::Book& book, const std::filesystem::path& path) {
  std::vector<SheetPlan> plans;
  const auto workbook = workbook_of(book, plans);
  if (!workbook.ok())
    return core::Error{
        fmt::format("cannot write '{}': {}", path.string(), workbook.error().message), true};
  return core::write_file_in_pieces(path, [&](const core::WritePiece& write) {
    return splice_rows(workbook.value().bytes, workbook.value().missing, write);
  });
}

}  // namespace assay::report
