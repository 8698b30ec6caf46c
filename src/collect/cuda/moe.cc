// A mixture of experts on the GPU that has the most tokens, with Assay's kernels around cuBLAS's
// products.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/grouped_product.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/moe_buffers.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/cuda/product_reference.h"
#include "collect/cuda/test_data.h"
#include "collect/cuda/work.h"
#include "collect/kernels/block_scales.h"
#include "collect/kernels/moe_routing.h"

namespace assay::collect {
namespace {

constexpr double kWrong = 1e9;

template <class T>
core::Result<std::vector<T>> read_back(Gpu& gpu, const T* from, std::size_t count) {
  std::vector<T> values(count);
  ASSAY_TRY(cuda_status(
      cudaMemcpyAsync(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, gpu.stream()),
      "reading the routing"));
  ASSAY_TRY(gpu.wait());
  return values;
}

struct Routed {
  std::vector<std::int32_t> chosen;
  std::vector<float> shares;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> counts;
};

core::Result<Routed> read_routed(Gpu& gpu, const MoeArguments& arguments) {
  const auto choices =
      static_cast<std::size_t>(arguments.tokens) * static_cast<std::size_t>(arguments.top_k);
  const auto experts = static_cast<std::size_t>(arguments.local_experts);
  Routed routed;
  routed.chosen = ASSAY_TRY(read_back(gpu, arguments.chosen, choices));
  routed.shares = ASSAY_TRY(read_back(gpu, arguments.shares, choices));
  routed.positions = ASSAY_TRY(read_back(gpu, arguments.positions, choices));
  routed.offsets = ASSAY_TRY(read_back(gpu, arguments.offsets, experts + 1));
  routed.counts = ASSAY_TRY(read_back(gpu, arguments.counts, experts));
  return routed;
}

Accuracy wrong(std::string where) {
  Accuracy accuracy;
  accuracy.worst = kWrong;
  accuracy.compared = 1;
  accuracy.where = std::move(where);
  return accuracy;
}

// Returns what is wrong, or "" if nothing is.
std::string offsets_wrong(const Routed& routed,
                          const MoeArguments& arguments,
                          const ExpertChoice& choice) {
  std::int64_t row = 0;
  for (std::size_t expert = 0; expert < routed.offsets.size(); ++expert) {
    if (routed.offsets[expert] != row)
      return fmt::format("expert {} begins at row {}, should at {}", expert, routed.offsets[expert],
                         row);
    if (expert == routed.counts.size()) break;
    const std::int64_t count = choice.tokens_of_expert[expert];
    if (routed.counts[expert] != count)
      return fmt::format("expert {} has {} tokens, should have {}", expert, routed.counts[expert],
                         count);
    row += (count + arguments.row_multiple - 1) / arguments.row_multiple * arguments.row_multiple;
  }
  return "";
}

std::string experts_wrong(const Routed& routed, const MoeSpec& spec, const ExpertChoice& choice) {
  for (std::int64_t token = 0; token < spec.tokens; ++token) {
    const std::ptrdiff_t begin = token * spec.top_k;
    const std::ptrdiff_t end = begin + spec.top_k;
    std::vector<std::int32_t> got(routed.chosen.begin() + begin, routed.chosen.begin() + end);
    std::vector<std::int32_t> should(choice.experts.begin() + begin, choice.experts.begin() + end);
    std::sort(got.begin(), got.end());
    std::sort(should.begin(), should.end());
    if (got != should) return fmt::format("token {} went to other experts", token);
  }
  return "";
}

// Each row of an expert belongs to one token.
std::string rows_wrong(const Routed& routed, const MoeArguments& arguments) {
  std::vector<bool> taken(static_cast<std::size_t>(arguments.local_rows));
  for (std::size_t i = 0; i < routed.positions.size(); ++i) {
    const std::int32_t row = routed.positions[i];
    const bool local = routed.chosen[i] < arguments.local_experts;
    if (!local && row == -1) continue;
    const auto expert = static_cast<std::size_t>(routed.chosen[i]);
    if (!local || row < routed.offsets[expert] ||
        row >= routed.offsets[expert] + routed.counts[expert] ||
        taken[static_cast<std::size_t>(row)])
      return fmt::format("choice {} of expert {} has row {}", i, routed.chosen[i], row);
    taken[static_cast<std::size_t>(row)] = true;
  }
  return "";
}

// The deviation is in units of 16 roundings of float32.
Accuracy shares_accuracy(const Routed& routed, const MoeSpec& spec) {
  Accuracy accuracy;
  for (std::int64_t token = 0; token < spec.tokens; ++token) {
    double sum = 0;
    for (std::int64_t i = 0; i < spec.top_k; ++i) {
      const auto at = static_cast<std::size_t>(token * spec.top_k + i);
      sum += std::exp(static_cast<double>(router_logit(token, routed.chosen[at], true)));
    }
    for (std::int64_t i = 0; i < spec.top_k; ++i) {
      const auto at = static_cast<std::size_t>(token * spec.top_k + i);
      const double expected =
          std::exp(static_cast<double>(router_logit(token, routed.chosen[at], true))) / sum;
      const double value = static_cast<double>(routed.shares[at]);
      const double difference = std::fabs(value - expected);
      const double units = std::isfinite(value) ? difference / (16 * 0x1p-24 * expected) : kWrong;
      ++accuracy.compared;
      if (!accuracy.where.empty() && units <= accuracy.worst) continue;
      accuracy.worst = units;
      accuracy.where = fmt::format("share[{}, {}] is {}, should be {}", token, i, value, expected);
    }
  }
  return accuracy;
}

const char* name_of_stage(MoeStage stage) {
  switch (stage) {
    case MoeStage::kGather:
      return "gathered";
    case MoeStage::kGatherScales:
      return "scale of gathered";
    case MoeStage::kActivate:
      return "activated";
    case MoeStage::kActivateScales:
      return "scale of activated";
    case MoeStage::kCombine:
      return "output";
  }
  return "";
}

core::Result<Accuracy> check_routing(Gpu& gpu,
                                     const MoeArguments& arguments,
                                     const MoeSpec& spec,
                                     const ExpertChoice& choice) {
  const Routed routed = ASSAY_TRY(read_routed(gpu, arguments));
  for (const std::string& why :
       {experts_wrong(routed, spec, choice), offsets_wrong(routed, arguments, choice)}) {
    if (!why.empty()) return wrong(why);
  }
  const std::string why = rows_wrong(routed, arguments);
  if (!why.empty()) return wrong(why);
  return shares_accuracy(routed, spec);
}

core::Result<Accuracy> check_stage(Gpu& gpu, const MoeArguments& arguments, MoeStage stage) {
  ASSAY_TRY(cuda_status(compare_stage(arguments, stage, gpu.samples(), gpu.stream()), "checking"));
  return accuracy_of_samples(gpu, samples_of(stage_elements(arguments, stage)),
                             stage_columns(arguments, stage), name_of_stage(stage));
}

// The buffers that a launch writes.
constexpr std::array kWritten = {
    MoeBuffer::kChosen,       MoeBuffer::kShares,         MoeBuffer::kPositions,
    MoeBuffer::kGathered,     MoeBuffer::kGated,          MoeBuffer::kActivated,
    MoeBuffer::kExpertOutput, MoeBuffer::kOutput,         MoeBuffer::kCounts,
    MoeBuffer::kOffsets,      MoeBuffer::kGatheredScales, MoeBuffer::kActivatedScales};

struct Products {
  std::unique_ptr<GroupedProduct> up;
  std::unique_ptr<GroupedProduct> down;
};

class MoeWork : public CudaWork {
 public:
  MoeWork(Gpu& gpu, model::L2State l2, MoeShape shape, ExpertChoice choice)
      : CudaWork(gpu, l2), shape_(std::move(shape)), choice_(std::move(choice)) {}

