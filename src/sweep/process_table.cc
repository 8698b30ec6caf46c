#include "sweep/process_table.h"

#include <charconv>
#include <fstream>

#include "core/files.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

constexpr int kMostAncestors = 64;
// The number is PROC_PID_INIT_INO from Linux's include/linux/proc_ns.h.
constexpr const char* kFirstNamespace = "pid:[4026531836]";

// Reads the fourth field of stat. The second field, the name, may itself hold spaces and
// parentheses.
std::int64_t parent(const fs::path& root, std::int64_t process) {
  const auto content = core::read_file(process_folder(root, process) / "stat");
  if (!content.ok()) return 0;
  const std::string& text = content.value();
  const auto name_end = text.rfind(") ");
  std::int64_t number = 0;
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return 0;
  std::from_chars(text.data() + name_end + 4, text.data() + text.size(), number);
  return number;
}

}  // namespace

fs::path process_folder(const fs::path& root, std::int64_t process) {
  return root / "proc" / std::to_string(process);
}

std::string process_name(const fs::path& root, std::int64_t process) {
  std::ifstream stream(process_folder(root, process) / "comm");
  std::string name;
  std::getline(stream, name);
  return name;
}

bool process_exists(const fs::path& root, std::int64_t process) {
  return core::is_folder(process_folder(root, process));
}

bool descends(const fs::path& root,
              std::int64_t process,
              const std::function<bool(std::int64_t)>& accept) {
  for (int i = 0; i < kMostAncestors && process > 0; ++i) {
    if (accept(process)) return true;
    process = parent(root, process);
  }
  return false;
}

bool in_first_process_namespace(const fs::path& root) {
  std::error_code code;
  return fs::read_symlink(root / "proc/self/ns/pid", code) == kFirstNamespace;
}

}  // namespace assay::sweep
