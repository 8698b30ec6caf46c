#include <utility>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/moe_grouped.h"
#include "collect/cuda/moe_products.h"
#include "collect/cuda/moe_reference.h"

namespace assay::collect {
namespace {

// The kernel's instructions are those of this architecture alone.
constexpr int kHopper = 9;

class GroupedMoeProducts : public MoeProducts {
 public:
  GroupedMoeProducts(Gpu& gpu, const MoeShape& shape, GroupedSum sum)
      : gpu_(gpu), gathers_(gathers_tokens(shape)), adds_(sum == GroupedSum::kWithin) {}

  [[nodiscard]] std::string kernel_source() const override {
    return adds_ ? "assay_grouped_sum" : "assay_grouped";
  }

  [[nodiscard]] MoeArguments arguments_of(const MoeMemory& memory,
                                          std::int64_t copy) const override {
    MoeArguments arguments = memory.arguments_of(copy);
    if (gathers_) arguments.sources = memory.at<std::int32_t>(MoeBuffer::kSources, copy);
    if (adds_) arguments.row_shares = memory.at<RowShare>(MoeBuffer::kRowShares, copy);
    return arguments;
  }

  core::Status prepare(const MoeMemory& memory) override {
    for (std::int64_t copy = 0; copy < memory.buffers.copies(); ++copy) {
      up_.push_back(ASSAY_TRY(described_up(memory, copy)));
      down_.push_back(ASSAY_TRY(described_down(memory, copy)));
    }
    return {};
  }

  core::Status enqueue_up(const MoeMemory& memory, std::int64_t copy) override {
    return enqueue(up_[static_cast<std::size_t>(copy)], memory, GroupedEpilogue::kActivate);
  }

  core::Status enqueue_down(const MoeMemory& memory, std::int64_t copy) override {
    return enqueue(down_[static_cast<std::size_t>(copy)], memory, epilogue_of_down());
  }

  core::Result<Accuracy> compare_up(const MoeMemory& memory) override {
    const Accuracy values =
        ASSAY_TRY(compare_stage_of_up(memory, MoeStage::kActivate, "activated"));
    if (memory.shape.spec.type != DataType::kFp8Block) return values;
    return worse(values, ASSAY_TRY(compare_stage_of_up(memory, MoeStage::kActivateScales,
                                                       "scale of activated")));
  }

  core::Result<Accuracy> compare_down(const MoeMemory& memory) override {
    const MoeShape& shape = memory.shape;
    if (adds_) return compare_added(memory);
    if (shape.spec.type != DataType::kMxfp4) return compare_down_product(gpu_, memory, {});
    ASSAY_TRY(cuda_status(
        compare_packed_down(arguments_of(memory, 0), memory.down(0), gpu_.samples(), gpu_.stream()),
        "checking"));
    return accuracy_of_samples(gpu_, samples_of(shape.pairs * shape.spec.hidden), shape.spec.hidden,
                               "expert's product");
  }

 private:
  [[nodiscard]] GroupedEpilogue epilogue_of_down() const {
    return adds_ ? GroupedEpilogue::kAdd : GroupedEpilogue::kStore;
  }

  // The operands of the first product, which reads the input itself if it needs no other type.
  [[nodiscard]] ProductArguments up_of(const MoeMemory& memory, std::int64_t copy) const {
    ProductArguments product = memory.up(copy);
    const MoeArguments arguments = arguments_of(memory, copy);
    if (gathers_ && arguments.product_type == arguments.type) product.input = arguments.input;
    return product;
  }

  core::Result<GroupedArguments> described_up(const MoeMemory& memory, std::int64_t copy) const {
    const MoeShape& shape = memory.shape;
    const ProductArguments product = up_of(memory, copy);
    GroupedArguments arguments =
        ASSAY_TRY(described({.type = shape.spec.type,
                             .epilogue = GroupedEpilogue::kActivate,
                             .experts = shape.local_experts,
                             .rows = gathers_ ? shape.spec.tokens : shape.local_rows,
                             .n = 2 * shape.intermediate,
                             .k = shape.spec.hidden,
                             .input = product.input,
                             .weight = product.weight,
                             .weight_scales = product.weight_scales},
                            product, memory, copy));
    arguments.begun = memory.at<std::int32_t>(MoeBuffer::kBegun, copy);
    arguments.output = memory.at(MoeBuffer::kActivated, copy);
    arguments.output_scales = memory.at<float>(MoeBuffer::kActivatedScales, copy);
    arguments.input = static_cast<const char*>(product.input);
    arguments.sources = arguments_of(memory, copy).sources;
    return arguments;
  }

