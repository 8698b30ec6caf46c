// Attention as two products of cuBLASLt with Assay's softmax between them. One product serves all
// heads that share a head of keys. It is for shapes that cuDNN refuses, mainly MLA's latent cache.
#include <fmt/core.h>

#include <array>
#include <memory>
#include <utility>

#include "collect/cuda/attention_buffers.h"
#include "collect/cuda/attention_kernels.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/lt_product.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/work.h"

namespace assay::collect {
namespace {

// The limit for the float32 scores and the weights of all copies together.
constexpr std::int64_t kMostScoreBytes = std::int64_t{16} << 30;

// Tensor cores read rows of weights in units of 16 bytes.
constexpr std::int64_t kPitchStep = 8;

struct ComposedShape {
  explicit ComposedShape(const AttentionSpec& spec)
      : rows(spec.query_length * spec.heads),
        pitch((spec.kv_length + kPitchStep - 1) / kPitchStep * kPitchStep),
        scores(spec.batch * rows * pitch) {}

  std::int64_t rows;    // queries times heads, of one sequence
  std::int64_t pitch;   // elements from row to row of the scores
  std::int64_t scores;  // number of scores
};

cudaDataType_t lt_type(DataType type) {
  return type == DataType::kFloat16 ? CUDA_R_16F : CUDA_R_16BF;
}

StridedProductSpec score_product(const AttentionSpec& spec) {
  const ComposedShape shape(spec);
  const cudaDataType_t type = lt_type(spec.type);
  return {
      .orientation = StridedProductSpec::Right::kTransposed,
      .left = {type, shape.rows, spec.head_dim, spec.head_dim, shape.rows * spec.head_dim},
      .right = {type, spec.kv_length, spec.head_dim, spec.head_dim, spec.kv_length * spec.head_dim},
      .output = {CUDA_R_32F, shape.rows, spec.kv_length, shape.pitch, shape.rows * shape.pitch},
      .batch = spec.batch};
}

StridedProductSpec value_product(const AttentionSpec& spec) {
  const ComposedShape shape(spec);
  const cudaDataType_t type = lt_type(spec.type);
  const std::int64_t value_pitch = spec.values_in_keys ? spec.head_dim : spec.value_dim;
  return {
      .orientation = StridedProductSpec::Right::kAsIs,
      .left = {type, shape.rows, spec.kv_length, shape.pitch, shape.rows * shape.pitch},
      .right = {type, spec.kv_length, spec.value_dim, value_pitch, spec.kv_length * value_pitch},
      .output = {type, shape.rows, spec.value_dim, spec.value_dim, shape.rows * spec.value_dim},
      .batch = spec.batch};
}

std::optional<std::string> why_not_composed(const AttentionSpec& spec) {
  const std::string what = "a composition of products cannot take ";
  if (spec.type == DataType::kFp8) return what + "fp8: cuBLASLt cannot read values by columns";
  if (spec.kv_heads != 1) return what + "several heads of keys";
  if (spec.page_size > 0) return what + "a cache of pages";
  const std::int64_t bytes = ComposedShape(spec).scores * (4 + bytes_of(spec.type));
  if (bytes > kMostScoreBytes)
    return what + fmt::format("more than {} GiB of scores", kMostScoreBytes >> 30);
  return std::nullopt;
}

class ComposedAttention final : public CudaWork {
 public:
  using Products = std::array<std::unique_ptr<StridedProduct>, 2>;

  ComposedAttention(Gpu& gpu, model::L2State l2, const AttentionSpec& spec, Products products)
      : CudaWork(gpu, l2), spec_(spec), shape_(spec), products_(std::move(products)) {}

  core::Status take_memory(model::L2State l2) {
    buffers_ = ASSAY_TRY(AttentionBuffers::take(gpu(), spec_, l2, {}));
    // Launches run one after the other, and only their kernels use this memory, so all copies can
    // share it.
    scores_ = ASSAY_TRY(take(shape_.scores * 4));
    weights_ = ASSAY_TRY(take(shape_.scores * bytes_of(spec_.type)));
    return {};
  }

  [[nodiscard]] std::string kernel_source() const override { return "cublaslt_softmax_cublaslt"; }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override { return buffers_.spoil_output(gpu()); }

  core::Result<Accuracy> compare() override { return buffers_.compare(gpu()); }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    cudaStream_t stream = gpu().stream();
    ASSAY_TRY(
        products_[0]->enqueue(buffers_.query(copy), buffers_.keys(copy), scores_.memory(), stream));
    const SoftmaxArguments softmax{.spec = spec_,
                                   .scores = reinterpret_cast<const float*>(scores_.memory()),
                                   .weights = weights_.memory(),
                                   .pitch = shape_.pitch};
    ASSAY_TRY(cuda_status(attention_softmax(softmax, stream), "launching a softmax"));
    return products_[1]->enqueue(weights_.memory(), buffers_.values(copy), buffers_.output(copy),
                                 stream);
  }

 private:
  core::Result<ArenaSpace> take(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    ArenaSpace space = ASSAY_TRY(gpu().arena().take(size));
    gpu().arena().note_written(space.memory(), size);
    return space;
  }

  AttentionSpec spec_;
  ComposedShape shape_;
  Products products_;
  AttentionBuffers buffers_;
  ArenaSpace scores_;
  ArenaSpace weights_;
};

}  // namespace

core::Result<MadeWork> make_composed_attention(Gpu& gpu,
                                               const AttentionSpec& spec,
                                               model::L2State l2) {
  if (!lt_functions().ok()) return MadeWork(Unsupported{lt_functions().error().message});
  if (auto reason = why_not_composed(spec)) return MadeWork(Unsupported{*reason});
  Blas* blas = ASSAY_TRY(gpu.blas());
  ComposedAttention::Products products;
  const std::array<StridedProductSpec, 2> specs = {score_product(spec), value_product(spec)};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    StridedProduct::Made made = ASSAY_TRY(StridedProduct::make(*blas, specs[i]));
    if (auto* refused = std::get_if<Unsupported>(&made))
      return MadeWork(Unsupported{refused->reason});
    products[i] = std::get<std::unique_ptr<StridedProduct>>(std::move(made));
  }
  auto work = std::make_unique<ComposedAttention>(gpu, l2, spec, std::move(products));
  ASSAY_TRY(work->take_memory(l2));
  return MadeWork(std::move(work));
}

}  // namespace assay::collect
