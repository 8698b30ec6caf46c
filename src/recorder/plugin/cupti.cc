#include "recorder/plugin/cupti.h"

#include <dlfcn.h>
#include <link.h>

#include <vector>

#include "core/library_search.h"

namespace assay::recorder::cupti {
namespace {

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {"libcupti.so.13", "libcupti.so.12"};
  return all;
}

// The folders of CUPTI relative to that of libcudart: the same folder in a toolkit, a package of
// its own in pip's packages for CUDA 12, extras in older toolkits.
constexpr const char* kFromRuntime[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64"};
constexpr const char* kExtras = "/usr/local/cuda/extras/CUPTI/lib64";

int add_runtime_folder(dl_phdr_info* library, std::size_t /*size*/, void* folders) {
  const std::string path = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && path.compare(slash, 14, "/libcudart.so.") == 0) {
    static_cast<std::vector<std::string>*>(folders)->push_back(path.substr(0, slash));
  }
  return 0;
}

void append(std::vector<std::string>& files, const std::vector<std::string>& more) {
  files.insert(files.end(), more.begin(), more.end());
}

// The CUPTI beside the job's own CUDA comes before that of the machine.
std::vector<std::string> candidates() {
  std::vector<std::string> runtime_folders;
  ::dl_iterate_phdr(add_runtime_folder, &runtime_folders);
  std::vector<std::string> files =
      core::files_in(core::folders_in_variable(core::kLibraryPath), names());
  for (const std::string& folder : runtime_folders) {
    for (const char* way : kFromRuntime)
      append(files, core::files_in({folder + way}, names()));
  }
  append(files, core::library_files(names()));
  append(files, core::files_in({kExtras}, names()));
  return files;
}

void* load() {
  for (const std::string& name : names()) {
    if (void* loaded = ::dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) return loaded;
  }
  for (const std::string& file : candidates()) {
    if (void* loaded = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return loaded;
  }
  return nullptr;
}

template <class Function>
void bind(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

void bind_all(void* library, Functions& to) {
  bind(library, to.register_callbacks, "cuptiActivityRegisterCallbacks");
  bind(library, to.enable, "cuptiActivityEnable");
  bind(library, to.disable, "cuptiActivityDisable");
  bind(library, to.next_record, "cuptiActivityGetNextRecord");
  bind(library, to.dropped_records, "cuptiActivityGetNumDroppedRecords");
  bind(library, to.flush_all, "cuptiActivityFlushAll");
  bind(library, to.push_correlation, "cuptiActivityPushExternalCorrelationId");
  bind(library, to.pop_correlation, "cuptiActivityPopExternalCorrelationId");
  bind(library, to.timestamp, "cuptiGetTimestamp");
  bind(library, to.result_text, "cuptiGetResultString");
}

bool complete(const Functions& functions) {
  return functions.register_callbacks != nullptr && functions.enable != nullptr &&
         functions.disable != nullptr && functions.next_record != nullptr &&
         functions.dropped_records != nullptr && functions.flush_all != nullptr &&
         functions.push_correlation != nullptr && functions.pop_correlation != nullptr &&
         functions.timestamp != nullptr;
}

}  // namespace

bool open(const std::string& wanted, Functions& functions, std::string& reason) {
  void* library = wanted.empty() ? load() : ::dlopen(wanted.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = wanted.empty() ? nullptr : ::dlerror();
    reason = error != nullptr ? error
                              : "libcupti.so.13 or .12 is not found: install CUPTI, or name its "
                                "folder in ASSAY_LIBRARY_PATH";
    return false;
  }
  bind_all(library, functions);
  if (!complete(functions)) reason = "the loaded libcupti is none of CUDA 12 or 13";
  return reason.empty();
}

}  // namespace assay::recorder::cupti
