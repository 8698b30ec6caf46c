// A mixture of experts on the GPU that has most tokens: our own kernels around cuBLAS's products.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/grouped_product.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/moe_check.h"
#include "collect/cuda/moe_kernels.h"
#include "collect/cuda/product_reference.h"
#include "collect/cuda/work.h"
#include "collect/moe_routing.h"

namespace assay::collect {
namespace {

enum Buffer : std::size_t {
  kUpWeight,  // of gate and up
  kDownWeight,
  kLogits,
  kInput,
  kChosen,
  kShares,
  kCounts,
  kOffsets,
  kCursors,
  kPositions,
  kGathered,
  kGated,
  kActivated,
  kExpertOutput,
  kOutput,
  kUpAddresses,
  kDownAddresses,
  kNumBuffers,
};

// What a launch writes.
constexpr std::array kWritten = {kChosen, kShares,    kPositions,    kGathered,
                                 kGated,  kActivated, kExpertOutput, kOutput};

struct Shape {
  MoeSpec spec;
  DataType type = DataType::kBfloat16;  // of what is no product
  std::int64_t local_experts = 1;
  std::int64_t intermediate = 1;
  std::vector<std::int64_t> rows;  // of each local expert
  std::int64_t local_rows = 0;
};

Shape shape_of(const MoeSpec& spec, const ExpertChoice& choice) {
  Shape shape;
  shape.spec = spec;
  shape.type = spec.type == DataType::kFloat16 ? DataType::kFloat16 : DataType::kBfloat16;
  shape.local_experts = spec.experts / spec.ep;
  shape.intermediate = spec.intermediate / spec.tp;
  shape.rows.assign(choice.tokens_of_expert.begin(),
                    choice.tokens_of_expert.begin() + shape.local_experts);
  shape.local_rows = choice.tokens_of_gpu(0, spec.ep);
  return shape;
}

// Weights so small that sums neither overflow nor are cut.
Fill weights(DataType type, std::uint32_t seed) {
  return {.kind = Fill::Kind::kUniform, .type = type, .amplitude = 0.0625F, .seed = seed};
}

std::vector<BufferSpec> buffers_of(const Shape& shape, const GroupedProduct& product) {
  const MoeSpec& spec = shape.spec;
  const std::int64_t element = bytes_of(spec.type);
  const std::int64_t wide = bytes_of(shape.type);
  const std::int64_t choices = spec.tokens * spec.top_k;
  const std::int64_t weight_elements = shape.local_experts * shape.intermediate * spec.hidden;
  const auto size = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes); };
  std::vector<BufferSpec> buffers(kNumBuffers);
  buffers[kUpWeight] = {size(2 * weight_elements * element), weights(spec.type, 1)};
  buffers[kDownWeight] = {size(weight_elements * element), weights(spec.type, 2)};
  buffers[kInput] = {size(spec.tokens * spec.hidden * wide),
                     {.kind = Fill::Kind::kUniform, .type = shape.type, .seed = 3}};
  buffers[kLogits].bytes = size(spec.tokens * spec.experts * 2);
  buffers[kChosen].bytes = size(choices * 4);
  buffers[kShares].bytes = size(choices * 4);
  buffers[kCounts].bytes = size(shape.local_experts * 4);
  buffers[kOffsets].bytes = size((shape.local_experts + 1) * 4);
  buffers[kCursors].bytes = size(shape.local_experts * 4);
  buffers[kPositions].bytes = size(choices * 4);
  buffers[kGathered].bytes = size(shape.local_rows * spec.hidden * element);
  buffers[kGated].bytes = size(2 * shape.local_rows * shape.intermediate * wide);
  buffers[kActivated].bytes = size(shape.local_rows * shape.intermediate * element);
  buffers[kExpertOutput].bytes = size(shape.local_rows * spec.hidden * wide);
  buffers[kOutput].bytes = size(spec.tokens * spec.hidden * wide);
  buffers[kUpAddresses].bytes = product.addresses_bytes();
  buffers[kDownAddresses].bytes = product.addresses_bytes();
  return buffers;
}

