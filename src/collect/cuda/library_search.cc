#include "collect/cuda/library_search.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

namespace assay::collect {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Empty: where the loader looks.
std::vector<std::string> search_folders() {
  std::vector<std::string> folders;
  const std::string list = variable("ASSAY_LIBRARY_PATH");
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t colon = std::min(list.find(':', at), list.size());
    if (colon > at) folders.push_back(list.substr(at, colon - at) + "/");
    at = colon + 1;
  }
  folders.emplace_back();
  const std::string cuda = variable("CUDA_HOME");
  if (!cuda.empty()) folders.push_back(cuda + "/lib64/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  return folders;
}

}  // namespace

core::Result<void*> open_library(const std::vector<std::string>& names) {
  // A file that is there but does not load says more than the others that are not there.
  std::string reason;
  for (const std::string& folder : search_folders()) {
    for (const std::string& name : names) {
      void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) return library;
      const char* said = dlerror();
      const std::string why = said == nullptr ? "" : said;
      if (why.find("No such file") == std::string::npos) reason = " (" + why + ")";
    }
  }
  return core::Error{names.front() + " was not found" + reason +
                     ": install it, or name its folder in ASSAY_LIBRARY_PATH"};
}

core::Result<void*> find_symbol(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) return core::Error{std::string("the library has no ") + name};
  return symbol;
}

}  // namespace assay::collect
