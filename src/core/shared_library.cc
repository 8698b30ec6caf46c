#include "core/shared_library.h"

#include <string_view>

#include "core/library_search.h"

namespace assay::core {

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& files, int flags) {
  std::string tried;
  std::string reason = "no such file";
  for (const std::string& file : files) {
    if (void* handle = ::dlopen(file.c_str(), flags)) return SharedLibrary(handle);
    tried += (tried.empty() ? "" : ", ") + file;
    const char* said = ::dlerror();
    // A file that exists and does not load says more than the others, which do not exist.
    const std::string_view why = said == nullptr ? "" : said;
    const bool is_absent = why.find("No such file") != std::string_view::npos;
    if (!is_absent && !why.empty()) reason = why;
  }
  return Error{"tried " + tried + ": " + reason};
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

Result<SharedLibrary> open_library(const std::vector<std::string>& names, int flags) {
  auto library = SharedLibrary::open(library_files(names), flags);
  if (library.ok()) return library;
  return Error{names.front() + " cannot be opened: " + library.error().message +
               "; install it, or name its folder in " + kLibraryPath};
}

}  // namespace assay::core
