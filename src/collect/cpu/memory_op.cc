#include <fmt/core.h>

#include <cmath>

#include "collect/cpu/cpu_device.h"
#include "collect/cpu/onednn.h"

namespace assay::collect {
namespace {

using dnnl::memory;
using MemoryKind = MemorySpec::Kind;

constexpr std::int64_t kMemoryOpSamples = 256;

struct MemoryOpBuffers {
  explicit MemoryOpBuffers(const MemorySpec& spec)
      : first(spec.type, spec.rows * spec.columns),
        second(spec.type, spec.kind == MemoryKind::kAdd ? spec.rows * spec.columns : 0),
        output(spec.type, spec.rows * spec.columns) {}

  HostTensor first;
  HostTensor second;
  HostTensor output;
};

class MemoryOp final : public Work {
 public:
  MemoryOp(const MemorySpec& spec, Copies copies) : spec_(spec) {
    const memory::desc shape({spec.rows, spec.columns}, *onednn::type_of(spec.type),
                             memory::format_tag::ab);
    for (Copies i = 0; i < copies; ++i) {
      MemoryOpBuffers& buffers = *buffers_.emplace_back(std::make_unique<MemoryOpBuffers>(spec));
      buffers.first.fill(2 * static_cast<std::uint64_t>(i));
      buffers.second.fill(2 * static_cast<std::uint64_t>(i) + 1);
      steps_.push_back(spec.kind == MemoryKind::kAdd ? add(buffers, shape) : copy(buffers, shape));
    }
  }

  core::Status launch() override {
    next_ = (next_ + 1) % steps_.size();
    return onednn::launched([&] { steps_[next_].run(); });
  }

  [[nodiscard]] std::string kernel_source() const override {
    return spec_.kind == MemoryKind::kAdd ? "onednn_binary" : "onednn_reorder";
  }

  core::Result<Accuracy> check() override {
    ASSAY_TRY(launch());
    Accuracy accuracy;
    const MemoryOpBuffers& buffers = *buffers_[next_];
    for (const std::int64_t place : sample_places(buffers.output.elements(), kMemoryOpSamples)) {
      const double exact =
          buffers.first.at(place) + (spec_.kind == MemoryKind::kAdd ? buffers.second.at(place) : 0);
      const double found = buffers.output.at(place);
      const double off = std::fabs(found - exact) / (2 * rounding(spec_.type, exact));
      ++accuracy.compared;
      if (off <= accuracy.worst) continue;
      accuracy.worst = off;
      accuracy.where = fmt::format("output[{}] is {}, should be {}", place, found, exact);
    }
    return accuracy;
  }

 private:
  static onednn::Step add(MemoryOpBuffers& buffers, const memory::desc& shape) {
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::binary::primitive_desc plan(onednn::engine(), dnnl::algorithm::binary_add, shape,
                                            shape, shape);
#else
    const dnnl::binary::primitive_desc plan(
        dnnl::binary::desc(dnnl::algorithm::binary_add, shape, shape, shape), onednn::engine());
#endif
    return {dnnl::binary(plan),
            {{DNNL_ARG_SRC_0, onednn::wrap(buffers.first, shape)},
             {DNNL_ARG_SRC_1, onednn::wrap(buffers.second, shape)},
             {DNNL_ARG_DST, onednn::wrap(buffers.output, shape)}}};
  }

  static onednn::Step copy(MemoryOpBuffers& buffers, const memory::desc& shape) {
    const memory from = onednn::wrap(buffers.first, shape);
    const memory to = onednn::wrap(buffers.output, shape);
    return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
  }

  MemorySpec spec_;
  std::vector<std::unique_ptr<MemoryOpBuffers>> buffers_;
  std::vector<onednn::Step> steps_;
  std::size_t next_ = 0;
};

}  // namespace

core::Result<MadeWork> make_memory_op(const MemorySpec& spec, Copies copies) {
  if (spec.kind != MemoryKind::kAdd && spec.kind != MemoryKind::kCopy) {
    return MadeWork(Unsupported{"oneDNN has no such kernel"});
  }
  if (!onednn::type_of(spec.type)) {
    return MadeWork(Unsupported{fmt::format("{} is not for CPUs", name_of(spec.type))});
  }
  return onednn::made([&] { return std::make_unique<MemoryOp>(spec, copies); });
}

}  // namespace assay::collect
