// The kernels that the memory bandwidth limits. All of them are Assay's own.
#include <memory>
#include <utility>
#include <vector>

#include "collect/cuda/cuda_status.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/memory_kernels.h"
#include "collect/cuda/work.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kMostVectors = (std::int64_t{1} << 32U) - 1;
constexpr std::int64_t kMostRowVectors =
    std::int64_t{16} * 1024;  // RMSNorm keeps a row in registers

bool is_norm(MemorySpec::Kind kind) {
  return kind == MemorySpec::Kind::kRmsNorm || kind == MemorySpec::Kind::kAddRmsNorm;
}

// Returns the buffers in the order of MemoryWork::Buffer.
std::vector<BufferSpec> buffers_of(const MemorySpec& spec) {
  using Kind = MemorySpec::Kind;
  const std::int64_t element = bytes_of(spec.type);
  const std::int64_t bytes = spec.rows * spec.columns * element;
  const Fill numbers{.kind = Fill::Kind::kUniform, .type = spec.type, .seed = 1};
  const Fill others{.kind = Fill::Kind::kUniform, .type = spec.type, .seed = 2};
  BufferSpec input{static_cast<std::size_t>(bytes), numbers};
  BufferSpec other{0, others};
  BufferSpec indices{};
  BufferSpec output{static_cast<std::size_t>(bytes)};
  BufferSpec residual{0, others};
  BufferSpec sum{};
  if (is_norm(spec.kind)) {
    other.bytes = static_cast<std::size_t>(spec.columns * element);
    other.role = BufferRole::kWeight;
  }
  if (spec.kind == Kind::kAddRmsNorm) residual.bytes = sum.bytes = input.bytes;
  if (spec.kind == Kind::kAdd) other.bytes = input.bytes;
  if (spec.kind == Kind::kSiluMul) input.bytes *= 2;
  if (spec.kind == Kind::kRead)
    output.bytes = static_cast<std::size_t>(read_blocks(spec)) * sizeof(float);
  if (spec.kind == Kind::kEmbedding) {
    input.bytes = static_cast<std::size_t>(spec.vocabulary * spec.columns * element);
    input.role = BufferRole::kTable;
    indices = {static_cast<std::size_t>(spec.rows) * sizeof(std::int32_t),
               {.kind = Fill::Kind::kIndices,
                .limit = static_cast<std::int32_t>(spec.vocabulary),
                .seed = 3},
               BufferRole::kSelection,
               static_cast<std::size_t>(bytes)};
  }
  return {input, other, residual, indices, output, sum};
}

class MemoryWork : public CudaWork {
 public:
  MemoryWork(Gpu& gpu, model::L2State l2, const MemorySpec& spec, Buffers buffers)
      : CudaWork(gpu, l2), spec_(spec), buffers_(std::move(buffers)) {}

  [[nodiscard]] std::string kernel_source() const override { return "assay"; }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override {
    ASSAY_TRY(buffers_.spoil(gpu(), kSum));
    return buffers_.spoil(gpu(), kOutput);
  }

  core::Result<Accuracy> compare() override {
    ASSAY_TRY(cuda_status(compare_memory(spec_, arguments(0), gpu().samples(), gpu().stream()),
                          "checking"));
    return accuracy_of_samples(gpu(), memory_samples(spec_), spec_.columns, "output");
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    return cuda_status(run_memory_kernel(spec_, arguments(copy), gpu().stream()), "a kernel");
  }

 private:
  enum Buffer : std::size_t { kInput, kOther, kResidual, kIndices, kOutput, kSum };

  [[nodiscard]] MemoryArguments arguments(std::int64_t copy) const {
    return {.input = buffers_.at(kInput, copy),
            .other = buffers_.at(kOther, copy),
            .residual = buffers_.at(kResidual, copy),
            .indices = buffers_.at<std::int32_t>(kIndices, copy),
            .output = buffers_.at(kOutput, copy),
            .sum = buffers_.at(kSum, copy)};
  }

  MemorySpec spec_;
  Buffers buffers_;
};

std::string why_not(const MemorySpec& spec) {
  using Kind = MemorySpec::Kind;
  if (bytes_of(spec.type) < 2) return "memory kernels are of float32, float16 and bfloat16";
  const std::int64_t row_bytes = spec.columns * bytes_of(spec.type);
  const bool by_rows =
      is_norm(spec.kind) || spec.kind == Kind::kSiluMul || spec.kind == Kind::kEmbedding;
  if (by_rows && row_bytes % kVectorBytes != 0) return "rows must be of a multiple of 16 bytes";
  if (is_norm(spec.kind) && row_bytes > kMostRowVectors * kVectorBytes)
    return "rows are longer than 256 KiB";
  if (spec.rows * row_bytes / kVectorBytes > kMostVectors || spec.rows > INT32_MAX)
    return "more than 64 GiB";
  if (spec.kind == Kind::kEmbedding && (spec.vocabulary < 1 || spec.vocabulary > INT32_MAX))
    return "a table without rows";
  return "";
}

}  // namespace

core::Result<MadeWork> make_memory(Gpu& gpu, const MemorySpec& spec, model::L2State l2) {
  const std::string reason = why_not(spec);
  if (!reason.empty()) return MadeWork(Unsupported{reason});
  Buffers buffers = ASSAY_TRY(Buffers::take(gpu, buffers_of(spec), l2));
  return MadeWork(std::make_unique<MemoryWork>(gpu, l2, spec, std::move(buffers)));
}

}  // namespace assay::collect
