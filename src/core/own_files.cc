#include "core/own_files.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <system_error>

namespace assay::core {
namespace {

namespace fs = std::filesystem;

// core/files.h would bring along more than assay-worker links.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_library(const fs::path& file) {
  return file.filename().string().find(".so") != std::string::npos;
}

// Python's wheel has the library alone.
std::string what_has_programs(const fs::path& own) {
  if (!is_library(own)) return "";
  return "; this library came without assay's programs, which its package has";
}

}  // namespace

fs::path own_file() {
  std::error_code ignored;
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&own_file), &found) != 0 && found.dli_fname != nullptr) {
    fs::path file = fs::canonical(found.dli_fname, ignored);
    if (is_library(file)) return file;
  }
  return fs::read_symlink("/proc/self/exe", ignored);
}

Result<fs::path> find_own_program(const std::string& name) {
  const fs::path own = own_file();
  const fs::path folder = own.parent_path();
  const fs::path installed = folder.parent_path();
  for (const fs::path& path :
       {folder / name, installed / "libexec/assay" / name, installed / "bin" / name}) {
    if (is_there(path)) return path;
  }
  return Error{fmt::format("no {} beside {}{}", name, own.string(), what_has_programs(own))};
}

Result<fs::path> find_own_library(const std::string& name) {
  const fs::path own = own_file();
  const fs::path folder = own.parent_path();
  const fs::path libraries = folder / ".." / "lib";
  std::error_code error;
  for (const fs::path& place : {folder / name, libraries / name}) {
    if (is_there(place)) return fs::canonical(place, error);
  }
  return Error{fmt::format("no {} beside {} nor in {}{}", name, own.string(), libraries.string(),
                           what_has_programs(own))};
}

}  // namespace assay::core