struct Products {
  std::unique_ptr<GroupedProduct> up;
  std::unique_ptr<GroupedProduct> down;
};

class MoeWork : public CudaWork {
 public:
  MoeWork(Gpu& gpu, model::L2State l2, Shape shape, ExpertChoice choice)
      : CudaWork(gpu, l2), shape_(std::move(shape)), choice_(std::move(choice)) {}

  // Takes the memory and tries it once. Error: also of products that the library refuses only when
  // they are run.
  core::Status prepare(Products products, Grouping grouping, model::L2State l2) {
    products_ = std::move(products);
    grouping_ = grouping;
    buffers_ = ASSAY_TRY(Buffers::take(gpu(), buffers_of(shape_, *products_.up), l2));
    const std::vector<std::uint16_t> logits = router_logits(shape_.spec, choice_);
    for (std::int64_t copy = 0; copy < copies(); ++copy) {
      ASSAY_TRY(cuda_status(cudaMemcpyAsync(buffers_.at(kLogits, copy), logits.data(),
                                            logits.size() * sizeof(std::uint16_t),
                                            cudaMemcpyHostToDevice, gpu().stream()),
                            "writing the router's logits"));
      ASSAY_TRY(products_.up->set_addresses(up(copy), buffers_.at(kUpAddresses, copy)));
      ASSAY_TRY(products_.down->set_addresses(down(copy), buffers_.at(kDownAddresses, copy)));
    }
    ASSAY_TRY(launch());
    return gpu().wait();
  }

  [[nodiscard]] std::string kernel_source() const override {
    return grouping_ == Grouping::kGrouped ? "cublas_grouped" : "cublaslt_per_expert";
  }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override {
    for (const Buffer buffer : kWritten)
      ASSAY_TRY(buffers_.spoil(gpu(), buffer));
    return {};
  }

  core::Result<Accuracy> compare() override {
    const MoeArguments with = arguments(0);
    Accuracy all = ASSAY_TRY(check_routing(gpu(), with, shape_.spec, choice_));
    // Where experts or rows are wrong, the rest would read outside of its memory.
    if (all.worst > 1) return all;
    all = worse(all, ASSAY_TRY(check_stage(gpu(), with, MoeStage::kGather)));
    all = worse(all, ASSAY_TRY(check_product(up(0), 2 * shape_.intermediate, shape_.spec.hidden)));
    all = worse(all, ASSAY_TRY(check_stage(gpu(), with, MoeStage::kActivate)));
    all = worse(all, ASSAY_TRY(check_product(down(0), shape_.spec.hidden, shape_.intermediate)));
    return worse(all, ASSAY_TRY(check_stage(gpu(), with, MoeStage::kCombine)));
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    const MoeArguments with = arguments(copy);
    const cudaStream_t stream = gpu().stream();
    ASSAY_TRY(cuda_status(route_and_gather(with, stream), "routing"));
    ASSAY_TRY(products_.up->enqueue(up(copy), buffers_.at(kUpAddresses, copy)));
    ASSAY_TRY(cuda_status(activate(with, stream), "the activation"));
    ASSAY_TRY(products_.down->enqueue(down(copy), buffers_.at(kDownAddresses, copy)));
    return cuda_status(combine(with, stream), "the weighted sum");
  }

 private:
  [[nodiscard]] ProductArguments up(std::int64_t copy) const {
    return {.input = buffers_.at(kGathered, copy),
            .weight = buffers_.at(kUpWeight, copy),
            .output = buffers_.at(kGated, copy)};
  }

  [[nodiscard]] ProductArguments down(std::int64_t copy) const {
    return {.input = buffers_.at(kActivated, copy),
            .weight = buffers_.at(kDownWeight, copy),
            .output = buffers_.at(kExpertOutput, copy)};
  }

