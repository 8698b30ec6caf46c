// What is used of cuDNN: its backend interface of operation graphs.
#pragma once

#include <cuda_runtime.h>
#include <cudnn_graph.h>

#include <string>

#include "core/result.h"

namespace assay::collect::cudnn {

struct Functions {
  decltype(cudnnGetVersion)* version = nullptr;
  decltype(cudnnGetErrorString)* error_string = nullptr;
  decltype(cudnnGetLastErrorString)* last_error_string = nullptr;
  decltype(cudnnCreate)* create = nullptr;
  decltype(cudnnDestroy)* destroy = nullptr;
  decltype(cudnnSetStream)* set_stream = nullptr;
  decltype(cudnnBackendCreateDescriptor)* create_descriptor = nullptr;
  decltype(cudnnBackendDestroyDescriptor)* destroy_descriptor = nullptr;
  decltype(cudnnBackendFinalize)* finalize = nullptr;
  decltype(cudnnBackendSetAttribute)* set_attribute = nullptr;
  decltype(cudnnBackendGetAttribute)* get_attribute = nullptr;
  decltype(cudnnBackendExecute)* execute = nullptr;
};

// Opened once a process. Error: the library is not there, or is older than 9; says which.
const core::Result<Functions>& functions();

// 91400 for 9.14.0; 0 without the library.
int version();

// "9.14.0"
std::string version_text();

// An error names what was done, the code and what the library itself says about its cause.
core::Status status(cudnnStatus_t code, const std::string& doing);

}  // namespace assay::collect::cudnn