  // Takes the memory and launches the work once. Errors also come from products that the library
  // refuses only when they run.
  core::Status prepare(Products products, Grouping grouping, model::L2State l2) {
    products_ = std::move(products);
    grouping_ = grouping;
    buffers_ = ASSAY_TRY(
        Buffers::take(gpu(), moe_buffers_of(shape_, products_.up->addresses_bytes()), l2));
    for (std::int64_t copy = 0; copy < copies(); ++copy) {
      ASSAY_TRY(make_logits(copy));
      ASSAY_TRY(products_.up->set_addresses(up(copy), at(MoeBuffer::kUpAddresses, copy)));
      ASSAY_TRY(products_.down->set_addresses(down(copy), at(MoeBuffer::kDownAddresses, copy)));
    }
    ASSAY_TRY(launch());
    return gpu().wait();
  }

  [[nodiscard]] std::string kernel_source() const override {
    return grouping_ == Grouping::kGrouped ? "cublas_grouped" : "cublaslt_per_expert";
  }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override {
    for (const MoeBuffer buffer : kWritten)
      ASSAY_TRY(buffers_.spoil(gpu(), static_cast<std::size_t>(buffer)));
    return {};
  }

  core::Result<Accuracy> compare() override {
    const MoeArguments arguments = arguments_of(0);
    Accuracy all = ASSAY_TRY(check_routing(gpu(), arguments, shape_.spec, choice_));
    // With wrong experts or rows the other checks would read outside of their memory.
    if (all.worst > 1) return all;
    all =
        worse(all, ASSAY_TRY(check_stages(arguments, MoeStage::kGather, MoeStage::kGatherScales)));
    all = worse(all, ASSAY_TRY(check_product(up(0), 2 * shape_.intermediate, shape_.spec.hidden)));
    all = worse(all,
                ASSAY_TRY(check_stages(arguments, MoeStage::kActivate, MoeStage::kActivateScales)));
    all = worse(all, ASSAY_TRY(check_product(down(0), shape_.spec.hidden, shape_.intermediate)));
    return worse(all, ASSAY_TRY(check_stage(gpu(), arguments, MoeStage::kCombine)));
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    const MoeArguments arguments = arguments_of(copy);
    const cudaStream_t stream = gpu().stream();
    ASSAY_TRY(cuda_status(route_and_gather(arguments, stream), "routing"));
    ASSAY_TRY(products_.up->enqueue(up(copy), at(MoeBuffer::kUpAddresses, copy)));
    ASSAY_TRY(cuda_status(activate(arguments, stream), "the activation"));
    ASSAY_TRY(products_.down->enqueue(down(copy), at(MoeBuffer::kDownAddresses, copy)));
    return cuda_status(combine(arguments, stream), "the weighted sum");
  }

