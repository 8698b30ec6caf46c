#include "collect/cuda/attention_ahead.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace assay::collect {
namespace {

// A plan takes about 100 KB.
constexpr std::size_t kMostKept = 512;

std::string key_of(const AttentionSpec& spec) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", spec.batch, spec.query_length,
                     spec.kv_length, spec.heads, spec.kv_heads, spec.head_dim, spec.value_dim,
                     spec.window, spec.causal, spec.values_in_keys, spec.page_size,
                     static_cast<int>(spec.type), static_cast<int>(spec.kv_type));
}

}  // namespace

std::optional<core::Result<AttentionPlan>> plan_attention(const AttentionSpec& spec,
                                                          AttentionForm form,
                                                          const cudnn::Target& target,
                                                          std::int64_t most_workspace_bytes) {
  auto graph = attention_graph(form, spec, cudnn::version());
  if (!graph) return std::nullopt;
  auto plan = cudnn::Plan::create(std::move(graph->graph), target, most_workspace_bytes);
  if (!plan.ok()) return plan.error();
  return AttentionPlan{form, std::move(plan).value(), graph->tensors};
}

AttentionPlansAhead::AttentionPlansAhead(std::string device_json,
                                         std::int64_t most_workspace_bytes,
                                         int threads)
    : device_json_(std::move(device_json)), most_workspace_bytes_(most_workspace_bytes) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this] { work(); });
}

AttentionPlansAhead::~AttentionPlansAhead() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void AttentionPlansAhead::expect(const AttentionSpec& spec) {
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(spec);
  if (!entries_.emplace(key, Entry{.spec = spec}).second) return;
  waiting_.push_back(key);
  changed_.notify_all();
}

std::optional<AttentionPlan> AttentionPlansAhead::take(const AttentionSpec& spec,
                                                       const cudnn::Target& target) {
  std::unique_lock lock(mutex_);
  const auto found = entries_.find(key_of(spec));
  if (found == entries_.end()) return std::nullopt;
  if (found->second.state == State::kWaiting) {
    // The caller makes the plan sooner than the threads, which would make all earlier ones first.
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), found->first));
    entries_.erase(found);
    return std::nullopt;
  }
  changed_.wait(lock, [&] { return found->second.state == State::kDone; });
  const Entry entry = found->second;
  lock.unlock();
  if (entry.json.empty()) return std::nullopt;
  auto graph = attention_graph(entry.form, spec, cudnn::version());
  if (!graph) return std::nullopt;
  auto plan = cudnn::Plan::restore(std::move(graph->graph), target, entry.json);
  if (!plan.ok()) return std::nullopt;
  return AttentionPlan{entry.form, std::move(plan).value(), graph->tensors};
}

void AttentionPlansAhead::work() {
  // These threads run with lower priority than those that measure, including those of other GPUs'
  // workers.
  constexpr int kNice = 10;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  const auto device = cudnn::device_description(device_json_);
  if (!device.ok()) return;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    const std::string key = waiting_.front();
    waiting_.pop_front();
    Entry& begun = entries_.at(key);
    begun.state = State::kUnderWay;
    const AttentionSpec spec = begun.spec;
    lock.unlock();
    Entry made = compiled(spec, device.value());
    lock.lock();
    entries_.at(key) = std::move(made);
    done_.push_back(key);
    drop_oldest();
    changed_.notify_all();
  }
}

AttentionPlansAhead::Entry AttentionPlansAhead::compiled(const AttentionSpec& spec,
                                                         const cudnn::Descriptor& device) const {
  Entry entry{.spec = spec, .state = State::kDone};
  for (const AttentionForm form : kAttentionForms) {
    const auto made = plan_attention(spec, form, {.device = &device}, most_workspace_bytes_);
    if (!made || !made->ok()) continue;
    core::Result<std::string> json = made->value().plan.json();
    if (!json.ok()) continue;
    entry.form = form;
    entry.json = std::move(json).value();
    break;
  }
  return entry;
}

void AttentionPlansAhead::drop_oldest() {
  while (done_.size() > kMostKept) {
    entries_.erase(done_.front());
    done_.pop_front();
  }
}

}  // namespace assay::collect
