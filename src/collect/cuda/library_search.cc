#include "collect/cuda/library_search.h"

#include <cstdlib>

namespace assay::collect {
namespace {

std::vector<std::string> search_folders() {
  std::vector<std::string> folders = core::folders_in_variable("ASSAY_LIBRARY_PATH");
  folders.emplace_back();  // the loader's own search
  const char* cuda = std::getenv("CUDA_HOME");
  if (cuda != nullptr && *cuda != '\0') folders.push_back(std::string(cuda) + "/lib64");
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

}  // namespace

core::Result<core::SharedLibrary> open_library(const std::vector<std::string>& names) {
  auto library = core::SharedLibrary::open(core::files_in(search_folders(), names),
                                           RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library.ok()) return library;
  return core::Error{names.front() + " cannot be opened: " + library.error().message +
                     "; install it, or name its folder in ASSAY_LIBRARY_PATH"};
}

}  // namespace assay::collect
