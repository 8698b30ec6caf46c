// The CUDA kernels of torch.ops.assay. python/assay_allreduce/_operators.py has their schemas, from
// which the order on the stack follows, and the shapes that PyTorch computes with when it traces.
//
// PyTorch's convention is that a kernel throws; it makes a RuntimeError of what() in Python. These
// exceptions leave the library, so that it is linked with the shared libstdc++, as PyTorch is.
#include "allreduce/torch/operators.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "allreduce/torch/shim.h"

namespace assay::allreduce::torch {
namespace {

// The number that PyTorch 2.11 calls its stable interface by; newer ones keep to its conversions.
constexpr std::uint64_t kShimVersion = (std::uint64_t{2} << 56U) | (std::uint64_t{11} << 48U);
constexpr std::size_t kMostMembers = 4096;

struct Library {
  decltype(&assay_allreduce_run) run;
  decltype(&assay_allreduce_error) error;
};

struct Member {
  std::atomic<assay_allreduce_comm*> comm{nullptr};
  assay_allreduce_strategy strategy{};
  int device = 0;
  int world_size = 0;
};

Shim pytorch;
Library functions;
// Numbers are given once, so that a graph that was compiled for a closed communicator says so.
std::array<Member, kMostMembers> members;
std::atomic<std::size_t> member_count{0};

[[noreturn]] void refuse(const std::string& reason) {
  throw std::runtime_error("assay_allreduce: " + reason);
}

void check(int failed, const char* what) {
  if (failed != 0) refuse(std::string("PyTorch failed in ") + what);
}

// A tensor that this kernel owns: one from the stack, or one that it made for the stack.
class Tensor {
 public:
  explicit Tensor(TensorHandle handle) : handle_(handle) {}

  Tensor(Tensor&& other) noexcept : handle_(other.release()) {}

  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  Tensor& operator=(Tensor&&) = delete;

  ~Tensor() {
    if (handle_ != nullptr) pytorch.delete_tensor(handle_);
  }

  [[nodiscard]] TensorHandle get() const { return handle_; }

  [[nodiscard]] void* data() const {
    void* pointer = nullptr;
    check(pytorch.get_data_ptr(handle_, &pointer), "get_data_ptr");
    return pointer;
  }

  [[nodiscard]] std::span<const std::int64_t> sizes() const {
    std::int64_t dimensions = 0;
    std::int64_t* sizes = nullptr;
    check(pytorch.get_dim(handle_, &dimensions), "get_dim");
    check(pytorch.get_sizes(handle_, &sizes), "get_sizes");
    return {sizes, static_cast<std::size_t>(dimensions)};
  }

  [[nodiscard]] std::int32_t type() const {
    std::int32_t type = 0;
    check(pytorch.get_dtype(handle_, &type), "get_dtype");
    return type;
  }

  [[nodiscard]] bool is_contiguous() const {
    std::int64_t* strides = nullptr;
    check(pytorch.get_strides(handle_, &strides), "get_strides");
    const auto lengths = sizes();
    if (std::find(lengths.begin(), lengths.end(), 0) != lengths.end()) return true;
    std::int64_t expected = 1;
    for (std::size_t i = lengths.size(); i-- > 0;) {
      if (lengths[i] != 1 && strides[i] != expected) return false;
      expected *= lengths[i];
    }
    return true;
  }

  [[nodiscard]] bool is_on(int device) const {
    std::int32_t type = 0;
    std::int32_t index = 0;
    check(pytorch.get_device_type(handle_, &type), "get_device_type");
    check(pytorch.get_device_index(handle_, &index), "get_device_index");
    return type == pytorch.cuda && index == device;
  }

  TensorHandle release() {
    TensorHandle handle = handle_;
    handle_ = nullptr;
    return handle;
  }

 private:
  TensorHandle handle_;
};

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes)
    elements *= size;
  return elements;
}

