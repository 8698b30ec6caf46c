#include "allreduce/torch/shim.h"

#include <dlfcn.h>

namespace assay::allreduce::torch {
namespace {

class Lookup {
 public:
  explicit Lookup(std::span<void* const> libraries) : libraries_(libraries) {}

  template <typename Function>
  void take(Function*& function, const char* name) {
    take_if_there(function, name);
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }

  template <typename Function>
  void take_if_there(Function*& function, const char* name) {
    function = nullptr;
    for (void* library : libraries_) {
      if (function == nullptr) function = reinterpret_cast<Function*>(dlsym(library, name));
    }
  }

  // The numbers of types and devices are not part of the stable interface, but functions return
  // them.
  std::int32_t number(const char* name) {
    std::int32_t (*function)() = nullptr;
    take(function, name);
    return function == nullptr ? -1 : function();
  }

  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  std::span<void* const> libraries_;
  const char* missing_ = nullptr;
};

void find_library_functions(Lookup& lookup, Shim& shim) {
  lookup.take(shim.library_init_impl, "aoti_torch_library_init_impl");
  lookup.take_if_there(shim.library_impl_of_version, "torch_library_impl");
  lookup.take(shim.library_impl, "aoti_torch_library_impl");
}

void find_tensor_functions(Lookup& lookup, Shim& shim) {
  lookup.take(shim.get_data_ptr, "aoti_torch_get_data_ptr");
  lookup.take(shim.get_dim, "aoti_torch_get_dim");
  lookup.take(shim.get_sizes, "aoti_torch_get_sizes");
  lookup.take(shim.get_strides, "aoti_torch_get_strides");
  lookup.take(shim.get_dtype, "aoti_torch_get_dtype");
  lookup.take(shim.get_device_index, "aoti_torch_get_device_index");
  lookup.take(shim.get_device_type, "aoti_torch_get_device_type");
  lookup.take(shim.delete_tensor, "aoti_torch_delete_tensor_object");
  lookup.take(shim.empty_strided, "aoti_torch_empty_strided");
  lookup.take(shim.zero, "aoti_torch_zero_");
  lookup.take_if_there(shim.delete_slot, "torch_delete_stable_ivalue");
}

void find_cuda_functions(Lookup& lookup, Shim& shim) {
  lookup.take(shim.create_guard, "aoti_torch_create_cuda_guard");
  lookup.take(shim.delete_guard, "aoti_torch_delete_cuda_guard");
  lookup.take(shim.get_current_stream, "aoti_torch_get_current_cuda_stream");
}

void find_numbers(Lookup& lookup, Shim& shim) {
  shim.cuda = lookup.number("aoti_torch_device_type_cuda");
  shim.bfloat16 = lookup.number("aoti_torch_dtype_bfloat16");
  shim.float16 = lookup.number("aoti_torch_dtype_float16");
  shim.float32 = lookup.number("aoti_torch_dtype_float32");
  shim.float8_e4m3fn = lookup.number("aoti_torch_dtype_float8_e4m3fn");
  shim.uint8 = lookup.number("aoti_torch_dtype_uint8");
}

}  // namespace

const char* find_shim(std::span<void* const> libraries, Shim& shim) {
  Lookup lookup(libraries);
  find_library_functions(lookup, shim);
  find_tensor_functions(lookup, shim);
  find_cuda_functions(lookup, shim);
  find_numbers(lookup, shim);
  return lookup.missing();
}

}  // namespace assay::allreduce::torch
