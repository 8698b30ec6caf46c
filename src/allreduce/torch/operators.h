// What python/assay_allreduce calls of libassay_allreduce_torch.so, besides the kernels that
// PyTorch calls.
#pragma once

#include <assay/allreduce.h>

#pragma GCC visibility push(default)
extern "C" {

// Registers the CUDA kernels of torch.ops.assay. The arguments are handles of dlopen(): of
// libtorch_cpu.so, of libtorch_cuda.so and of libassay_allreduce.so. Returns null, or what is
// wrong.
const char* assay_torch_register(void* torch_cpu, void* torch_cuda, void* allreduce);

// Makes a connected communicator known to the kernels, with the strategy of all their calls.
// Returns the number that the operators take as `comm`, or -1 when there are too many.
int assay_torch_add(assay_allreduce_comm* comm,
                    assay_allreduce_strategy strategy,
                    int device,
                    int world_size);

// Forgets it. No kernel may be running with the number.
void assay_torch_remove(int number);
}
#pragma GCC visibility pop