class DeviceGuard {
 public:
  explicit DeviceGuard(int device) { check(pytorch.create_guard(device, &guard_), "cuda_guard"); }

  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  ~DeviceGuard() { pytorch.delete_guard(guard_); }

 private:
  GuardHandle guard_ = nullptr;
};

// The arguments of a kernel, taken in the order of its schema.
class Arguments {
 public:
  explicit Arguments(const Slot* stack) : next_(stack) {}

  Tensor tensor() { return Tensor(reinterpret_cast<TensorHandle>(*next_++)); }

  std::int64_t integer() { return static_cast<std::int64_t>(*next_++); }

  double number() {
    double value = 0;
    std::memcpy(&value, next_++, sizeof value);
    return value;
  }

  Tensor optional_tensor() {
    auto* slot = reinterpret_cast<Slot*>(*next_++);
    if (slot == nullptr) return Tensor(nullptr);
    Tensor tensor(reinterpret_cast<TensorHandle>(*slot));
    if (pytorch.delete_slot != nullptr) {
      pytorch.delete_slot(slot);
    } else {
      delete slot;
    }
    return tensor;
  }

 private:
  const Slot* next_;
};

const Member& member_of(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(kMostMembers) ||
      members[static_cast<std::size_t>(number)].comm == nullptr)
    refuse("no communicator has number " + std::to_string(number) +
           ": it was closed, or this process has not made it");
  return members[static_cast<std::size_t>(number)];
}

void check_place(const Tensor& tensor, const Member& member, const char* name) {
  if (!tensor.is_on(member.device))
    refuse(std::string(name) +
           " is not on the communicator's GPU, cuda:" + std::to_string(member.device));
  if (!tensor.is_contiguous()) refuse(std::string(name) + " is not contiguous");
}

assay_allreduce_data_type data_type_of(const Tensor& input) {
  const std::int32_t type = input.type();
  if (type == pytorch.bfloat16) return ASSAY_ALLREDUCE_BFLOAT16;
  if (type == pytorch.float16) return ASSAY_ALLREDUCE_FLOAT16;
  if (type == pytorch.float32) return ASSAY_ALLREDUCE_FLOAT32;
  refuse("input must be bfloat16, float16 or float32");
}

void check_like(const Tensor& tensor, const Tensor& input, const char* name) {
  if (tensor.type() != input.type() || product(tensor.sizes()) != product(input.sizes()))
    refuse(std::string(name) + " must have the type and as many elements as input");
}

Tensor empty(const Member& member, std::span<const std::int64_t> sizes, std::int32_t type) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i] > 0 ? sizes[i] : 1;
  }
  TensorHandle made = nullptr;
  check(pytorch.empty_strided(static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data(),
                              type, pytorch.cuda, member.device, &made),
        "empty_strided");
  return Tensor(made);
}

// A message of one dimension, or of rows that the kernels cannot take one by one, is one row.
assay_allreduce_call call_of(const Member& member, const Tensor& input) {
  check_place(input, member, "input");
  const auto sizes = input.sizes();
  const std::int64_t elements = product(sizes);
  const std::int64_t last = sizes.empty() ? 1 : sizes.back();
  const bool in_rows = sizes.size() > 1 && last > 0 && last % 8 == 0;
  assay_allreduce_call call{};
  call.size = sizeof call;
  call.strategy = member.strategy;
  call.data_type = data_type_of(input);
  call.hidden_size = in_rows ? last : elements;
  call.num_tokens = elements == 0 ? 0 : elements / call.hidden_size;
  call.input = input.data();
  return call;
}

assay_allreduce_status try_run(const Member& member, const assay_allreduce_call& call) {
  const DeviceGuard guard(member.device);
  void* stream = nullptr;
  check(pytorch.get_current_stream(member.device, &stream), "get_current_cuda_stream");
  return functions.run(member.comm, &call, stream);
}

void run(const Member& member, const assay_allreduce_call& call) {
  if (call.num_tokens == 0) return;
  if (try_run(member, call) != ASSAY_ALLREDUCE_OK) refuse(functions.error());
}

