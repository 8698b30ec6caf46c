#include "recorder/plugin/process_facts.h"

#include <dlfcn.h>

namespace assay::recorder {

int nccl_version(const void* function) {
  Dl_info library{};
  if (function == nullptr || ::dladdr(function, &library) == 0) return 0;
  void* handle = ::dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return 0;
  const auto get = reinterpret_cast<int (*)(int*)>(::dlsym(handle, "ncclGetVersion"));
  int version = 0;
  if (get != nullptr && get(&version) != 0) version = 0;
  ::dlclose(handle);
  return version;
}

int current_device() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return -1;
  const auto get = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuCtxGetDevice"));
  int device = -1;
  if (get != nullptr && get(&device) != 0) device = -1;
  ::dlclose(driver);
  return device;
}

}  // namespace assay::recorder
