#include <algorithm>
#include <array>
#include <utility>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/grouped_product.h"
#include "collect/cuda/moe_check.h"
#include "collect/cuda/moe_products.h"
#include "collect/cuda/product_reference.h"

namespace assay::collect {
namespace {

// cuBLAS does not report how it adds the parts of a sum. The bound assumes two parts.
constexpr LtAlgorithm kAssumedAlgorithm = {
    .reduction_scheme = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, .split_k = 2};

Grouping grouping_of(CublasGrouping grouping) {
  return grouping == CublasGrouping::kGrouped ? Grouping::kGrouped : Grouping::kPerExpert;
}

class CublasMoeProducts : public MoeProducts {
 public:
  CublasMoeProducts(Gpu& gpu, CublasGrouping grouping) : gpu_(gpu), grouping_(grouping) {}

  // Returns why the products are not supported, if they are not.
  core::Result<std::optional<Unsupported>> make(const MoeShape& shape) {
    const MoeSpec& spec = shape.spec;
    auto refused = ASSAY_TRY(
        GroupedProduct::make(gpu_, {shape.rows, 2 * shape.intermediate, spec.hidden, spec.type},
                             grouping_of(grouping_), up_));
    if (refused) return refused;
    return GroupedProduct::make(gpu_, {shape.rows, spec.hidden, shape.intermediate, spec.type},
                                grouping_of(grouping_), down_);
  }

  [[nodiscard]] std::string kernel_source() const override {
    return grouping_ == CublasGrouping::kGrouped ? "cublas_grouped" : "cublaslt_per_expert";
  }

  [[nodiscard]] std::size_t addresses_bytes() const override { return up_->addresses_bytes(); }

  core::Status prepare(const MoeMemory& memory) override {
    for (std::int64_t copy = 0; copy < memory.buffers.copies(); ++copy) {
      ASSAY_TRY(up_->set_addresses(memory.up(copy), memory.at(MoeBuffer::kUpAddresses, copy)));
      ASSAY_TRY(
          down_->set_addresses(memory.down(copy), memory.at(MoeBuffer::kDownAddresses, copy)));
    }
    return {};
  }

  core::Status enqueue_up(const MoeMemory& memory, std::int64_t copy) override {
    ASSAY_TRY(up_->enqueue(memory.up(copy), memory.at(MoeBuffer::kUpAddresses, copy)));
    return cuda_status(activate(memory.arguments_of(copy), gpu_.stream()), "the activation");
  }

  core::Status enqueue_down(const MoeMemory& memory, std::int64_t copy) override {
    return down_->enqueue(memory.down(copy), memory.at(MoeBuffer::kDownAddresses, copy));
  }

  core::Result<Accuracy> compare_up(const MoeMemory& memory) override {
    const MoeShape& shape = memory.shape;
    const MoeArguments arguments = memory.arguments_of(0);
    const ProductCheck check{.rows = shape.pairs,
                             .n = 2 * shape.intermediate,
                             .k = shape.spec.hidden,
                             .batch = shape.local_experts,
                             .type = shape.spec.type,
                             .arguments = memory.up(0),
                             .row_offsets = arguments.offsets,
                             .row_counts = arguments.counts,
                             .algorithm = kAssumedAlgorithm};
    ASSAY_TRY(cuda_status(compare_product(check, gpu_.samples(), gpu_.stream()), "checking"));
    Accuracy all = ASSAY_TRY(
        accuracy_of_samples(gpu_, samples_of(check.rows * check.n), check.n, "expert's product"));
    all = worse(all, ASSAY_TRY(check_stage(gpu_, arguments, MoeStage::kActivate)));
    if (shape.spec.type != DataType::kFp8Block) return all;
    return worse(all, ASSAY_TRY(check_stage(gpu_, arguments, MoeStage::kActivateScales)));
  }

  core::Result<Accuracy> compare_down(const MoeMemory& memory) override {
    return compare_down_product(gpu_, memory, kAssumedAlgorithm);
  }

 private:
  Gpu& gpu_;
  CublasGrouping grouping_;
  std::unique_ptr<GroupedProduct> up_;
  std::unique_ptr<GroupedProduct> down_;
};

}  // namespace

core::Result<MadeProducts> make_cublas_products(Gpu& gpu,
                                                const MoeShape& shape,
                                                CublasGrouping grouping) {
  if (!lt_functions().ok()) return MadeProducts{nullptr, lt_functions().error().message};
  if (shape.spec.type == DataType::kMxfp4)
    return MadeProducts{nullptr, "cuBLAS has no products of bfloat16 and mxfp4"};
  if (grouping == CublasGrouping::kGrouped && bytes_of(shape.spec.type) == 1)
    return MadeProducts{nullptr, "cuBLAS has no grouped products of fp8"};
  auto products = std::make_unique<CublasMoeProducts>(gpu, grouping);
  const std::optional<Unsupported> refused = ASSAY_TRY(products->make(shape));
  if (refused) return MadeProducts{nullptr, refused->reason};
  return MadeProducts{std::move(products), ""};
}

}  // namespace assay::collect
