// Stands in for libtorch_cpu.so, libtorch_cuda.so and libassay_allreduce.so, so that the kernels of
// torch.ops.assay run where there is neither PyTorch nor a GPU. Tensors have sizes and an address
// but no memory; assay_allreduce_run keeps the call for the test to look at. Every handle is
// counted.
#include <assay/allreduce.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace {

using Slot = std::uint64_t;
using Kernel = void (*)(Slot* stack, std::uint64_t inputs, std::uint64_t outputs);

enum Type : std::int32_t { kUint8 = 0, kFloat16 = 5, kFloat32 = 6, kBfloat16 = 15, kE4m3 = 24 };

constexpr std::int32_t kCuda = 1;

struct Tensor {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int32_t type;
  std::int32_t device_type;
  std::int32_t device;
  std::uint64_t address;
  bool zeroed;
};

std::map<std::string, Kernel> kernels;
int live_tensors = 0;
int live_guards = 0;
int live_communicators = 0;
std::uint64_t next_address = 0x10000;
assay_allreduce_call last_call;
void* last_stream = nullptr;
int runs = 0;
std::vector<assay_allreduce_status> answers;
std::string text;

Tensor* make(std::vector<std::int64_t> sizes,
             std::vector<std::int64_t> strides,
             std::int32_t type,
             std::int32_t device_type,
             std::int32_t device) {
  ++live_tensors;
  next_address += 0x10000;
  return new Tensor{std::move(sizes), std::move(strides), type, device_type,
                    device,           next_address,       false};
}

}  // namespace