// all_reduce(Tensor input, int comm) -> Tensor
void all_reduce(Slot* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  Arguments arguments(stack);
  const Tensor input = arguments.tensor();
  const Member& member = member_of(arguments.integer());
  assay_allreduce_call call = call_of(member, input);
  Tensor output = empty(member, input.sizes(), input.type());
  call.output = output.data();
  run(member, call);
  stack[0] = reinterpret_cast<Slot>(output.release());
}

// all_reduce_(Tensor(a!) input, int comm) -> ()
void all_reduce_in_place(Slot* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  Arguments arguments(stack);
  const Tensor input = arguments.tensor();
  const Member& member = member_of(arguments.integer());
  assay_allreduce_call call = call_of(member, input);
  call.output = input.data();
  run(member, call);
}

bool overlap(const Tensor& a, const Tensor& b) {
  const std::int64_t bytes_each = a.type() == pytorch.float32 ? 4 : 2;
  const auto begin = [](const Tensor& tensor) { return static_cast<const char*>(tensor.data()); };
  const auto end = [&](const Tensor& tensor) {
    return begin(tensor) + product(tensor.sizes()) * bytes_each;
  };
  return std::less<>()(begin(a), end(b)) && std::less<>()(begin(b), end(a));
}

// all_reduce_out(Tensor input, Tensor(a!) output, int comm) -> ()
void all_reduce_out(Slot* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  Arguments arguments(stack);
  const Tensor input = arguments.tensor();
  const Tensor output = arguments.tensor();
  const Member& member = member_of(arguments.integer());
  assay_allreduce_call call = call_of(member, input);
  check_place(output, member, "output");
  check_like(output, input, "output");
  if (output.data() != input.data() && overlap(input, output))
    refuse("output must be input or share no memory with it");
  call.output = output.data();
  run(member, call);
}

// A half of a sum, without its output: a call and the output's sizes.
struct HalfCall {
  assay_allreduce_call call = {};
  std::vector<std::int64_t> sizes = {};
};

HalfCall reduce_scatter_of(const Member& member, const Tensor& input) {
  HalfCall half{.call = call_of(member, input),
                .sizes = {input.sizes().begin(), input.sizes().end()}};
  if (half.sizes.empty() || half.sizes[0] % member.world_size != 0)
    refuse("input of reduce_scatter needs a first dimension that is a multiple of " +
           std::to_string(member.world_size));
  if (half.call.num_tokens % member.world_size != 0) {
    half.call.hidden_size /= member.world_size;
    half.call.num_tokens = member.world_size;
  }
  half.sizes[0] /= member.world_size;
  half.call.operation = ASSAY_ALLREDUCE_REDUCE_SCATTER;
  return half;
}

HalfCall all_gather_of(const Member& member, const Tensor& input) {
  HalfCall half{.call = call_of(member, input),
                .sizes = {input.sizes().begin(), input.sizes().end()}};
  if (half.sizes.empty()) refuse("input of all_gather needs a dimension");
  half.sizes[0] *= member.world_size;
  half.call.num_tokens *= member.world_size;
  half.call.operation = ASSAY_ALLREDUCE_ALL_GATHER;
  return half;
}

using MakeHalf = HalfCall(const Member&, const Tensor&);

void run_half(Slot* stack, MakeHalf* make) {
  Arguments arguments(stack);
  const Tensor input = arguments.tensor();
  const Member& member = member_of(arguments.integer());
  HalfCall half = make(member, input);
  Tensor output = empty(member, half.sizes, input.type());
  half.call.output = output.data();
  run(member, half.call);
  stack[0] = reinterpret_cast<Slot>(output.release());
}