  core::Result<GroupedArguments> described_down(const MoeMemory& memory, std::int64_t copy) const {
    const MoeShape& shape = memory.shape;
    const ProductArguments product = memory.down(copy);
    GroupedArguments arguments = ASSAY_TRY(described({.type = shape.spec.type,
                                                      .epilogue = epilogue_of_down(),
                                                      .experts = shape.local_experts,
                                                      .rows = shape.local_rows,
                                                      .n = shape.spec.hidden,
                                                      .k = shape.intermediate,
                                                      .input = product.input,
                                                      .weight = product.weight,
                                                      .weight_scales = product.weight_scales},
                                                     product, memory, copy));
    arguments.begun = memory.at<std::int32_t>(MoeBuffer::kBegun, copy) + 1;
    const MoeArguments mixture = arguments_of(memory, copy);
    arguments.output = adds_ ? mixture.output : product.output;
    arguments.row_shares = mixture.row_shares;
    return arguments;
  }

  static core::Result<GroupedArguments> described(const GroupedOperands& operands,
                                                  const ProductArguments& product,
                                                  const MoeMemory& memory,
                                                  std::int64_t copy) {
    GroupedArguments arguments{};
    ASSAY_TRY(cuda_status(describe(operands, arguments), "describing the experts' matrices"));
    arguments.input_scales = product.input_scales;
    arguments.tiles = memory.at<GroupedTile>(MoeBuffer::kTiles, copy);
    arguments.tile_count = memory.at<std::int32_t>(MoeBuffer::kTileCount, copy);
    return arguments;
  }

  core::Status enqueue(const GroupedArguments& arguments,
                       const MoeMemory& memory,
                       GroupedEpilogue epilogue) const {
    return cuda_status(enqueue_grouped(arguments, memory.shape.spec.type, epilogue,
                                       gpu_.properties().multiProcessorCount, gpu_.stream()),
                       "the experts' products");
  }

  // Compares the output itself, since nobody keeps the rows.
  core::Result<Accuracy> compare_added(const MoeMemory& memory) {
    const MoeArguments arguments = arguments_of(memory, 0);
    ASSAY_TRY(cuda_status(compare_added_rows(arguments, memory.down(0), memory.shape.spec.type,
                                             gpu_.samples(), gpu_.stream()),
                          "checking"));
    return accuracy_of_samples(gpu_, samples_of(stage_elements(arguments, MoeStage::kCombine)),
                               stage_columns(arguments, MoeStage::kCombine), "output");
  }

  core::Result<Accuracy> compare_stage_of_up(const MoeMemory& memory,
                                             MoeStage stage,
                                             const char* name) const {
    const MoeArguments arguments = arguments_of(memory, 0);
    ASSAY_TRY(cuda_status(compare_activation(arguments, up_of(memory, 0), memory.shape.spec.type,
                                             stage, gpu_.samples(), gpu_.stream()),
                          "checking"));
    return accuracy_of_samples(gpu_, activation_samples_of(arguments, stage),
                               stage_columns(arguments, stage), name);
  }

  Gpu& gpu_;
  bool gathers_;
  bool adds_;
  // One for each copy of the memory.
  std::vector<GroupedArguments> up_;
  std::vector<GroupedArguments> down_;
};

}  // namespace

core::Result<MadeProducts> make_grouped_products(Gpu& gpu, const MoeShape& shape, GroupedSum sum) {
  if (gpu.properties().major != kHopper)
    return MadeProducts{nullptr, "assay's grouped product is for compute capability 9.0"};
  const DataType type = shape.spec.type;
  if (type == DataType::kFloat16)
    return MadeProducts{nullptr, "assay's grouped product is not for float16"};
  return MadeProducts{std::make_unique<GroupedMoeProducts>(gpu, shape, sum), ""};
}

}  // namespace assay::collect
