// Attention by a plan of cuDNN.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "collect/cuda/attention_ahead.h"
#include "collect/cuda/attention_buffers.h"
#include "collect/cuda/attention_graph.h"
#include "collect/cuda/cuda_status.h"
#include "collect/cuda/cudnn_plan.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/work.h"
#include "collect/kernels/attention_layout.h"

namespace assay::collect {
namespace {

constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{4} << 30;

// The buffers besides the tensors that all attentions have.
enum More : std::size_t {
  kQueryLengths,
  kKvLengths,
  kOne,
  kWeightFactor,
  kWeightScale,
  kLargest,
  kFirstOfCache
};

// Each small buffer begins at a multiple of 16 bytes, the alignment that the graph declares.
constexpr std::size_t kSmallBytes = 16;

std::map<cudnn::TensorId, void*> memory_of(const AttentionTensors& tensors,
                                           const AttentionBuffers& buffers,
                                           std::int64_t copy) {
  std::map<cudnn::TensorId, void*> memory = {{tensors.query, buffers.query(copy)},
                                             {tensors.key, buffers.keys(copy)},
                                             {tensors.value, buffers.values(copy)},
                                             {tensors.output, buffers.output(copy)}};
  if (tensors.key_pages) {
    memory[*tensors.key_pages] = buffers.pages(copy);
    memory[*tensors.value_pages] = buffers.pages(copy);
    memory[*tensors.query_lengths] = buffers.more(kQueryLengths, copy);
    memory[*tensors.kv_lengths] = buffers.more(kKvLengths, copy);
  }
  if (tensors.fp8) {
    const Fp8Tensors& fp8 = *tensors.fp8;
    for (const cudnn::TensorId one :
         {fp8.descale_query, fp8.descale_key, fp8.descale_value, fp8.scale_output})
      memory[one] = buffers.more(kOne, copy);
    memory[fp8.scale_weights] = buffers.more(kWeightFactor, copy);
    memory[fp8.descale_weights] = buffers.more(kWeightScale, copy);
    auto* largest = static_cast<char*>(buffers.more(kLargest, copy));
    memory[fp8.largest_weight] = largest;
    memory[fp8.largest_output] = largest + kSmallBytes;
  }
  return memory;
}

core::Status write_lengths(Gpu& gpu, const AttentionSpec& spec, const AttentionBuffers& buffers) {
  const auto batch = static_cast<std::size_t>(spec.batch);
  const std::vector<std::int32_t> queries(batch, static_cast<std::int32_t>(spec.query_length));
  const std::vector<std::int32_t> keys(batch, static_cast<std::int32_t>(spec.kv_length));
  ASSAY_TRY(buffers.write_more(gpu, kQueryLengths, queries));
  return buffers.write_more(gpu, kKvLengths, keys);
}

core::Status write_scales(Gpu& gpu, const AttentionBuffers& buffers) {
  ASSAY_TRY(buffers.write_more(gpu, kOne, std::vector<float>{1}));
  ASSAY_TRY(buffers.write_more(gpu, kWeightFactor, std::vector<float>{kFp8WeightScale}));
  return buffers.write_more(gpu, kWeightScale, std::vector<float>{1 / kFp8WeightScale});
}

class CudnnAttention final : public CudaWork {
 public:
  CudnnAttention(Gpu& gpu, model::L2State l2, cudnnHandle_t handle, cudnn::Plan plan)
      : CudaWork(gpu, l2), handle_(handle), plan_(std::move(plan)) {}

  core::Status take_memory(const AttentionSpec& spec,
                           model::L2State l2,
                           const AttentionTensors& tensors) {
    const auto lengths = static_cast<std::size_t>(spec.batch) * sizeof(std::int32_t);
    std::vector<BufferSpec> more = {{lengths},     {lengths},     {kSmallBytes},
                                    {kSmallBytes}, {kSmallBytes}, {2 * kSmallBytes}};
    if (fills_cache(spec)) {
      const std::vector<BufferSpec> cache = CacheFill::buffers_of(spec);
      more.insert(more.end(), cache.begin(), cache.end());
      cache_fill_.emplace(spec, kFirstOfCache);
    }
    buffers_ = ASSAY_TRY(AttentionBuffers::take(gpu(), over_new_keys(spec), l2, more));
    if (tensors.kv_lengths) ASSAY_TRY(write_lengths(gpu(), spec, buffers_));
    if (tensors.fp8) ASSAY_TRY(write_scales(gpu(), buffers_));
    // Launches run one after the other, so all copies can use the same workspace.
    const auto workspace_bytes = static_cast<std::size_t>(plan_.workspace_bytes());
    workspace_ = ASSAY_TRY(gpu().arena().take(workspace_bytes));
    gpu().arena().note_written(workspace_.memory(), workspace_bytes);
    for (std::int64_t copy = 0; copy < buffers_.copies(); ++copy) {
      packs_.push_back(
          ASSAY_TRY(plan_.pack(memory_of(tensors, buffers_, copy), workspace_.memory())));
    }
    return {};
  }

