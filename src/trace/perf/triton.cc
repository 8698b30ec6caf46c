// The kernels that torch.compile generates. Their names list the operators that one kernel does,
// and their last concrete inputs the number of elements: "triton_red_fused_add_mean_0" with the
// outputs and, in reductions, the elements of each.
#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>

#include "core/text.h"
#include "trace/perf/operator_family.h"

namespace assay::trace {
namespace {

struct OperationCost {
  std::string_view name;
  double per_element;
};

// The public tool's counts of arithmetic per element. What is not here only moves data.
constexpr std::array kOperationCosts = {
    OperationCost{"add", 1},        OperationCost{"sub", 1},  OperationCost{"mul", 1},
    OperationCost{"div", 1},        OperationCost{"pow", 2},  OperationCost{"sqrt", 2},
    OperationCost{"rsqrt", 2},      OperationCost{"exp", 4},  OperationCost{"log", 4},
    OperationCost{"sigmoid", 4},    OperationCost{"tanh", 4}, OperationCost{"relu", 1},
    OperationCost{"silu", 4},       OperationCost{"gelu", 8}, OperationCost{"mean", 1},
    OperationCost{"sum", 1},        OperationCost{"var", 2},  OperationCost{"abs", 1},
    OperationCost{"neg", 1},        OperationCost{"ne", 1},   OperationCost{"eq", 1},
    OperationCost{"reciprocal", 2}, OperationCost{"lt", 1},   OperationCost{"gt", 1},
};

double operations_of(std::string_view name) {
  const auto* const found =
      std::find_if(kOperationCosts.begin(), kOperationCosts.end(),
                   [&](const OperationCost& cost) { return cost.name == name; });
  return found == kOperationCosts.end() ? 0 : found->per_element;
}

// The operators of PyTorch with an underscore in their names that occur in fused kernels. An
// underscore also stands between two operators, so a name of one word needs no entry.
constexpr std::string_view kLongNames =
    "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _fused_rms_norm _fused_rms_norm_backward"
    " _log_softmax _log_softmax_backward_data _native_batch_norm_legit"
    " _native_batch_norm_legit_functional _native_batch_norm_legit_no_training _reshape_alias"
    " _safe_softmax _scaled_dot_product_attention _scaled_dot_product_cudnn_attention"
    " _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention"
    " _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention"
    " _scaled_dot_product_flash_attention_backward _scaled_mm _softmax _softmax_backward_data"
    " _to_copy _unsafe_index _unsafe_index_put _unsafe_view _weight_norm_interface"
    " all_gather_into_tensor all_reduce all_to_all_single as_strided as_strided_scatter avg_pool2d"
    " avg_pool2d_backward batch_norm batch_norm_backward bitwise_and bitwise_left_shift bitwise_not"
    " bitwise_or bitwise_right_shift bitwise_xor bucketize clamp_max clamp_min constant_pad_nd"
    " convolution_backward copy_ cudnn_batch_norm cudnn_batch_norm_backward elu_backward"
    " embedding_dense_backward empty_like fill_ floor_divide full_like gelu_backward"
    " grid_sampler_2d group_norm hardsigmoid_backward hardswish_backward hardtanh_backward"
    " index_add index_copy index_fill index_put index_put_ index_select layer_norm leaky_relu"
    " leaky_relu_backward lift_fresh_copy linalg_vector_norm log_sigmoid_forward"
    " log_sigmoid_backward log_softmax logical_and logical_not logical_or logical_xor"
    " masked_fill masked_scatter max_pool2d_with_indices max_pool2d_with_indices_backward"
    " miopen_batch_norm miopen_batch_norm_backward mse_loss mse_loss_backward nan_to_num"
    " native_batch_norm native_batch_norm_backward native_dropout native_dropout_backward"
    " native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward"
    " new_empty new_full new_ones new_zeros nll_loss_backward nll_loss_forward ones_like"
    " pixel_shuffle rand_like randn_like reduce_scatter_tensor reflection_pad2d"
    " reflection_pad2d_backward replication_pad2d rms_norm scalar_tensor"
    " scaled_dot_product_attention scatter_add scatter_reduce select_backward select_scatter"
    " sigmoid_backward silu_backward slice_backward slice_scatter smooth_l1_loss"
    " smooth_l1_loss_backward softplus_backward split_with_sizes tanh_backward"
    " threshold_backward unsafe_split upsample_bicubic2d upsample_bilinear2d"
    " upsample_bilinear2d_backward upsample_nearest2d upsample_nearest2d_backward var_mean"
    " wait_tensor zeros_like";

std::unordered_set<std::string_view> words_of(std::string_view text) {
  std::unordered_set<std::string_view> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    words.insert(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return words;
}

bool is_long_name(std::string_view name) {
  static const std::unordered_set<std::string_view> names = words_of(kLongNames);
  return names.count(name) > 0;
}

// Returns "add_mul" of "triton_poi_fused_add_mul_3", or "" for a name of another form.
std::string_view fused_part(std::string_view name) {
  constexpr std::size_t kPrefix = std::string_view("triton_poi_").size();
  name.remove_prefix(std::min(name.size(), kPrefix));
  constexpr std::string_view kFused = "fused_";
  if (!name.starts_with(kFused)) return "";
  name.remove_prefix(kFused.size());
  const std::size_t number = name.rfind('_');
  if (number == std::string_view::npos || number + 1 == name.size()) return "";
  const std::string_view digits = name.substr(number + 1);
  const bool numbered = digits.find_first_not_of("0123456789") == std::string_view::npos;
  return numbered ? name.substr(0, number) : "";
}

// Splits "_unsafe_view_add" into operators. From the end on, the longest name is taken.
std::vector<std::string_view> fused_operators(std::string_view text) {
  std::vector<std::string_view> operators;
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t underscore = text.rfind('_', end - 1);
    std::size_t begin = underscore == std::string_view::npos ? 0 : underscore + 1;
    for (std::size_t at = begin; at > 0; --at) {
      const bool starts_word = at == 1 || text[at - 2] == '_';
      if (starts_word && is_long_name(text.substr(at - 1, end - at + 1))) begin = at - 1;
    }
    if (begin < end) operators.push_back(text.substr(begin, end - begin));
    end = begin == 0 ? 0 : begin - 1;
  }
  std::reverse(operators.begin(), operators.end());
  return operators;
}

std::vector<std::int64_t> whole_numbers(const ArgumentList& arguments) {
  std::vector<std::int64_t> numbers;
  for (const Argument& argument : arguments) {
    if (const auto* number = std::get_if<std::int64_t>(&argument.value)) numbers.push_back(*number);
    const std::string* text = argument.text();
    if (text == nullptr || text->empty()) continue;
    std::int64_t number = 0;
    const char* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, number);
    if (read.ec == std::errc() && read.ptr == end) numbers.push_back(number);
  }
  return numbers;
}

// The public tool knows the names of PyTorch's C++ types only with this prefix.
std::optional<double> pointer_bytes(const OperatorCall& call, const std::string& type) {
  if (!call.like_public_tool()) return element_bytes(type);
  if (type == "c10::Float" || type == "c10::Int") return 4;
  if (type == "c10::Double" || type == "c10::Long") return 8;
  if (type == "c10::Byte" || type == "c10::Char") return 1;
  return type == "c10::BFloat16" || type == "c10::Half" ? 2 : 0;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
  });
  return text;
}

