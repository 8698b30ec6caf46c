#include "collect/library/driver.h"

#include <dlfcn.h>

#include <string>

namespace assay::collect::driver {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

core::Result<Functions> open() {
  void* library = ::dlopen(kLibrary, RTLD_NOW);
  if (library == nullptr) return core::Error{std::string(kLibrary) + " cannot be opened"};
  Functions made;
  const bool complete = find(library, "cuEventCreate", made.event_create) &&
                        find(library, "cuEventDestroy_v2", made.event_destroy) &&
                        find(library, "cuEventRecord", made.event_record) &&
                        find(library, "cuEventElapsedTime", made.event_elapsed_ms) &&
                        find(library, "cuGraphCreate", made.graph_create) &&
                        find(library, "cuGraphDestroy", made.graph_destroy) &&
                        find(library, "cuGraphAddEventRecordNode", made.add_event) &&
                        find(library, "cuGraphAddChildGraphNode", made.add_child) &&
                        find(library, "cuGraphInstantiateWithFlags", made.instantiate) &&
                        find(library, "cuGraphLaunch", made.launch) &&
                        find(library, "cuGraphExecDestroy", made.executable_destroy) &&
                        find(library, "cuStreamSynchronize", made.stream_synchronize) &&
                        find(library, "cuGetErrorName", made.error_name);
  if (!complete) return core::Error{std::string(kLibrary) + " is older than CUDA 11.4"};
  return made;
}

}  // namespace

core::Result<const Functions*> functions() {
  static const core::Result<Functions> opened = open();
  if (!opened.ok()) return opened.error();
  return &opened.value();
}

core::Status status(const Functions& of, int code, const char* doing) {
  if (code == 0) return {};
  const char* name = nullptr;
  of.error_name(code, &name);
  return core::Error{std::string(doing) + ": " + (name == nullptr ? std::to_string(code) : name)};
}

}  // namespace assay::collect::driver
