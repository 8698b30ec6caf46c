// What the process that NCCL runs in tells about itself.
#pragma once

namespace assay::recorder {

// Of the NCCL that has this function of its own, such as 22809; 0 if unknown.
int nccl_version(const void* function);

// The calling thread's current CUDA device; -1 if there is none.
int current_device();

}  // namespace assay::recorder
