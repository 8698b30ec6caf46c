// Plans of attentions that are measured soon, made by threads of their own: compiling one takes
// cuDNN hundreds of milliseconds of a core, taking it over some milliseconds.
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

// Nothing where the attention has not that form. Error: cuDNN has no plan for it.
std::optional<core::Result<AttentionPlan>> plan_attention(const AttentionSpec& spec,
                                                          AttentionForm form,
                                                          const cudnn::Target& target,
                                                          std::int64_t most_workspace_bytes);

class AttentionPlansAhead {
 public:
  // Threads touch no GPU: they compile for the device that the JSON describes.
  AttentionPlansAhead(std::string device_json, std::int64_t most_workspace_bytes, int threads);
  AttentionPlansAhead(const AttentionPlansAhead&) = delete;
  AttentionPlansAhead& operator=(const AttentionPlansAhead&) = delete;
  // Waits for what is being compiled.
  ~AttentionPlansAhead();

  // Has it compiled soon, unless that was asked before.
  void expect(const AttentionSpec& spec);

  // Waits where a thread is at it. Nothing: nobody asked for it, no thread has begun it, or there
  // is no plan. Stays known: a shape that comes again is not compiled again.
  std::optional<AttentionPlan> take(const AttentionSpec& spec, const cudnn::Target& target);

 private:
  enum class State : std::uint8_t { kWaiting, kUnderWay, kDone };

  struct Entry {
    AttentionSpec spec;
    State state = State::kWaiting;
    AttentionForm form = AttentionForm::kWhole;
    std::string json = {};  // empty: there is no plan
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
  std::deque<std::string> done_;  // oldest first
  std::vector<std::thread> threads_;
};

}  // namespace assay::collect