  [[nodiscard]] std::string kernel_source() const override {
    const std::string sdpa = is_padded_ ? "cudnn_sdpa_padded" : "cudnn_sdpa";
    return cache_fill_ ? sdpa + "_assay_quantize" : sdpa;
  }

  void set_padded() { is_padded_ = true; }

  [[nodiscard]] std::int64_t copies() const override { return buffers_.copies(); }

  core::Status spoil() override {
    if (cache_fill_) ASSAY_TRY(cache_fill_->spoil(gpu(), buffers_));
    return buffers_.spoil_output(gpu());
  }

  core::Result<Accuracy> compare() override {
    const Accuracy output = ASSAY_TRY(buffers_.compare(gpu()));
    if (!cache_fill_) return output;
    return worse(output, ASSAY_TRY(cache_fill_->compare(gpu(), buffers_)));
  }

 protected:
  core::Status launch_copy(std::int64_t copy) override {
    ASSAY_TRY(plan_.launch(handle_, packs_[static_cast<std::size_t>(copy)]));
    return cache_fill_ ? cache_fill_->enqueue(gpu(), buffers_, copy) : core::Status{};
  }

 private:
  cudnnHandle_t handle_;
  cudnn::Plan plan_;
  bool is_padded_ = false;
  AttentionBuffers buffers_;
  std::optional<CacheFill> cache_fill_;
  ArenaSpace workspace_;
  std::vector<cudnn::Descriptor> packs_;
};

// Creating a handle takes longer than most cases, so each stream keeps one until the process ends.
core::Result<cudnnHandle_t> shared_handle(cudaStream_t stream) {
  static auto& handles = *new std::map<cudaStream_t, cudnn::Handle>();
  const auto known = handles.find(stream);
  if (known != handles.end()) return known->second.get();
  return handles.emplace(stream, ASSAY_TRY(cudnn::Handle::create(stream))).first->second.get();
}

// The reason does not name the shape, so that summaries can group equal reasons.
Unsupported no_plan(const core::Error& error) {
  return {fmt::format("cuDNN {} has no plan: {}", cudnn::version_text(), error.message)};
}

// Returns nullptr if nothing is compiled ahead, as with cuDNN before 9.8. The object is created at
// the first call, after the library was opened, so that it is destroyed before the library.
AttentionPlansAhead* plans_ahead(cudnnHandle_t handle) {
  static const std::unique_ptr<AttentionPlansAhead> shared = [&] {
    constexpr int kMostThreads = 16;
    // One core is left to the thread that measures, and one to `assay collect`.
    const auto others = static_cast<int>(std::thread::hardware_concurrency()) - 2;
    const auto device = cudnn::device_json(handle);
    // The variable lets developers measure the benefit.
    if (!device.ok() || std::getenv("ASSAY_NO_PLANS_AHEAD") != nullptr)
      return std::unique_ptr<AttentionPlansAhead>();
    return std::make_unique<AttentionPlansAhead>(device.value(), kMostWorkspaceBytes,
                                                 std::clamp(others, 1, kMostThreads));
  }();
  return shared.get();
}

core::Result<MadeWork> work_of(Gpu& gpu,
                               const AttentionSpec& spec,
                               model::L2State l2,
                               cudnnHandle_t handle,
                               AttentionPlan plan) {
  auto work = std::make_unique<CudnnAttention>(gpu, l2, handle, std::move(plan.plan));
  ASSAY_TRY(work->take_memory(spec, l2, plan.tensors));
  // cuDNN refuses some plans only when they are launched.
  const core::Status launched = work->launch();
  if (!launched.ok()) return MadeWork(no_plan(launched.error()));
  return MadeWork(std::move(work));
}

// Tiles of 128 queries of one head, of which the fp8 kernels for Hopper give one to each block.
std::int64_t fp8_tiles(const AttentionSpec& spec) {
  constexpr std::int64_t kTileQueries = 128;
  return spec.batch * spec.heads * ((spec.query_length + kTileQueries - 1) / kTileQueries);
}

// Returns why an attention's results are wrong, though cuDNN makes plans for it. NVIDIA's own front
// end refuses the first two kinds. The third was seen with cuDNN 9.14 on an H200, whose fp8 kernels
// then give a block several tiles in turn: launches of one plan over the same inputs differ in
// whole rows or halves of them, in 0.01 to 20 % of the elements, causal or not, whatever the layout
// and the workspace hold. None of 60 launches was wrong with at most as many tiles as
// multiprocessors. Some shapes with heads of 128 and up to twice as many tiles were right, too, and
// others were not.
std::optional<std::string> known_wrong(const AttentionSpec& spec, const cudaDeviceProp& gpu) {
  if (cudnn::version() == 91000 || cudnn::version() == 91001)
    return "cuDNN 9.10.0 and 9.10.1 compute attention wrongly: install a newer one";
  constexpr int kBlackwell = 10;
  if (spec.type != DataType::kFp8 || gpu.major >= kBlackwell) return std::nullopt;
  if (needs_mask(spec) && spec.query_length != spec.kv_length) {
    return "before Blackwell, cuDNN's fp8 attention is causal only where there are as many "
           "queries as keys";
  }
  if (fp8_tiles(spec) > gpu.multiProcessorCount) {
    return "before Blackwell, cuDNN's fp8 attention differs from launch to launch where there are "
           "more tiles of 128 queries than multiprocessors";
  }
  return std::nullopt;
}

}  // namespace

core::Result<MadeWork> make_cudnn_attention(Gpu& gpu,
                                            const AttentionSpec& spec,
                                            model::L2State l2) {
  if (!cudnn::functions().ok()) return MadeWork(Unsupported{cudnn::functions().error().message});
  if (auto reason = known_wrong(spec, gpu.properties())) return MadeWork(Unsupported{*reason});
  cudnnHandle_t handle = ASSAY_TRY(shared_handle(gpu.stream()));
  const cudnn::Target target{.handle = handle};
  const AttentionSpec planned = over_new_keys(spec);
  if (AttentionPlansAhead* ahead = plans_ahead(handle)) {
    if (auto plan = ahead->take(planned, target)) {
      MadeWork made = ASSAY_TRY(work_of(gpu, spec, l2, handle, std::move(*plan)));
      if (!std::holds_alternative<Unsupported>(made)) return made;
    }
  }
  MadeWork last(Unsupported{"cuDNN has no such attention"});
  for (const AttentionForm form : kAttentionForms) {
    auto plan = plan_attention(planned, form, target, kMostWorkspaceBytes);
    if (!plan) continue;
    if (plan->ok()) {
      last = ASSAY_TRY(work_of(gpu, spec, l2, handle, std::move(*plan).value()));
      if (!std::holds_alternative<Unsupported>(last)) return last;
    } else {
      last = no_plan(plan->error());
    }
  }
  return last;
}

core::Result<MadeWork> make_padded_cudnn_attention(Gpu& gpu,
                                                   const AttentionSpec& spec,
                                                   model::L2State l2) {
  const auto whole = in_whole_tiles(spec);
  if (!whole) return MadeWork(Unsupported{"this attention cannot be padded"});
  MadeWork made = ASSAY_TRY(make_cudnn_attention(gpu, *whole, l2));
  if (auto* work = std::get_if<std::unique_ptr<Work>>(&made))
    static_cast<CudnnAttention&>(**work).set_padded();
  return made;
}

void expect_attention(Gpu& gpu, const AttentionSpec& spec) {
  const bool reads_cache = spec.type != spec.kv_type && !fills_cache(spec);
  if (!cudnn_type(spec.type) || reads_cache || !cudnn::functions().ok()) return;
  if (known_wrong(spec, gpu.properties())) return;
  const auto handle = shared_handle(gpu.stream());
  if (!handle.ok()) return;
  if (AttentionPlansAhead* ahead = plans_ahead(handle.value())) {
    ahead->expect(over_new_keys(spec));
    if (const auto whole = in_whole_tiles(spec)) ahead->expect(over_new_keys(*whole));
  }
}

}  // namespace assay::collect
