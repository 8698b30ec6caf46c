#include "core/shared_library.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

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

std::vector<std::string> folders_in_variable(const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view list = value == nullptr ? "" : value;
  std::vector<std::string> folders;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t colon = std::min(list.find(':', at), list.size());
    if (colon > at) folders.emplace_back(list.substr(at, colon - at));
    at = colon + 1;
  }
  return folders;
}

std::vector<std::string> files_in(const std::vector<std::string>& folders,
                                  const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (const std::string& name : names)
      files.push_back(folder.empty() ? name : folder + "/" + name);
  }
  return files;
}

}  // namespace assay::core