 private:
  template <class T = void>
  [[nodiscard]] T* at(MoeBuffer buffer, std::int64_t copy) const {
    return buffers_.at<T>(static_cast<std::size_t>(buffer), copy);
  }

  // Makes logits that choose choice_.experts, which the launches will write to `chosen` as well.
  core::Status make_logits(std::int64_t copy) {
    const RouterLogits arguments{.tokens = shape_.spec.tokens,
                                 .experts = shape_.spec.experts,
                                 .top_k = shape_.spec.top_k,
                                 .chosen = at<std::int32_t>(MoeBuffer::kChosen, copy),
                                 .logits = at(MoeBuffer::kLogits, copy)};
    ASSAY_TRY(cuda_status(cudaMemcpyAsync(at(MoeBuffer::kChosen, copy), choice_.experts.data(),
                                          choice_.experts.size() * sizeof(std::int32_t),
                                          cudaMemcpyHostToDevice, gpu().stream()),
                          "writing the experts"));
    return cuda_status(write_logits(arguments, gpu().stream()), "making the router's logits");
  }

  [[nodiscard]] ProductArguments up(std::int64_t copy) const {
    return {.input = at(MoeBuffer::kGathered, copy),
            .weight = at(MoeBuffer::kUpWeight, copy),
            .output = at(MoeBuffer::kGated, copy),
            .input_scales = at<float>(MoeBuffer::kGatheredScales, copy),
            .weight_scales = at<float>(MoeBuffer::kUpScales, copy)};
  }

