// A mixture of experts on the GPU that has the most tokens: Assay's kernels for routing, gathering
// and the weighted sum around the fastest of the products that can be had.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/moe_check.h"
#include "collect/cuda/moe_products.h"
#include "collect/cuda/test_data.h"
#include "collect/cuda/work.h"
#include "collect/kernels/block_scales.h"
#include "core/statistics.h"

namespace assay::collect {
namespace {

// The buffers that a launch writes.
constexpr std::array kWritten = {
    MoeBuffer::kChosen,       MoeBuffer::kShares,         MoeBuffer::kPositions,
    MoeBuffer::kGathered,     MoeBuffer::kGated,          MoeBuffer::kActivated,
    MoeBuffer::kExpertOutput, MoeBuffer::kOutput,         MoeBuffer::kCounts,
    MoeBuffer::kOffsets,      MoeBuffer::kGatheredScales, MoeBuffer::kActivatedScales,
    MoeBuffer::kSources,      MoeBuffer::kRowShares};

constexpr double kLongTrialMs = 2;  // one launch of such a length tells which products are fastest

using AllProducts = std::vector<std::unique_ptr<MoeProducts>>;

class MoeWork : public CudaWork {
 public:
  MoeWork(Gpu& gpu, model::L2State l2, MoeShape shape, ExpertChoice choice)
      : CudaWork(gpu, l2), shape_(std::move(shape)), choice_(std::move(choice)) {}

  core::Status take_memory(AllProducts products, model::L2State l2) {
    products_ = std::move(products);
    std::size_t addresses_bytes = 0;
    for (const auto& kind : products_)
      addresses_bytes = std::max(addresses_bytes, kind->addresses_bytes());
    buffers_ = ASSAY_TRY(Buffers::take(gpu(), moe_buffers_of(shape_, addresses_bytes), l2));
    for (std::int64_t copy = 0; copy < copies(); ++copy)
      ASSAY_TRY(make_logits(copy));
    return {};
  }

  [[nodiscard]] std::size_t count_products() const { return products_.size(); }

  // The next launches have these products.
  void use(std::size_t products) {
    used_ = products;
    rewind();
  }

  // Returns the times of a few launches with these products, which it uses from then on; one of 0
  // if there are no others. Errors also come from products that a library refuses only when they
  // run.
  core::Result<std::vector<double>> try_out(std::size_t products) {
    use(products);
    ASSAY_TRY(used().prepare(memory()));
    ASSAY_TRY(launch());
    ASSAY_TRY(gpu().wait());
    if (products_.size() == 1) return std::vector<double>{0};
    const auto watch = ASSAY_TRY(stopwatch({}));
    std::vector<double> samples_ms = ASSAY_TRY(watch->sample(1));
    if (samples_ms.front() > kLongTrialMs) return samples_ms;
    constexpr std::int64_t kTrials = 5;
    return watch->sample(kTrials);
  }

  [[nodiscard]] std::string kernel_source() const override { return used().kernel_source(); }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override {
    for (const MoeBuffer buffer : kWritten)
      ASSAY_TRY(buffers_.spoil(gpu(), static_cast<std::size_t>(buffer)));
    return {};
  }

  core::Result<Accuracy> compare() override {
    const MoeArguments arguments = used().arguments_of(memory(), 0);
    Accuracy all = ASSAY_TRY(check_routing(gpu(), arguments, shape_.spec, choice_));
    // With wrong experts or rows the other checks would read outside of their memory.
    if (all.worst > 1) return all;
    all = worse(all, ASSAY_TRY(check_stage(gpu(), arguments, MoeStage::kGather)));
    if (shape_.spec.type == DataType::kFp8Block)
      all = worse(all, ASSAY_TRY(check_stage(gpu(), arguments, MoeStage::kGatherScales)));
    all = worse(all, ASSAY_TRY(used().compare_up(memory())));
    all = worse(all, ASSAY_TRY(used().compare_down(memory())));
    if (arguments.row_shares != nullptr) return all;
    return worse(all, ASSAY_TRY(check_stage(gpu(), arguments, MoeStage::kCombine)));
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    const MoeArguments arguments = used().arguments_of(memory(), copy);
    const cudaStream_t stream = gpu().stream();
    ASSAY_TRY(cuda_status(route_and_gather(arguments, stream), "routing"));
    ASSAY_TRY(used().enqueue_up(memory(), copy));
    ASSAY_TRY(used().enqueue_down(memory(), copy));
    return cuda_status(combine(arguments, stream), "the weighted sum");
  }

 private:
  [[nodiscard]] MoeMemory memory() const { return {shape_, buffers_}; }

  [[nodiscard]] MoeProducts& used() const { return *products_[used_]; }

