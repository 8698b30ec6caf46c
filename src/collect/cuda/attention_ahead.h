// Threads that compile the plans of attentions that will soon be measured. cuDNN needs hundreds of
// milliseconds of a core to compile a plan, and a few milliseconds to restore a compiled one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collect/cuda/attention_graph.h"
#include "collect/cuda/cudnn_plan.h"
#include "collect/kernels/kernels.h"

namespace assay::collect {

struct AttentionPlan {
  AttentionForm form = AttentionForm::kWhole;
  cudnn::Plan plan;
  AttentionTensors tensors;
};

// Returns std::nullopt if the attention does not have that form. Fails if cuDNN has no plan for it.
std::optional<core::Result<AttentionPlan>> plan_attention(const AttentionSpec& spec,
                                                          AttentionForm form,
                                                          const cudnn::Target& target,
                                                          std::int64_t most_workspace_bytes);

class AttentionPlansAhead {
 public:
  // The threads do not use a GPU. They compile for the device that the JSON describes.
  AttentionPlansAhead(std::string device_json, std::int64_t most_workspace_bytes, int threads);
  AttentionPlansAhead(const AttentionPlansAhead&) = delete;
  AttentionPlansAhead& operator=(const AttentionPlansAhead&) = delete;
  // Waits for compilations under way.
  ~AttentionPlansAhead();

  // Asks for a plan, unless an earlier call did.
  void expect(const AttentionSpec& spec);

  // Returns the plan, and waits if a thread is compiling it. Returns std::nullopt if nobody asked
  // for the plan, no thread has begun it, or there is none. The plan is kept for further calls.
  std::optional<AttentionPlan> take(const AttentionSpec& spec, const cudnn::Target& target);

 private:
  enum class State : std::uint8_t { kWaiting, kUnderWay, kDone };

  struct Entry {
    AttentionSpec spec;
    State state = State::kWaiting;
    AttentionForm form = AttentionForm::kWhole;
    std::string json = {};  // empty if there is no plan
  };

  void work();
  [[nodiscard]] Entry compiled(const AttentionSpec& spec, const cudnn::Descriptor& device) const;
  void drop_oldest();

  const std::string device_json_;
  const std::int64_t most_workspace_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::map<std::string, Entry> entries_;
  std::deque<std::string> waiting_;
  std::deque<std::string> done_;  // keys, the oldest first
  std::vector<std::thread> threads_;
};

}  // namespace assay::collect
