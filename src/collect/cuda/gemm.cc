// Matrix products by cuBLASLt, and those of few tokens in blocks of fp8 also by Assay's kernel.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collect/cuda/block_product.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/lt_product.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/product_reference.h"
#include "collect/cuda/work.h"
#include "collect/kernels/block_scales.h"
#include "core/statistics.h"

namespace assay::collect {
namespace {

// Returns a filling with numbers whose sums stay far below the largest number of the output type.
Fill operand_fill(DataType type, std::uint32_t seed) {
  const float amplitude = type == DataType::kInt8 ? 127.0F : 1.0F;
  return {.kind = Fill::Kind::kUniform, .type = type, .amplitude = amplitude, .seed = seed};
}

// Returns the filling for scales of blocks of fp8, in [0.5, 1.5).
Fill block_scale_fill(std::uint32_t seed) {
  return {.kind = Fill::Kind::kUniform,
          .type = DataType::kFloat32,
          .amplitude = 0.5F,
          .offset = 1.0F,
          .seed = seed};
}

// Returns the buffers in the order of GemmWork::Buffer.
std::vector<BufferSpec> buffers_of(const GemmSpec& spec) {
  const auto bytes = [&](std::int64_t rows, std::int64_t columns, std::int64_t element) {
    return static_cast<std::size_t>(spec.batch * rows * columns * element);
  };
  const std::int64_t element = bytes_of(spec.type);
  std::vector<BufferSpec> buffers = {
      {bytes(spec.n, spec.k, element), operand_fill(spec.type, 1), BufferRole::kWeight},
      {bytes(spec.m, spec.k, element), operand_fill(spec.type, 2)},
      {bytes(spec.m, spec.n, output_bytes_of(spec.type))},
  };
  if (spec.type == DataType::kFp8Block) {
    const std::int64_t weight_scales = WeightScales{spec.n, spec.k}.count();
    const std::int64_t input_scales = InputScales{spec.m, spec.k}.count();
    buffers.push_back({static_cast<std::size_t>(weight_scales) * sizeof(float), block_scale_fill(3),
                       BufferRole::kWeight});
    buffers.push_back(
        {static_cast<std::size_t>(input_scales) * sizeof(float), block_scale_fill(4)});
  }
  return buffers;
}

class GemmWork : public CudaWork {
 public:
  GemmWork(Gpu& gpu,
           model::L2State l2,
           const GemmSpec& spec,
           Buffers buffers,
           std::unique_ptr<LtProduct> product)
      : CudaWork(gpu, l2),
        spec_(spec),
        buffers_(std::move(buffers)),
        product_(std::move(product)) {}

  [[nodiscard]] std::string kernel_source() const override { return source_of(splits_); }

  // Tries Assay's kernel with all its numbers of splits, and launches the fastest from then on.
  core::Status choose_fastest() {
    if (!block_product_takes(spec_)) return {};
    std::vector<int> choices = block_product_splits(spec_);
    choices.insert(choices.begin(), kByLibrary);
    std::vector<Tried> tried;
    for (const int choice : choices) {
      splits_ = choice;
      tried.push_back({choice, ASSAY_TRY(time_choice())});
    }
    std::stable_sort(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) {
      return core::median(a.samples_ms) < core::median(b.samples_ms);
    });
    splits_ = tried.front().splits;
    const auto other = std::find_if(tried.begin(), tried.end(), [&](const Tried& one) {
      return source_of(one.splits) != kernel_source();
    });
    if (other != tried.end()) set_others({{source_of(other->splits), other->samples_ms}});
    return {};
  }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override { return buffers_.spoil(gpu(), kOutput); }

  core::Result<Accuracy> compare() override {
    const ProductCheck check{.rows = spec_.batch * spec_.m,
                             .n = spec_.n,
                             .k = spec_.k,
                             .batch = spec_.batch,
                             .type = spec_.type,
                             .arguments = arguments(0),
                             .algorithm = product_->algorithm()};
    ASSAY_TRY(cuda_status(compare_product(check, gpu().samples(), gpu().stream()), "checking"));
    return accuracy_of_samples(gpu(), samples_of(check.rows * check.n), check.n, "output");
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    if (splits_ == kByLibrary) return product_->enqueue(arguments(copy), gpu().stream());
    return cuda_status(block_product(spec_, arguments(copy), splits_, gpu().stream()),
                       "a product in blocks of fp8");
  }

 private:
  enum Buffer : std::size_t { kWeight, kInput, kOutput, kWeightScales, kInputScales };

  static constexpr int kByLibrary = 0;

  struct Tried {
    int splits = kByLibrary;
    std::vector<double> samples_ms;
  };

  static std::string source_of(int splits) {
    return splits == kByLibrary ? "cublaslt" : "assay_block_product";
  }

  core::Result<std::vector<double>> time_choice() {
    constexpr std::int64_t kTries = 5;
    constexpr std::int64_t kLaunches = 16;
    ASSAY_TRY(launch());
    const auto watch = ASSAY_TRY(stopwatch({.launches_per_sample = kLaunches}));
    std::vector<double> samples_ms = ASSAY_TRY(watch->sample(kTries));
    rewind();
    return samples_ms;
  }

  [[nodiscard]] ProductArguments arguments(std::int64_t copy) const {
    ProductArguments arguments{.input = buffers_.at(kInput, copy),
                               .weight = buffers_.at(kWeight, copy),
                               .output = buffers_.at(kOutput, copy)};
    if (spec_.type == DataType::kFp8Block) {
      arguments.input_scales = buffers_.at<float>(kInputScales, copy);
      arguments.weight_scales = buffers_.at<float>(kWeightScales, copy);
    }
    return arguments;
  }

  GemmSpec spec_;
  Buffers buffers_;
  std::unique_ptr<LtProduct> product_;
  int splits_ = kByLibrary;  // of Assay's kernel, or kByLibrary
};

}  // namespace

core::Result<MadeWork> make_gemm(Gpu& gpu, const GemmSpec& asked, model::L2State l2) {
  if (!lt_functions().ok()) return MadeWork(Unsupported{lt_functions().error().message});
  GemmSpec spec = asked;
  if (spec.type == DataType::kFp8Block) {
    if (spec.batch > 1) return MadeWork(Unsupported{"no batches with scales of blocks"});
    // A column of input scales has a multiple of 4 rows. The time stays the same, because tiles
    // have 64 rows or more.
    spec.m = round_up_to_4(spec.m);
  }
  Blas* blas = ASSAY_TRY(gpu.blas());
  LtProduct::Made made = ASSAY_TRY(LtProduct::make(*blas, spec));
  if (auto* unsupported = std::get_if<Unsupported>(&made)) return MadeWork(std::move(*unsupported));
  auto product = std::get<std::unique_ptr<LtProduct>>(std::move(made));
  Buffers buffers = ASSAY_TRY(Buffers::take(gpu, buffers_of(spec), l2));
  auto work = std::make_unique<GemmWork>(gpu, l2, spec, std::move(buffers), std::move(product));
  ASSAY_TRY(work->choose_fastest());
  return MadeWork(std::move(work));
}

}  // namespace assay::collect