  core::Result<Accuracy> check_product(const ProductArguments& arguments,
                                       std::int64_t n,
                                       std::int64_t k) {
    // The library does not say how cuBLAS put parts of sums together: as if in two.
    const ProductCheck check{
        .rows = shape_.local_rows,
        .n = n,
        .k = k,
        .batch = shape_.local_experts,
        .type = shape_.spec.type,
        .arguments = arguments,
        .row_offsets = buffers_.at<std::int32_t>(kOffsets, 0),
        .algorithm = {.reduction_scheme = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, .split_k = 2}};
    ASSAY_TRY(cuda_status(compare_product(check, gpu().samples(), gpu().stream()), "checking"));
    return accuracy_of_samples(gpu(), samples_of(check.rows * n), n, "expert's product");
  }

  [[nodiscard]] MoeArguments arguments(std::int64_t copy) const {
    const MoeSpec& spec = shape_.spec;
    return {.type = shape_.type,
            .product_type = spec.type,
            .tokens = static_cast<int>(spec.tokens),
            .hidden = static_cast<int>(spec.hidden),
            .intermediate = static_cast<int>(shape_.intermediate),
            .top_k = static_cast<int>(spec.top_k),
            .experts = static_cast<int>(spec.experts),
            .local_experts = static_cast<int>(shape_.local_experts),
            .local_rows = static_cast<int>(shape_.local_rows),
            .logits = buffers_.at(kLogits, copy),
            .input = buffers_.at(kInput, copy),
            .chosen = buffers_.at<std::int32_t>(kChosen, copy),
            .shares = buffers_.at<float>(kShares, copy),
            .counts = buffers_.at<std::int32_t>(kCounts, copy),
            .offsets = buffers_.at<std::int32_t>(kOffsets, copy),
            .cursors = buffers_.at<std::int32_t>(kCursors, copy),
            .positions = buffers_.at<std::int32_t>(kPositions, copy),
            .gathered = buffers_.at(kGathered, copy),
            .gated = buffers_.at(kGated, copy),
            .activated = buffers_.at(kActivated, copy),
            .expert_output = buffers_.at(kExpertOutput, copy),
            .output = buffers_.at(kOutput, copy)};
  }

  Shape shape_;
  ExpertChoice choice_;
  Products products_;
  Grouping grouping_ = Grouping::kGrouped;
  Buffers buffers_;
};

std::string why_not(const MoeSpec& spec) {
  if (!lt_functions().ok()) return lt_functions().error().message;
  switch (spec.type) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kFp8:
      break;
    default:
      return "mixtures of experts are of float16, bfloat16 and fp8, not of " +
             std::string(name_of(spec.type));
  }
  if (spec.experts > kMostExperts || spec.top_k > 64 || spec.top_k > spec.experts)
    return "at most 512 experts, of which a token has at most 64";
  if (spec.experts % spec.ep != 0 || spec.intermediate % spec.tp != 0)
    return "experts and their width must be multiples of the numbers of GPUs";
  if (spec.hidden % 16 != 0 || spec.intermediate / spec.tp % 16 != 0)
    return "hidden and intermediate sizes of a GPU must be multiples of 16";
  if (spec.tokens * spec.top_k > INT32_MAX) return "more than 2^31 choices";
  return "";
}

// Nothing: this grouping cannot do it; `reason` says why.
core::Result<std::unique_ptr<Work>> try_grouping(
    Gpu& gpu, const MoeSpec& spec, Grouping grouping, model::L2State l2, std::string& reason) {
  const ExpertChoice choice = choose_experts(spec);
  const Shape shape = shape_of(spec, choice);
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
  auto work = std::make_unique<MoeWork>(gpu, l2, shape, choice);
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
  if (spec.type != DataType::kFp8) {
    auto work = ASSAY_TRY(try_grouping(gpu, spec, Grouping::kGrouped, l2, reason));
    if (work != nullptr) return MadeWork(std::move(work));
  }
  auto work = ASSAY_TRY(try_grouping(gpu, spec, Grouping::kPerExpert, l2, reason));
  if (work != nullptr) return MadeWork(std::move(work));
  return MadeWork(Unsupported{reason});
}

}  // namespace assay::collect
