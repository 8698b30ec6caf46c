// Libraries that are opened while the program runs, so that it starts without them.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::core {

// An open library. Destroying it unloads the library, unless another one holds it or the flags had
// RTLD_NODELETE.
class SharedLibrary {
 public:
  // Opens the first of `files` that loads: "libnccl.so.2", which the loader searches for, or a
  // path. The error names the files that were tried, and the loader's reason where a file exists
  // and does not load.
  static Result<SharedLibrary> open(const std::vector<std::string>& files,
                                    int flags = RTLD_NOW | RTLD_LOCAL);

  SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

  SharedLibrary& operator=(SharedLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  ~SharedLibrary();

  // Null when the library has no such symbol.
  [[nodiscard]] void* find(const char* symbol) const { return ::dlsym(handle_, symbol); }

  // Points `function` to the symbol; it becomes null, and the result false, when there is none.
  template <class Function>
  bool bind(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(find(symbol));
    return function != nullptr;
  }

  // The same, where the function must be there.
  template <class Function>
  [[nodiscard]] Status require(const char* symbol, Function*& function) const {
    if (bind(symbol, function)) return {};
    return Error{std::string("the library has no ") + symbol};
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}

  void* handle_ = nullptr;
};

// Opens the first of `names` that library_files() finds ("libnccl.so.2"). The error says how to
// help.
Result<SharedLibrary> open_library(const std::vector<std::string>& names,
                                   int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

}  // namespace assay::core