  [[nodiscard]] ProductArguments down(std::int64_t copy) const {
    return {.input = at(MoeBuffer::kActivated, copy),
            .weight = at(MoeBuffer::kDownWeight, copy),
            .output = at(MoeBuffer::kExpertOutput, copy),
            .input_scales = at<float>(MoeBuffer::kActivatedScales, copy),
            .weight_scales = at<float>(MoeBuffer::kDownScales, copy)};
  }

  core::Result<Accuracy> check_stages(const MoeArguments& arguments,
                                      MoeStage stage,
                                      MoeStage scales) {
    const Accuracy elements = ASSAY_TRY(check_stage(gpu(), arguments, stage));
    if (shape_.spec.type != DataType::kFp8Block) return elements;
    return worse(elements, ASSAY_TRY(check_stage(gpu(), arguments, scales)));
  }

  core::Result<Accuracy> check_product(const ProductArguments& arguments,
                                       std::int64_t n,
                                       std::int64_t k) {
    // cuBLAS does not report how it adds the parts of a sum. The bound assumes two parts.
    const ProductCheck check{
        .rows = shape_.pairs,
        .n = n,
        .k = k,
        .batch = shape_.local_experts,
        .type = shape_.spec.type,
        .arguments = arguments,
        .row_offsets = at<std::int32_t>(MoeBuffer::kOffsets, 0),
        .row_counts = at<std::int32_t>(MoeBuffer::kCounts, 0),
        .algorithm = {.reduction_scheme = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, .split_k = 2}};
    ASSAY_TRY(cuda_status(compare_product(check, gpu().samples(), gpu().stream()), "checking"));
    return accuracy_of_samples(gpu(), samples_of(check.rows * n), n, "expert's product");
  }

  [[nodiscard]] MoeArguments arguments_of(std::int64_t copy) const {
    const MoeSpec& spec = shape_.spec;
    return {.type = shape_.type,
            .product_type = spec.type,
            .tokens = static_cast<int>(spec.tokens),
            .hidden = static_cast<int>(spec.hidden),
            .intermediate = static_cast<int>(shape_.intermediate),
            .top_k = static_cast<int>(spec.top_k),
            .experts = static_cast<int>(spec.experts),
            .local_experts = static_cast<int>(shape_.local_experts),
            .row_multiple = static_cast<int>(shape_.row_multiple),
            .local_rows = static_cast<int>(shape_.local_rows),
            .pairs = static_cast<int>(shape_.pairs),
            .logits = at(MoeBuffer::kLogits, copy),
            .input = at(MoeBuffer::kInput, copy),
            .chosen = at<std::int32_t>(MoeBuffer::kChosen, copy),
            .shares = at<float>(MoeBuffer::kShares, copy),
            .counts = at<std::int32_t>(MoeBuffer::kCounts, copy),
            .offsets = at<std::int32_t>(MoeBuffer::kOffsets, copy),
            .cursors = at<std::int32_t>(MoeBuffer::kCursors, copy),
            .positions = at<std::int32_t>(MoeBuffer::kPositions, copy),
            .gathered = at(MoeBuffer::kGathered, copy),
            .gated = at(MoeBuffer::kGated, copy),
            .activated = at(MoeBuffer::kActivated, copy),
            .expert_output = at(MoeBuffer::kExpertOutput, copy),
            .output = at(MoeBuffer::kOutput, copy),
            .gathered_scales = at<float>(MoeBuffer::kGatheredScales, copy),
            .activated_scales = at<float>(MoeBuffer::kActivatedScales, copy)};
  }

