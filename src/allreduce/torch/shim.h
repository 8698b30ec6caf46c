// PyTorch's stable C functions, declared by us and looked up in the libtorch that the process has
// loaded. So neither building nor installing needs PyTorch's headers, and one build serves every
// PyTorch that has them. They were tried with 2.11. Their meaning:
// torch/csrc/inductor/aoti_torch/c/shim.h and torch/csrc/stable/c/shim.h of PyTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::allreduce::torch {

// What a kernel takes from and leaves on PyTorch's stack: an int64_t, the bits of a double, a
// TensorHandle of its own, or for an optional a pointer to a Slot, null for none.
using Slot = std::uint64_t;
using Kernel = void (*)(Slot* stack, std::uint64_t inputs, std::uint64_t outputs);

struct TensorOpaque;
struct LibraryOpaque;
struct GuardOpaque;
using TensorHandle = TensorOpaque*;
using LibraryHandle = LibraryOpaque*;
using GuardHandle = GuardOpaque*;

// Each function returns 0, or another number when it failed.
struct Shim {
  int (*library_init_impl)(const char* name_space,
                           const char* dispatch_key,
                           const char* file,
                           std::uint32_t line,
                           LibraryHandle* library);
  // With the version whose conversions the kernel expects. Null where PyTorch is too old.
  int (*library_impl_of_version)(LibraryHandle library,
                                 const char* name,
                                 Kernel kernel,
                                 std::uint64_t version);
  int (*library_impl)(LibraryHandle library, const char* name, Kernel kernel);

  int (*get_data_ptr)(TensorHandle tensor, void** pointer);
  int (*get_dim)(TensorHandle tensor, std::int64_t* dimensions);
  int (*get_sizes)(TensorHandle tensor, std::int64_t** sizes);
  int (*get_strides)(TensorHandle tensor, std::int64_t** strides);
  int (*get_dtype)(TensorHandle tensor, std::int32_t* type);
  int (*get_device_index)(TensorHandle tensor, std::int32_t* index);
  int (*get_device_type)(TensorHandle tensor, std::int32_t* type);
  int (*delete_tensor)(TensorHandle tensor);
  int (*empty_strided)(std::int64_t dimensions,
                       const std::int64_t* sizes,
                       const std::int64_t* strides,
                       std::int32_t type,
                       std::int32_t device_type,
                       std::int32_t device_index,
                       TensorHandle* tensor);
  int (*zero)(TensorHandle tensor);

  int (*create_guard)(std::int32_t device_index, GuardHandle* guard);
  int (*delete_guard)(GuardHandle guard);
  int (*get_current_stream)(std::int32_t device_index, void** stream);
  // Null where PyTorch has none: a Slot of an optional is then freed by `delete`.
  int (*delete_slot)(Slot* slot);

  std::int32_t cuda;
  std::int32_t bfloat16;
  std::int32_t float16;
  std::int32_t float32;
  std::int32_t float8_e4m3fn;
  std::int32_t uint8;
};

// Fills `shim` from libraries that dlopen() gave. Returns null, or the name of what none of them
// has.
const char* find_shim(std::span<void* const> libraries, Shim& shim);

}  // namespace assay::allreduce::torch