struct Tensors {
  std::optional<double> bytes = 0;  // std::nullopt: the size of a type is unknown
  double first_element_bytes = 0;
  std::string type;  // of the first tensor with a known size
};

core::Result<Tensors> tensors_of(const OperatorCall& call) {
  Tensors tensors;
  bool is_first = true;
  for (std::size_t i = 0; i < std::min(call.dims.size(), call.types.size()); ++i) {
    if (call.type(i) == "Scalar" || !call.is_tensor(i)) continue;
    const double elements = element_count(ASSAY_TRY(call.shape(i)));
    const std::optional<double> size = pointer_bytes(call, call.type(i));
    if (tensors.bytes && size)
      *tensors.bytes += elements * *size;
    else
      tensors.bytes = std::nullopt;
    if (is_first) tensors.first_element_bytes = size.value_or(0);
    is_first = false;
    if (tensors.type.empty() && size.value_or(0) > 0) tensors.type = call.type(i);
  }
  return tensors;
}

std::string triton_spec(const OperatorCall& call, const std::string& type) {
  if (!call.like_public_tool()) return compute_spec(ComputeUnit::kVector, type);
  const std::size_t colons = type.rfind("::");
  return type.empty() ? "" : "vector_" + lower_case(type.substr(colons + 2));
}

// Every tensor is read or written once. Of a tensor that is updated in place one access is missing;
// the trace does not tell which tensors are. The public tool adds one to all elementwise kernels.
core::Result<Estimate> triton(const OperatorCall& call) {
  const std::vector<std::int64_t> numbers = whole_numbers(call.concrete);
  if (numbers.empty() || call.dims.empty() || call.types.empty())
    return core::Error{"a generated kernel without recorded sizes"};
  const bool reduces = !call.name.starts_with("triton_poi_") && numbers.size() >= 2;
  const std::int64_t outputs = reduces ? numbers[numbers.size() - 2] : numbers.back();
  const std::int64_t reduced = reduces ? numbers.back() : 1;
  if (!is_plausible({outputs, reduced})) return core::Error{"implausible number of elements"};
  std::vector<std::string> names;
  double operations = 0;
  for (const std::string_view name : fused_operators(fused_part(call.name))) {
    names.push_back("aten." + std::string(name));
    operations += operations_of(name);
  }
  Tensors tensors = ASSAY_TRY(tensors_of(call));
  const bool elementwise = call.name.starts_with("triton_poi_");
  if (call.like_public_tool() && elementwise && tensors.bytes)
    *tensors.bytes += tensors.first_element_bytes * static_cast<double>(outputs);
  const double elements = static_cast<double>(outputs) * static_cast<double>(reduced);
  return Estimate{{{"fused_ops", Argument{core::join(names, ", ")}},
                   {"xnumel", Argument{outputs}},
                   {"rnumel", Argument{reduced}}},
                  triton_spec(call, tensors.type),
                  {operations * elements, tensors.bytes}};
}

const OperatorFamily kTriton{.name = "triton",
                             .operators = "triton_poi_* triton_red_* triton_per_*",
                             .category = "triton",
                             .model = &triton,
                             .fits = ModelFits::kSomeCalls};
ASSAY_REGISTER(OperatorFamily, kTriton);

}  // namespace
}  // namespace assay::trace
