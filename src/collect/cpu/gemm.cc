#include <fmt/core.h>

#include <cmath>

#include "collect/cpu/cpu_device.h"
#include "collect/cpu/onednn.h"

namespace assay::collect {
namespace {

using dnnl::memory;

constexpr std::int64_t kGemmSamples = 256;

// GPU libraries write int8 products as int32; here they are float32, which oneDNN has everywhere.
DataType output_type(DataType input) {
  return input == DataType::kInt8 ? DataType::kFloat32 : input;
}

struct GemmBuffers {
  explicit GemmBuffers(const GemmSpec& spec)
      : input(spec.type, spec.batch * spec.m * spec.k),
        weight(spec.type, spec.batch * spec.n * spec.k),
        output(output_type(spec.type), spec.batch * spec.m * spec.n) {}

  HostTensor input;
  HostTensor weight;
  HostTensor output;
};

class Gemm final : public Work {
 public:
  Gemm(const GemmSpec& spec, Copies copies) : spec_(spec) {
    const memory::data_type type = *onednn::type_of(spec.type);
    const memory::desc input({spec.batch, spec.m, spec.k}, type, memory::format_tag::abc);
    const memory::desc weight({spec.batch, spec.k, spec.n}, type, memory::format_tag::acb);
    const memory::desc output({spec.batch, spec.m, spec.n},
                              *onednn::type_of(output_type(spec.type)), memory::format_tag::abc);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc plan(onednn::engine(), input, weight, output);
#else
    const dnnl::matmul::primitive_desc plan(dnnl::matmul::desc(input, weight, output),
                                            onednn::engine());
#endif
    for (Copies i = 0; i < copies; ++i) {
      GemmBuffers& buffers = *buffers_.emplace_back(std::make_unique<GemmBuffers>(spec));
      buffers.input.fill(2 * static_cast<std::uint64_t>(i));
      buffers.weight.fill(2 * static_cast<std::uint64_t>(i) + 1);
      steps_.push_back({dnnl::matmul(plan),
                        {{DNNL_ARG_SRC, onednn::wrap(buffers.input, input)},
                         {DNNL_ARG_WEIGHTS, onednn::wrap(buffers.weight, weight)},
                         {DNNL_ARG_DST, onednn::wrap(buffers.output, output)}}});
    }
  }

  core::Status launch() override {
    next_ = (next_ + 1) % steps_.size();
    return onednn::launched([&] { steps_[next_].run(); });
  }

  [[nodiscard]] std::string kernel_source() const override {
    return "onednn_matmul";
  }

  core::Result<Accuracy> check() override {
    ASSAY_TRY(launch());
    Accuracy accuracy;
    const GemmBuffers& buffers = *buffers_[next_];
    for (const std::int64_t place : sample_places(buffers.output.elements(), kGemmSamples))
      compare(buffers, place, accuracy);
    return accuracy;
  }

 private:
  // The deviation allowed is that of a sum of k products in float32 that is rounded once.
  void compare(const GemmBuffers& buffers, std::int64_t place, Accuracy& accuracy) const {
    const std::int64_t column = place % spec_.n;
    const std::int64_t row = place / spec_.n % spec_.m;
    const std::int64_t batch = place / spec_.n / spec_.m;
    double exact = 0;
    double magnitude = 0;
    for (std::int64_t i = 0; i < spec_.k; ++i) {
      const double product = buffers.input.at((batch * spec_.m + row) * spec_.k + i) *
                             buffers.weight.at((batch * spec_.n + column) * spec_.k + i);
      exact += product;
      magnitude += std::fabs(product);
    }
    const double allowed =
        static_cast<double>(spec_.k + 1) * rounding(DataType::kFloat32, magnitude) +
        rounding(buffers.output.type(), exact);
    const double off = std::fabs(buffers.output.at(place) - exact) / allowed;
    ++accuracy.compared;
    if (off <= accuracy.worst) return;
    accuracy.worst = off;
    accuracy.where = fmt::format("output[{}, {}, {}] is {}, should be {}", batch, row, column,
                                 buffers.output.at(place), exact);
  }

  GemmSpec spec_;
  std::vector<std::unique_ptr<GemmBuffers>> buffers_;
  std::vector<onednn::Step> steps_;
  std::size_t next_ = 0;
};

}  // namespace

core::Result<MadeWork> make_gemm(const GemmSpec& spec, Copies copies) {
  if (!onednn::type_of(spec.type)) {
    return MadeWork(
        Unsupported{fmt::format("oneDNN has no {} products on CPUs", name_of(spec.type))});
  }
  return onednn::made([&] { return std::make_unique<Gemm>(spec, copies); });
}

}  // namespace assay::collect
