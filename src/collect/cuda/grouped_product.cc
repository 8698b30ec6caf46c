#include "collect/cuda/grouped_product.h"

#include <numeric>
#include <utility>

#include "collect/cuda/cuda_status.h"
#include "collect/kernels/block_scales.h"

namespace assay::collect {

GroupedProduct::GroupedProduct(Gpu& gpu, GroupedShape shape, Grouping grouping)
    : gpu_(gpu), shape_(std::move(shape)), grouping_(grouping) {
  std::int64_t row = 0;
  for (std::size_t expert = 0; expert < shape_.rows.size(); ++expert) {
    if (shape_.rows[expert] > 0) {
      experts_.push_back(static_cast<std::int64_t>(expert));
      first_rows_.push_back(row);
      counts_.push_back(static_cast<int>(shape_.rows[expert]));
    }
    row += shape_.rows[expert];
  }
  const std::size_t active = experts_.size();
  transposed_.assign(active, CUBLAS_OP_T);
  plain_.assign(active, CUBLAS_OP_N);
  widths_.assign(active, static_cast<int>(shape_.n));
  lengths_.assign(active, static_cast<int>(shape_.k));
  sizes_.assign(active, 1);
  ones_.assign(active, 1.0F);
  zeros_.assign(active, 0.0F);
}

core::Result<std::optional<Unsupported>> GroupedProduct::make(
    Gpu& gpu, const GroupedShape& shape, Grouping grouping, std::unique_ptr<GroupedProduct>& made) {
  made.reset(new GroupedProduct(gpu, shape, grouping));
  if (grouping == Grouping::kPerExpert) return made->make_products();
  Blas* blas = ASSAY_TRY(gpu.blas());
  const auto handle = blas->cublas_handle();
  if (!handle.ok()) return std::optional(Unsupported{handle.error().message});
  return std::optional<Unsupported>();
}

core::Result<std::optional<Unsupported>> GroupedProduct::make_products() {
  Blas* blas = ASSAY_TRY(gpu_.blas());
  // An expert's matrices begin after the rows of the experts before it.
  const std::int64_t input_row_bytes = shape_.k * bytes_of(shape_.type);
  const std::int64_t output_row_bytes = shape_.n * output_bytes_of(shape_.type);
  const auto alignment =
      static_cast<std::uint32_t>(std::gcd(std::gcd(input_row_bytes, output_row_bytes), 256));
  for (const int rows : counts_) {
    if (products_.count(rows) > 0) continue;
    LtProduct::Made made = ASSAY_TRY(LtProduct::make(
        *blas, {.m = rows, .n = shape_.n, .k = shape_.k, .type = shape_.type}, alignment));
    if (auto* unsupported = std::get_if<Unsupported>(&made)) return std::optional(*unsupported);
    products_[rows] = std::get<std::unique_ptr<LtProduct>>(std::move(made));
  }
  return std::optional<Unsupported>();
}

std::size_t GroupedProduct::addresses_bytes() const {
  return grouping_ == Grouping::kGrouped ? 3 * experts_.size() * sizeof(void*) : 0;
}

ProductArguments GroupedProduct::of_expert(const ProductArguments& all, std::size_t active) const {
  const std::int64_t element = bytes_of(shape_.type);
  const auto* input = static_cast<const char*>(all.input);
  const auto* weight = static_cast<const char*>(all.weight);
  auto* output = static_cast<char*>(all.output);
  const std::int64_t row = first_rows_[active];
  const std::int64_t expert = experts_[active];
  ProductArguments one{.input = input + row * shape_.k * element,
                       .weight = weight + expert * shape_.n * shape_.k * element,
                       .output = output + row * shape_.n * output_bytes_of(shape_.type)};
  if (shape_.type == DataType::kFp8Block) {
    one.input_scales =
        all.input_scales + ExpertScales{row, row + counts_[active], shape_.k}.first();
    one.weight_scales = all.weight_scales + expert * WeightScales{shape_.n, shape_.k}.count();
  }
  return one;
}

core::Status GroupedProduct::set_addresses(const ProductArguments& arguments,
                                           void* addresses) const {
  if (grouping_ != Grouping::kGrouped) return {};
  const std::size_t active = experts_.size();
  std::vector<const void*> all(3 * active);
  for (std::size_t i = 0; i < active; ++i) {
    const ProductArguments one = of_expert(arguments, i);
    all[i] = one.weight;
    all[active + i] = one.input;
    all[2 * active + i] = one.output;
  }
  ASSAY_TRY(cuda_status(cudaMemcpyAsync(addresses, all.data(), addresses_bytes(),
                                        cudaMemcpyHostToDevice, gpu_.stream()),
                        "writing addresses"));
  return gpu_.wait();
}

core::Status GroupedProduct::enqueue_grouped(const void* addresses) const {
  Blas* blas = ASSAY_TRY(gpu_.blas());
  const cublasHandle_t handle = ASSAY_TRY(blas->cublas_handle());
  const std::size_t active = experts_.size();
  const auto* weights = static_cast<const void* const*>(addresses);
  const void* const* inputs = weights + active;
  auto* const* outputs = static_cast<void* const*>(addresses) + 2 * active;
  const cudaDataType_t type = shape_.type == DataType::kFloat16 ? CUDA_R_16F : CUDA_R_16BF;
  // cuBLAS is column-major, so its first matrix is the transposed weight.
  return lt_status(cublas_functions().value().grouped(
                       handle, transposed_.data(), plain_.data(), widths_.data(), counts_.data(),
                       lengths_.data(), ones_.data(), weights, type, lengths_.data(), inputs, type,
                       lengths_.data(), zeros_.data(), outputs, type, widths_.data(),
                       static_cast<int>(active), sizes_.data(), CUBLAS_COMPUTE_32F),
                   "grouped products by cuBLAS");
}

core::Status GroupedProduct::enqueue(const ProductArguments& arguments,
                                     const void* addresses) const {
  if (grouping_ == Grouping::kGrouped) return enqueue_grouped(addresses);
  for (std::size_t i = 0; i < experts_.size(); ++i)
    ASSAY_TRY(products_.at(counts_[i])->enqueue(of_expert(arguments, i), gpu_.stream()));
  return {};
}

}  // namespace assay::collect
