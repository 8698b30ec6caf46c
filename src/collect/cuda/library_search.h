// CUDA's libraries are opened when they are needed, so that the worker starts without them.
#pragma once

#include <string>
#include <vector>

#include "core/shared_library.h"

namespace assay::collect {

// Opens the first of `names` ("libcublasLt.so.13", ...) in the folders of ASSAY_LIBRARY_PATH, where
// the loader looks, in CUDA_HOME/lib64 and /usr/local/cuda/lib64. It is never unloaded.
core::Result<core::SharedLibrary> open_library(const std::vector<std::string>& names);

}  // namespace assay::collect
