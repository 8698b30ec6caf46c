// Kernels that a work launches one after the other, each with buffers of its own but for inputs,
// which they share.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collect/cuda/compare.h"
#include "collect/cuda/makers.h"
#include "collect/cuda/work.h"

namespace assay::collect {
namespace {

class SequenceWork : public CudaWork {
 public:
  SequenceWork(Gpu& gpu,
               model::L2State l2,
               std::unique_ptr<SharedInputs> inputs,
               std::vector<std::unique_ptr<CudaWork>> works)
      : CudaWork(gpu, l2), inputs_(std::move(inputs)), works_(std::move(works)) {}

  // "cublaslt+assay_rms_norm": each kernel once, in the order of the first launches.
  [[nodiscard]] std::string kernel_source() const override {
    std::vector<std::string> sources;
    std::string joined;
    for (const auto& work : works_) {
      std::string source = work->kernel_source();
      if (std::find(sources.begin(), sources.end(), source) != sources.end()) continue;
      joined += (joined.empty() ? "" : "+") + source;
      sources.push_back(std::move(source));
    }
    return joined;
  }

  [[nodiscard]] std::vector<Work*> members() override {
    std::vector<Work*> members;
    for (const auto& work : works_)
      members.push_back(work.get());
    return members;
  }

  // Each kernel goes through its own copies, so that this is the number of the one that has most.
  [[nodiscard]] std::int64_t copies() const override {
    std::int64_t most = 1;
    for (const auto& work : works_)
      most = std::max(most, work->copies());
    return most;
  }

  core::Status spoil() override {
    for (const auto& work : works_)
      ASSAY_TRY(work->spoil());
    return {};
  }

  core::Result<Accuracy> compare() override {
    Accuracy all;
    for (const auto& work : works_) {
      Accuracy one = ASSAY_TRY(work->compare());
      one.where = work->kernel_source() + ": " + one.where;
      all = worse(all, one);
    }
    return all;
  }

 private:
  core::Status launch_copy(std::int64_t copy) override {
    for (const auto& work : works_)
      ASSAY_TRY(work->launch_with(copy % work->copies()));
    return {};
  }

  std::unique_ptr<SharedInputs> inputs_;  // must outlive the works
  std::vector<std::unique_ptr<CudaWork>> works_;
};

// Works that are made in its lifetime share inputs.
class Sharing {
 public:
  Sharing(Gpu& gpu, SharedInputs& inputs) : gpu_(gpu) { gpu_.share_inputs(&inputs); }

  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

  ~Sharing() { gpu_.share_inputs(nullptr); }

 private:
  Gpu& gpu_;
};

}  // namespace

core::Result<MadeWork> make_sequence(Gpu& gpu,
                                     const std::vector<KernelSpec>& specs,
                                     model::L2State l2,
                                     const MakeKernel& make) {
  auto inputs = std::make_unique<SharedInputs>();
  std::vector<std::unique_ptr<CudaWork>> works;
  const Sharing sharing(gpu, *inputs);
  for (const KernelSpec& spec : specs) {
    MadeWork made = ASSAY_TRY(make(spec));
    if (std::holds_alternative<Unsupported>(made)) return made;
    // The makers of this device make no other works.
    works.emplace_back(static_cast<CudaWork*>(std::get<std::unique_ptr<Work>>(made).release()));
  }
  return MadeWork(std::make_unique<SequenceWork>(gpu, l2, std::move(inputs), std::move(works)));
}

}  // namespace assay::collect
