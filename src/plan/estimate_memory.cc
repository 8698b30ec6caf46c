#include "plan/estimate_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace assay::plan {
namespace {

constexpr std::int64_t kMostNodes = 8;  // of a worker that is proposed

ClosedLoop loop_of(const ServedWorker& served, const HeldLoad& load) {
  return {.concurrency = load.batch * served.batches(),
          .prompt_tokens = load.prompt_tokens,
          .output_tokens = load.output_tokens,
          .prefix_tokens = load.prefix_tokens};
}

// One request of these lengths.
ClosedLoop loop_of_one(const ServedWorker& served, HeldLoad load) {
  load.batch = 1;
  return loop_of(served, load);
}

// A worker of an engine, as it is served for one request.
ServedWorker least_served(const serving::Model& model,
                          const ServedWorker& served,
                          const Worker& worker,
                          const MemoryOfGpus& memory) {
  ServedWorker made = served;
  made.deployment = deployment_of(model, worker, served.deployment.precision,
                                  served.deployment.speculative_tokens);
  made.groups = worker.dp;
  made.pp = worker.pp;
  made.memory = memory(worker.gpus());
  made.max_batch = 1;
  made.layers = nullptr;
  return made;
}

std::optional<Worker> least_worker(const serving::Model& model,
                                   const ServedWorker& served,
                                   const HeldLoad& load,
                                   const MemoryOfGpus& memory,
                                   std::int64_t gpus_per_node) {
  const std::vector<Worker> within =
      workers_of(model, served.engine, served.deployment.precision, gpus_per_node).possible;
  std::vector<Worker> all = within;
  const std::vector<Worker> staged =
      staged_workers_of(model, within, kMostNodes, kMostNodes * gpus_per_node).possible;
  all.insert(all.end(), staged.begin(), staged.end());
  std::stable_sort(all.begin(), all.end(), [](const Worker& a, const Worker& b) {
    return std::pair(a.gpus(), a.pp) < std::pair(b.gpus(), b.pp);
  });
  const auto holds = [&](const Worker& worker) {
    const ServedWorker one = least_served(model, served, worker, memory);
    return limits_of(model, one, loop_of_one(one, load)).ok();
  };
  const auto found = std::find_if(all.begin(), all.end(), holds);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

// Error: activations and logits of so many requests leave no room for one.
core::Status check_batch(const serving::Model& model,
                         const ServedWorker& served,
                         const HeldLoad& load) {
  const ClosedLoop loop = loop_of(served, load);
  if (held_requests(memory_of_worker(model, served, loop), served, loop) > 0) return {};
  return core::Error{fmt::format(
      "activations and logits of {} requests leave the cache no room for one: --batch {} "
      "is the most",
      load.batch, most_held(model, served, loop, load.batch))};
}

}  // namespace

model::Table memory_table(const serving::Model& model,
                          const ServedWorker& served,
                          const HeldLoad& load,
                          const std::string& title) {
  constexpr double kBytesPerGb = 1e9;
  const ClosedLoop loop = loop_of(served, load);
  const MemoryUse memory = memory_of_worker(model, served, loop);
  const std::int64_t tokens = load.prompt_tokens + load.output_tokens;
  const std::int64_t held = held_requests(memory, served, loop);
  model::Table table{.name = "memory",
                     .title = title,
                     .columns = {{.name = "what"}, {.name = "memory"}, {.name = "unit"}}};
  const auto add = [&](const char* what, double bytes) {
    table.add_row({what, bytes / kBytesPerGb, "GB"});
  };
  add("weights", memory.weight_bytes);
  add("activations of the largest step", memory.activation_bytes);
  add("buffers of collectives", memory.communication_bytes);
  add("contexts, libraries and graphs", memory.runtime_bytes);
  add("left for the cache", std::max(0.0, memory.cache_bytes));
  add("cache of the requests in flight",
      memory.bytes_of(std::min(load.batch, held) * served.pp, tokens));
  const bool is_measured = served.memory.stated_bytes > memory.capacity_bytes;
  add(is_measured ? "the GPU, as much as was measured to be free" : "the GPU",
      memory.capacity_bytes);
  const std::string shared =
      memory.shared_tokens > 0 ? fmt::format(" ({} of them kept once)", memory.shared_tokens) : "";
  table.add_row({fmt::format("requests of {} tokens{} that the cache holds", tokens, shared), held,
                 served.groups > 1 ? "of a group" : ""});
  if (held >= load.batch) return table;
  table.notes.push_back(
      fmt::format("the cache holds {} of the {} requests at once: others wait, which the figures "
                  "of a mean step do not count",
                  held, load.batch));
  if (load.is_named)
    table.notes.back() +=
        fmt::format("; --batch {} is the most", most_held(model, served, loop, load.batch));
  return table;
}

core::Status check_held(const serving::Model& model,
                        const ServedWorker& served,
                        const HeldLoad& load,
                        const MemoryOfGpus& memory,
                        std::int64_t gpus_per_node) {
  ServedWorker one = served;
  one.max_batch = 1;
  const auto limits = limits_of(model, one, loop_of_one(one, load));
  if (limits.ok()) return check_batch(model, served, load);
  const std::optional<Worker> least = least_worker(model, served, load, memory, gpus_per_node);
  const std::string nearest =
      least ? fmt::format("the least that does is {}", least->text())
            : fmt::format("no worker of up to {} GPUs does", kMostNodes * gpus_per_node);
  return core::Error{fmt::format("{}; {}", limits.error().message, nearest)};
}

}  // namespace assay::plan