void run_half_out(Slot* stack, MakeHalf* make) {
  Arguments arguments(stack);
  const Tensor input = arguments.tensor();
  const Tensor output = arguments.tensor();
  const Member& member = member_of(arguments.integer());
  HalfCall half = make(member, input);
  check_place(output, member, "output");
  if (output.type() != input.type() || product(output.sizes()) != product(half.sizes))
    refuse("output must have input's type and " + std::to_string(product(half.sizes)) +
           " elements");
  if (overlap(input, output)) refuse("output must not share memory with input");
  half.call.output = output.data();
  run(member, half.call);
}

// reduce_scatter(Tensor input, int comm) -> Tensor
void reduce_scatter(Slot* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  run_half(stack, reduce_scatter_of);
}

// reduce_scatter_out(Tensor input, Tensor(a!) output, int comm) -> ()
void reduce_scatter_out(Slot* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  run_half_out(stack, reduce_scatter_of);
}

// all_gather(Tensor input, int comm) -> Tensor
void all_gather(Slot* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  run_half(stack, all_gather_of);
}

// all_gather_out(Tensor input, Tensor(a!) output, int comm) -> ()
void all_gather_out(Slot* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  run_half_out(stack, all_gather_of);
}

// What the operators with a norm have in common. Its tensors live until the call was made.
class NormCall {
 public:
  NormCall(Arguments& arguments, assay_allreduce_fusion fusion, bool with_scale)
      : input(arguments.tensor()),
        residual_(arguments.optional_tensor()),
        gamma_(arguments.tensor()),
        scale_(with_scale ? arguments.tensor() : Tensor(nullptr)) {
    const double epsilon = arguments.number();
    member_ = &member_of(arguments.integer());
    call = call_of(*member_, input);
    call.fusion = fusion;
    call.epsilon = static_cast<float>(epsilon);
    call.weight_bias = static_cast<float>(arguments.number());
    const auto sizes = input.sizes();
    if (sizes.empty() || (call.num_tokens != 0 && call.hidden_size != sizes.back()))
      refuse("input needs two dimensions or more, the last a multiple of 8");
    take_pointers();
  }

  Tensor like_input() { return empty(*member_, input.sizes(), input.type()); }

  Tensor make(std::span<const std::int64_t> sizes, std::int32_t type) {
    return empty(*member_, sizes, type);
  }

  // Without `output`, what runs behind NCCL and TWOSHOT cannot work in place: it gets a scratch.
  void run_quantizing() {
    if (call.num_tokens == 0) return;
    const assay_allreduce_status status = try_run(*member_, call);
    if (status == ASSAY_ALLREDUCE_OK) return;
    if (status != ASSAY_ALLREDUCE_UNSUPPORTED) refuse(functions.error());
    const Tensor scratch = like_input();
    call.output = scratch.data();
    run(*member_, call);
  }

  void run_plain() { run(*member_, call); }

  const Tensor input;
  assay_allreduce_call call{};

 private:
  void take_pointers() {
    check_place(gamma_, *member_, "gamma");
    if (gamma_.type() != input.type() || product(gamma_.sizes()) != input.sizes().back())
      refuse("gamma must have input's type and its last dimension");
    call.gamma = gamma_.data();
    if (residual_.get() != nullptr) {
      check_place(residual_, *member_, "residual");
      check_like(residual_, input, "residual");
      call.residual_in = call.residual_out = residual_.data();
    }
    if (scale_.get() != nullptr) {
      check_place(scale_, *member_, "scale");
      if (scale_.type() != pytorch.float32 || product(scale_.sizes()) != 1)
        refuse("scale must be one float32");
      call.scale = static_cast<const float*>(scale_.data());
    }
  }

  const Tensor residual_;
  const Tensor gamma_;
  const Tensor scale_;
  const Member* member_ = nullptr;
};

// all_reduce_rms_norm(Tensor input, Tensor(a!)? residual, Tensor gamma, float epsilon, int comm,
//                     float weight_bias) -> Tensor
void all_reduce_rms_norm(Slot* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  Arguments arguments(stack);
  NormCall norm(arguments, ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM, false);
  Tensor output = norm.like_input();
  norm.call.output = output.data();
  norm.run_plain();
  stack[0] = reinterpret_cast<Slot>(output.release());
}