  MoeShape shape_;
  ExpertChoice choice_;
  Products products_;
  Grouping grouping_ = Grouping::kGrouped;
  Buffers buffers_;
};

// Hidden and intermediate sizes must be multiples of this: kernels load 8 elements at a time, and
// fp8 products need 16.
std::int64_t size_multiple(DataType type) {
  return type == DataType::kFp8Block ? kScaleBlock : 16;
}

std::string why_not(const MoeSpec& spec) {
  if (!lt_functions().ok()) return lt_functions().error().message;
  if (spec.type == DataType::kFloat32 || spec.type == DataType::kInt8)
    return "mixtures of experts are of float16, bfloat16, fp8 and fp8_block, not of " +
           std::string(name_of(spec.type));
  if (spec.experts > kMostExperts || spec.top_k > 64 || spec.top_k > spec.experts)
    return "at most 512 experts, of which a token has at most 64";
  if (spec.experts % spec.ep != 0 || spec.intermediate % spec.tp != 0)
    return "experts and their width must be multiples of the numbers of GPUs";
  const std::int64_t multiple = size_multiple(spec.type);
  if (spec.hidden % multiple != 0 || spec.intermediate / spec.tp % multiple != 0)
    return "hidden and intermediate sizes of a GPU must be multiples of " +
           std::to_string(multiple) + " in " + std::string(name_of(spec.type));
  // Kernels count rows, including padding, in 32 bits.
  if (spec.tokens * spec.top_k > INT32_MAX / 2) return "more than 2^30 choices";
  return "";
}

// Returns nullptr if this grouping does not support it, and then `reason` says why.
core::Result<std::unique_ptr<Work>> try_grouping(
    Gpu& gpu, const MoeSpec& spec, Grouping grouping, model::L2State l2, std::string& reason) {
  ExpertChoice choice = choose_experts(spec);
  const MoeShape shape = moe_shape_of(spec, choice);
  Products products;
  auto refused = ASSAY_TRY(GroupedProduct::make(
      gpu, {shape.rows, 2 * shape.intermediate, spec.hidden, spec.type}, grouping, products.up));
  if (!refused)
    refused = ASSAY_TRY(GroupedProduct::make(
        gpu, {shape.rows, spec.hidden, shape.intermediate, spec.type}, grouping, products.down));
  if (refused) {
    reason = refused->reason;
    return std::unique_ptr<Work>();
  }
  auto work = std::make_unique<MoeWork>(gpu, l2, shape, std::move(choice));
  const core::Status prepared = work->prepare(std::move(products), grouping, l2);
  if (prepared.ok()) return std::unique_ptr<Work>(std::move(work));
  if (gpu.is_lost() || prepared.error().message.find(kOutOfMemory) == 0) return prepared.error();
  reason = prepared.error().message;
  return std::unique_ptr<Work>();
}

}  // namespace

core::Result<MadeWork> make_moe(Gpu& gpu, const MoeSpec& spec, model::L2State l2) {
  std::string reason = why_not(spec);
  if (!reason.empty()) return MadeWork(Unsupported{reason});
  // cuBLAS has no grouped products of fp8.
  if (bytes_of(spec.type) > 1) {
    auto work = ASSAY_TRY(try_grouping(gpu, spec, Grouping::kGrouped, l2, reason));
    if (work != nullptr) return MadeWork(std::move(work));
  }
  auto work = ASSAY_TRY(try_grouping(gpu, spec, Grouping::kPerExpert, l2, reason));
  if (work != nullptr) return MadeWork(std::move(work));
  return MadeWork(Unsupported{reason});
}

}  // namespace assay::collect
