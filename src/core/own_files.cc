#include "core/own_files.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
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

// Returns the places where a program of ours may lie.
std::array<fs::path, 3> places_of(const std::string& name) {
  const fs::path folder = own_file().parent_path();
  const fs::path installed = folder.parent_path();
  return {folder / name, installed / "libexec/assay" / name, installed / "bin" / name};
}

std::string and_then(const std::string& remedy) {
  return remedy.empty() ? "" : "; " + remedy;
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

std::string remedy_without_programs() {
  const auto places = places_of("assay");
  if (!is_library(own_file()) || std::any_of(places.begin(), places.end(), is_there)) return "";
  return "this library came without assay's programs: install assay's package, and set "
         "ASSAY_LIBRARY to its lib/libassay.so.0";
}

Result<fs::path> find_own_program(const std::string& name, const std::string& remedy) {
  for (const fs::path& path : places_of(name)) {
    if (is_there(path)) return path;
  }
  const std::string without = remedy_without_programs();
  return Error{fmt::format("no {} beside {}{}", name, own_file().string(),
                           and_then(without.empty() ? remedy : without))};
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
                           and_then(remedy_without_programs()))};
}

}  // namespace assay::core