// all_reduce_rms_norm_quant_fp8(Tensor input, Tensor(a!)? residual, Tensor gamma, Tensor scale,
//                               float epsilon, int comm, float weight_bias) -> Tensor
void all_reduce_rms_norm_quant_fp8(Slot* stack,
                                   std::uint64_t /*inputs*/,
                                   std::uint64_t /*outputs*/) {
  Arguments arguments(stack);
  NormCall norm(arguments, ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_FP8, true);
  Tensor quantized = norm.make(norm.input.sizes(), pytorch.float8_e4m3fn);
  norm.call.quantized = quantized.data();
  norm.run_quantizing();
  stack[0] = reinterpret_cast<Slot>(quantized.release());
}

// all_reduce_rms_norm_quant_fp8_dynamic(Tensor input, Tensor(a!)? residual, Tensor gamma,
//     float epsilon, int comm, float weight_bias, int group_size) -> (Tensor, Tensor)
void all_reduce_rms_norm_quant_fp8_dynamic(Slot* stack,
                                           std::uint64_t /*inputs*/,
                                           std::uint64_t /*outputs*/) {
  Arguments arguments(stack);
  NormCall norm(arguments, ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_FP8, false);
  const std::int64_t group_size = arguments.integer();
  if (group_size != 0 && group_size != 128) refuse("group_size is 0, a scale a token, or 128");
  const auto sizes = norm.input.sizes();
  std::vector<std::int64_t> scale_sizes(sizes.begin(), sizes.end());
  scale_sizes.back() = group_size == 0 ? 1 : sizes.back() / group_size;
  Tensor quantized = norm.make(sizes, pytorch.float8_e4m3fn);
  Tensor scales = norm.make(scale_sizes, pytorch.float32);
  norm.call.scale_layout =
      group_size == 0 ? ASSAY_ALLREDUCE_SCALE_PER_TOKEN : ASSAY_ALLREDUCE_SCALE_PER_GROUP_128;
  norm.call.quantized = quantized.data();
  norm.call.scale_out = scales.data();
  norm.run_quantizing();
  stack[0] = reinterpret_cast<Slot>(quantized.release());
  stack[1] = reinterpret_cast<Slot>(scales.release());
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Rows and columns of the e4m3 scales of so many tokens, each of so many groups of 16.
std::array<std::int64_t, 2> nvfp4_scale_sizes(std::int64_t layout,
                                              std::int64_t tokens,
                                              std::int64_t groups) {
  switch (layout) {
    case ASSAY_ALLREDUCE_SCALE_DEFAULT:
      return {round_up(tokens, 128), round_up(groups, 4)};
    case ASSAY_ALLREDUCE_SCALE_BLOCKS_8X4:
      return {round_up(tokens, 8), round_up(groups, 4)};
    case ASSAY_ALLREDUCE_SCALE_LINEAR:
      return {tokens, groups};
    default:
      refuse("scale_layout is 0 (128x4 blocks), 3 (linear) or 4 (8x4 blocks)");
  }
}

// all_reduce_rms_norm_quant_nvfp4(Tensor input, Tensor(a!)? residual, Tensor gamma, Tensor scale,
//     float epsilon, int comm, float weight_bias, int scale_layout) -> (Tensor, Tensor)
void all_reduce_rms_norm_quant_nvfp4(Slot* stack,
                                     std::uint64_t /*inputs*/,
                                     std::uint64_t /*outputs*/) {
  Arguments arguments(stack);
  NormCall norm(arguments, ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_NVFP4, true);
  const std::int64_t layout = arguments.integer();
  const auto sizes = norm.input.sizes();
  const std::int64_t hidden = sizes.back();
  if (hidden % 16 != 0) refuse("the last dimension is no multiple of 16");
  std::vector<std::int64_t> quantized_sizes(sizes.begin(), sizes.end());
  quantized_sizes.back() /= 2;
  const std::int64_t tokens = norm.call.num_tokens;
  const auto scale_sizes = nvfp4_scale_sizes(layout, tokens, hidden / 16);
  Tensor quantized = norm.make(quantized_sizes, pytorch.uint8);
  Tensor scales = norm.make(scale_sizes, pytorch.float8_e4m3fn);
  // The scales of columns that are only padding are multiplied with zeros by who reads them.
  if (scale_sizes[1] != hidden / 16) check(pytorch.zero(scales.get()), "zero_");
  norm.call.scale_layout = static_cast<int>(layout);
  norm.call.quantized = quantized.data();
  norm.call.scale_out = scales.data();
  norm.run_quantizing();
  stack[0] = reinterpret_cast<Slot>(quantized.release());
  stack[1] = reinterpret_cast<Slot>(scales.release());
}

constexpr struct {
  const char* name;
  Kernel kernel;
} kKernels[] = {{"all_reduce", all_reduce},
                {"all_reduce_", all_reduce_in_place},
                {"all_reduce_out", all_reduce_out},
                {"reduce_scatter", reduce_scatter},
                {"reduce_scatter_out", reduce_scatter_out},
                {"all_gather", all_gather},
                {"all_gather_out", all_gather_out},
                {"all_reduce_rms_norm", all_reduce_rms_norm},
                {"all_reduce_rms_norm_quant_fp8", all_reduce_rms_norm_quant_fp8},
                {"all_reduce_rms_norm_quant_fp8_dynamic", all_reduce_rms_norm_quant_fp8_dynamic},
                {"all_reduce_rms_norm_quant_nvfp4", all_reduce_rms_norm_quant_nvfp4}};

// Returns null, or what is wrong.
const char* find_library(void* allreduce) {
  functions.run =
      reinterpret_cast<decltype(functions.run)>(dlsym(allreduce, "assay_allreduce_run"));
  functions.error =
      reinterpret_cast<decltype(functions.error)>(dlsym(allreduce, "assay_allreduce_error"));
  return functions.run != nullptr && functions.error != nullptr ? nullptr : "assay_allreduce_run";
}

// The library object must live as long as PyTorch knows its kernels: for ever.
bool register_kernels() {
  LibraryHandle handle = nullptr;
  if (pytorch.library_init_impl("assay", "CUDA", "operators.cc", 0, &handle) != 0) return false;
  for (const auto& [name, kernel] : kKernels) {
    const int failed = pytorch.library_impl_of_version != nullptr
                           ? pytorch.library_impl_of_version(handle, name, kernel, kShimVersion)
                           : pytorch.library_impl(handle, name, kernel);
    if (failed != 0) return false;
  }
  return true;
}

}  // namespace
}  // namespace assay::allreduce::torch

using namespace assay::allreduce::torch;  // NOLINT: these functions only wrap

const char* assay_torch_register(void* torch_cpu, void* torch_cuda, void* allreduce) {
  void* const libraries[] = {torch_cpu, torch_cuda};
  const char* missing = find_shim(libraries, pytorch);
  if (missing == nullptr) missing = find_library(allreduce);
  if (missing != nullptr) {
    static std::string problem;
    problem = std::string("the libraries have no function ") + missing;
    return problem.c_str();
  }
  return register_kernels() ? nullptr : "PyTorch refused the kernels of torch.ops.assay";
}

int assay_torch_add(assay_allreduce_comm* comm,
                    assay_allreduce_strategy strategy,
                    int device,
                    int world_size) {
  const std::size_t number = member_count++;
  if (number >= kMostMembers) return -1;
  Member& member = members[number];
  member.strategy = strategy;
  member.device = device;
  member.world_size = world_size;
  member.comm = comm;
  return static_cast<int>(number);
}

void assay_torch_remove(int number) {
  if (number >= 0 && number < static_cast<int>(kMostMembers))
    members[static_cast<std::size_t>(number)].comm = nullptr;
}
