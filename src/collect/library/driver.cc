#include "collect/library/driver.h"

#include <string>

#include "core/shared_library.h"

namespace assay::collect::driver {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

core::Result<Functions> open() {
  const auto opened = core::SharedLibrary::open({kLibrary}, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!opened.ok()) return opened.error().context("CUDA's driver cannot be opened");
  const core::SharedLibrary& library = opened.value();
  Functions made;
  const bool complete = library.bind("cuEventCreate", made.event_create) &&
                        library.bind("cuEventDestroy_v2", made.event_destroy) &&
                        library.bind("cuEventRecord", made.event_record) &&
                        library.bind("cuEventElapsedTime", made.event_elapsed_ms) &&
                        library.bind("cuGraphCreate", made.graph_create) &&
                        library.bind("cuGraphDestroy", made.graph_destroy) &&
                        library.bind("cuGraphAddEventRecordNode", made.add_event) &&
                        library.bind("cuGraphAddChildGraphNode", made.add_child) &&
                        library.bind("cuGraphInstantiateWithFlags", made.instantiate) &&
                        library.bind("cuGraphLaunch", made.launch) &&
                        library.bind("cuGraphExecDestroy", made.executable_destroy) &&
                        library.bind("cuStreamSynchronize", made.stream_synchronize) &&
                        library.bind("cuGetErrorName", made.error_name);
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
