// CUDA's libraries are opened when they are needed, so that the worker starts without them.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace assay::collect {

// Opens the first of `names` ("libcublasLt.so.13", ...) in the folders of ASSAY_LIBRARY_PATH, where
// the loader looks, in CUDA_HOME/lib64 and /usr/local/cuda/lib64. It stays open.
core::Result<void*> open_library(const std::vector<std::string>& names);

core::Result<void*> find_symbol(void* library, const char* name);

template <class Function>
core::Status find_function(void* library, const char* name, Function*& to) {
  to = reinterpret_cast<Function*>(ASSAY_TRY(find_symbol(library, name)));
  return {};
}

}  // namespace assay::collect