extern "C" {

#define SHIM __attribute__((visibility("default")))

SHIM int aoti_torch_library_init_impl(
    const char* name_space, const char* key, const char*, std::uint32_t, void** library) {
  static int the_library;
  *library = &the_library;
  return std::strcmp(name_space, "assay") == 0 && std::strcmp(key, "CUDA") == 0 ? 0 : 1;
}

SHIM int torch_library_impl(void*, const char* name, Kernel kernel, std::uint64_t version) {
  kernels[name] = kernel;
  return version == ((2ULL << 56U) | (11ULL << 48U)) ? 0 : 1;
}

SHIM int aoti_torch_library_impl(void*, const char*, Kernel) {
  return 1;
}

SHIM int aoti_torch_get_data_ptr(Tensor* tensor, void** pointer) {
  *pointer = reinterpret_cast<void*>(tensor->address);
  return 0;
}

SHIM int aoti_torch_get_dim(Tensor* tensor, std::int64_t* dimensions) {
  *dimensions = static_cast<std::int64_t>(tensor->sizes.size());
  return 0;
}

SHIM int aoti_torch_get_sizes(Tensor* tensor, std::int64_t** sizes) {
  *sizes = tensor->sizes.data();
  return 0;
}

SHIM int aoti_torch_get_strides(Tensor* tensor, std::int64_t** strides) {
  *strides = tensor->strides.data();
  return 0;
}

SHIM int aoti_torch_get_dtype(Tensor* tensor, std::int32_t* type) {
  *type = tensor->type;
  return 0;
}

SHIM int aoti_torch_get_device_type(Tensor* tensor, std::int32_t* type) {
  *type = tensor->device_type;
  return 0;
}

SHIM int aoti_torch_get_device_index(Tensor* tensor, std::int32_t* index) {
  *index = tensor->device;
  return 0;
}

SHIM int aoti_torch_delete_tensor_object(Tensor* tensor) {
  --live_tensors;
  delete tensor;
  return 0;
}

// NOLINTNEXTLINE(readability-function-size): the signature is PyTorch's
SHIM int aoti_torch_empty_strided(std::int64_t dimensions,
                                  const std::int64_t* sizes,
                                  const std::int64_t* strides,
                                  std::int32_t type,
                                  std::int32_t device_type,
                                  std::int32_t device,
                                  Tensor** tensor) {
  *tensor =
      make({sizes, sizes + dimensions}, {strides, strides + dimensions}, type, device_type, device);
  return 0;
}

SHIM int aoti_torch_zero_(Tensor* tensor) {
  tensor->zeroed = true;
  return 0;
}

SHIM int aoti_torch_create_cuda_guard(std::int32_t device, void** guard) {
  ++live_guards;
  *guard = new std::int32_t(device);
  return 0;
}

SHIM int aoti_torch_delete_cuda_guard(void* guard) {
  --live_guards;
  delete static_cast<std::int32_t*>(guard);
  return 0;
}

SHIM int aoti_torch_get_current_cuda_stream(std::int32_t device, void** stream) {
  *stream = reinterpret_cast<void*>(std::uintptr_t{0x700} + static_cast<std::uintptr_t>(device));
  return 0;
}

SHIM std::int32_t aoti_torch_device_type_cuda() {
  return kCuda;
}

SHIM std::int32_t aoti_torch_dtype_bfloat16() {
  return kBfloat16;
}

SHIM std::int32_t aoti_torch_dtype_float16() {
  return kFloat16;
}

SHIM std::int32_t aoti_torch_dtype_float32() {
  return kFloat32;
}

SHIM std::int32_t aoti_torch_dtype_float8_e4m3fn() {
  return kE4m3;
}

SHIM std::int32_t aoti_torch_dtype_uint8() {
  return kUint8;
}

// The library of kernels.
SHIM assay_allreduce_status assay_allreduce_run(assay_allreduce_comm*,
                                                const assay_allreduce_call* call,
                                                assay_allreduce_stream stream) {
  ++runs;
  last_call = *call;
  last_stream = stream;
  if (answers.empty()) return ASSAY_ALLREDUCE_OK;
  const assay_allreduce_status answer = answers.front();
  answers.erase(answers.begin());
  return answer;
}

SHIM const char* assay_allreduce_error() {
  return "the library's own words";
}

SHIM int assay_allreduce_nccl_version(const assay_allreduce_comm*) {
  return 22803;
}

// A communicator remembers its rank, whether it has a table, and the MiB that it reserved.
SHIM assay_allreduce_status assay_allreduce_create(int rank,
                                                   int world_size,
                                                   const assay_allreduce_options* options,
                                                   assay_allreduce_comm** comm) {
  if (options->size != sizeof *options || rank >= world_size || options->workspace_bytes == 13)
    return ASSAY_ALLREDUCE_INVALID;
  ++live_communicators;
  *comm = reinterpret_cast<assay_allreduce_comm*>(
      new assay_allreduce_handle{{static_cast<unsigned char>(rank), 0, 0}});
  return ASSAY_ALLREDUCE_OK;
}

SHIM assay_allreduce_status assay_allreduce_export(const assay_allreduce_comm* comm,
                                                   assay_allreduce_handle* handle) {
  std::memcpy(handle, comm, sizeof *handle);
  return ASSAY_ALLREDUCE_OK;
}

// The handles of two ranks must be there, in their order, and the rest of them the same.
SHIM assay_allreduce_status assay_allreduce_connect(assay_allreduce_comm*,
                                                    const assay_allreduce_handle* handles) {
  return handles[0].bytes[0] == 0 && handles[1].bytes[0] == 1 &&
                 std::memcmp(handles[0].bytes + 1, handles[1].bytes + 1,
                             sizeof handles[0].bytes - 1) == 0
             ? ASSAY_ALLREDUCE_OK
             : ASSAY_ALLREDUCE_FAILED;
}

SHIM assay_allreduce_status assay_allreduce_load_table(assay_allreduce_comm* comm,
                                                       const char* path) {
  reinterpret_cast<assay_allreduce_handle*>(comm)->bytes[1] = 1;
  return std::strstr(path, "nowhere") == nullptr ? ASSAY_ALLREDUCE_OK : ASSAY_ALLREDUCE_INVALID;
}

SHIM assay_allreduce_status assay_allreduce_reserve(assay_allreduce_comm* comm,
                                                    size_t max_message_bytes) {
  reinterpret_cast<assay_allreduce_handle*>(comm)->bytes[2] =
      static_cast<unsigned char>(max_message_bytes >> 20U);
  return ASSAY_ALLREDUCE_OK;
}

SHIM assay_allreduce_status assay_allreduce_check(const assay_allreduce_comm* comm) {
  return reinterpret_cast<const assay_allreduce_handle*>(comm)->bytes[2] == 66
             ? ASSAY_ALLREDUCE_FAILED
             : ASSAY_ALLREDUCE_OK;
}

SHIM assay_allreduce_status assay_allreduce_choose(const assay_allreduce_comm*,
                                                   assay_allreduce_fusion,
                                                   assay_allreduce_data_type,
                                                   int64_t num_tokens,
                                                   int64_t,
                                                   assay_allreduce_strategy* strategy) {
  *strategy = num_tokens < 100 ? ASSAY_ALLREDUCE_ONESHOT : ASSAY_ALLREDUCE_TWOSHOT;
  return ASSAY_ALLREDUCE_OK;
}

SHIM assay_allreduce_status assay_allreduce_explain(const assay_allreduce_comm*,
                                                    assay_allreduce_fusion,
                                                    assay_allreduce_data_type,
                                                    int64_t num_tokens,
                                                    int64_t,
                                                    assay_allreduce_explanation* explanation) {
  explanation->strategy = num_tokens < 100 ? ASSAY_ALLREDUCE_ONESHOT : ASSAY_ALLREDUCE_TWOSHOT;
  explanation->is_from_table = 1;
  explanation->is_extrapolated = num_tokens < 100 ? 0 : 1;
  explanation->measured_world_size = 4;
  explanation->link_limit_us = 0.5;
  explanation->is_measured = num_tokens < 100 ? 1 : 0;
  return ASSAY_ALLREDUCE_OK;
}

SHIM assay_allreduce_status assay_allreduce_supports(const assay_allreduce_comm*,
                                                     const assay_allreduce_call*) {
  return ASSAY_ALLREDUCE_OK;
}

SHIM assay_allreduce_status assay_allreduce_destroy(assay_allreduce_comm* comm) {
  --live_communicators;
  delete reinterpret_cast<assay_allreduce_handle*>(comm);
  return ASSAY_ALLREDUCE_OK;
}

// What the test calls.
SHIM Tensor* fake_tensor(int dimensions,
                         const std::int64_t* sizes,
                         const std::int64_t* strides,
                         std::int32_t type,
                         std::int32_t device) {
  return make({sizes, sizes + dimensions}, {strides, strides + dimensions}, type,
              device < 0 ? 0 : kCuda, device);
}

SHIM Slot* fake_slot(Slot value) {
  return new Slot(value);
}

SHIM int fake_has(const char* name) {
  return kernels.count(name) != 0 ? 1 : 0;
}

// Runs a kernel as PyTorch would. Returns null, or what it threw.
SHIM const char* fake_call(const char* name, Slot* stack, int inputs, int outputs) {
  try {
    kernels.at(name)(stack, static_cast<std::uint64_t>(inputs),
                     static_cast<std::uint64_t>(outputs));
    return nullptr;
  } catch (const std::exception& thrown) {
    text = thrown.what();
    return text.c_str();
  }
}

SHIM void fake_answer(int status) {
  answers.push_back(static_cast<assay_allreduce_status>(status));
}

SHIM const assay_allreduce_call* fake_last_call() {
  return &last_call;
}

SHIM void* fake_last_stream() {
  return last_stream;
}

SHIM int fake_runs() {
  return runs;
}

SHIM int fake_live() {
  return live_tensors + live_guards + live_communicators;
}

SHIM int fake_zeroed(Tensor* tensor) {
  return tensor->zeroed ? 1 : 0;
}

SHIM int fake_type(Tensor* tensor) {
  return tensor->type;
}

SHIM void fake_move(Tensor* tensor, std::uint64_t address) {
  tensor->address = address;
}
}