  // Makes logits that choose choice_.experts, which the launches will write to `chosen` as well.
  core::Status make_logits(std::int64_t copy) {
    const RouterLogits router{.tokens = shape_.spec.tokens,
                              .experts = shape_.spec.experts,
                              .top_k = shape_.spec.top_k,
                              .chosen = memory().at<std::int32_t>(MoeBuffer::kChosen, copy),
                              .logits = memory().at(MoeBuffer::kLogits, copy)};
    const MoeArguments arguments = memory().arguments_of(copy);
    const cudaStream_t stream = gpu().stream();
    ASSAY_TRY(cuda_status(clear_tallies(arguments, stream), "clearing the tallies"));
    ASSAY_TRY(cuda_status(cudaMemcpyAsync(arguments.chosen, choice_.experts.data(),
                                          choice_.experts.size() * sizeof(std::int32_t),
                                          cudaMemcpyHostToDevice, stream),
                          "writing the experts"));
    return cuda_status(write_logits(router, stream), "making the router's logits");
  }

  MoeShape shape_;
  ExpertChoice choice_;
  Buffers buffers_;
  AllProducts products_;
  std::size_t used_ = 0;
};

// Hidden and intermediate sizes must be multiples of this: kernels load 8 elements at a time, and
// fp8 products need 16.
std::int64_t size_multiple(DataType type) {
  if (type == DataType::kFp8Block) return kScaleBlock;
  return type == DataType::kFp8 ? 16 : 8;
}

std::string why_not(const MoeSpec& spec) {
  if (spec.type == DataType::kFloat32 || spec.type == DataType::kInt8)
    return "mixtures of experts are of float16, bfloat16, fp8, fp8_block and w4a16_mxfp4, not of " +
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

// Why some products cannot be had.
class Reasons {
 public:
  void add(const std::string& reason) { all_ += (all_.empty() ? "" : "; ") + reason; }

  [[nodiscard]] const std::string& all() const { return all_; }

 private:
  std::string all_;
};

// One product for each expert takes a search for its algorithm and two launches: with many experts
// of few rows each it was 1.4 to 20 times slower than a grouped kernel (H200).
bool may_go_by_expert(const MoeShape& shape) {
  constexpr std::int64_t kFewExperts = 8;
  constexpr std::int64_t kManyRows = 128;
  std::int64_t drawn = 0;
  std::int64_t rows = 0;
  for (const std::int64_t of_expert : shape.rows) {
    drawn += of_expert > 0 ? 1 : 0;
    rows += of_expert;
  }
  return drawn <= kFewExperts || rows >= drawn * kManyRows;
}

core::Result<AllProducts> products_for(Gpu& gpu, const MoeShape& shape, Reasons& reasons) {
  std::vector<MadeProducts> made;
  made.push_back(ASSAY_TRY(make_grouped_products(gpu, shape, GroupedSum::kAfterwards)));
  made.push_back(ASSAY_TRY(make_cublas_products(gpu, shape, CublasGrouping::kGrouped)));
  const bool has_grouped = made[0].products != nullptr || made[1].products != nullptr;
  if (!has_grouped || may_go_by_expert(shape))
    made.push_back(ASSAY_TRY(make_cublas_products(gpu, shape, CublasGrouping::kPerExpert)));
  if (may_add_rows_up(shape))
    made.push_back(ASSAY_TRY(make_grouped_products(gpu, shape, GroupedSum::kWithin)));
  AllProducts all;
  for (MadeProducts& one : made) {
    if (one.products != nullptr) {
      all.push_back(std::move(one.products));
    } else {
      reasons.add(one.reason);
    }
  }
  return all;
}

struct Tried {
  std::size_t products = 0;
  OtherKernel kernel;
};

// Leaves the fastest products in use. Returns false if none of them works.
core::Result<bool> use_fastest(Gpu& gpu, MoeWork& work, Reasons& reasons) {
  std::vector<Tried> tried;
  for (std::size_t i = 0; i < work.count_products(); ++i) {
    const core::Result<std::vector<double>> samples_ms = work.try_out(i);
    if (samples_ms.ok()) {
      tried.push_back({i, {work.kernel_source(), samples_ms.value()}});
    } else if (gpu.is_lost() || samples_ms.error().message.find(kOutOfMemory) == 0) {
      return samples_ms.error();
    } else {
      reasons.add(samples_ms.error().message);
    }
  }
  if (tried.empty()) return false;
  std::stable_sort(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) {
    return core::median(a.kernel.samples_ms) < core::median(b.kernel.samples_ms);
  });
  work.use(tried.front().products);
  std::vector<OtherKernel> others;
  for (std::size_t i = 1; i < tried.size(); ++i)
    others.push_back(tried[i].kernel);
  work.set_others(std::move(others));
  return true;
}

}  // namespace

core::Result<MadeWork> make_moe(Gpu& gpu, const MoeSpec& spec, model::L2State l2) {
  if (const std::string reason = why_not(spec); !reason.empty())
    return MadeWork(Unsupported{reason});
  ExpertChoice choice = choose_experts(spec);
  const MoeShape shape = moe_shape_of(spec, choice);
  Reasons reasons;
  AllProducts products = ASSAY_TRY(products_for(gpu, shape, reasons));
  if (products.empty()) return MadeWork(Unsupported{reasons.all()});
  auto work = std::make_unique<MoeWork>(gpu, l2, shape, std::move(choice));
  ASSAY_TRY(work->take_memory(std::move(products), l2));
  if (!ASSAY_TRY(use_fastest(gpu, *work, reasons))) return MadeWork(Unsupported{reasons.all()});
  return MadeWork(std::move(work));
}

}  // namespace assay::collect
