#include "goal/synth/stage_program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace assay::goal {
namespace {

constexpr std::uint64_t kGradientBytes = 4;   // 32 bits, as Megatron-LM sums them
constexpr std::uint64_t kParameterBytes = 2;  // bfloat16

std::uint64_t divided_up(std::uint64_t value, std::uint64_t parts) {
  return (value + parts - 1) / parts;
}

// What is common to stages with replicated and with sharded layers.
class StageWriter {
 public:
  StageWriter(const StagePlan& stage, const TrainingPlan& plan) : stage_(stage), plan_(plan) {}

 protected:
  [[nodiscard]] bool has_replicas(Group group) const {
    return group == Group::kData ? plan_.grid.dp > 1 : plan_.grid.dp > plan_.grid.ep;
  }

  [[nodiscard]] std::uint64_t replicas(Group group) const {
    return group == Group::kData ? plan_.grid.dp : plan_.grid.dp / plan_.grid.ep;
  }

  [[nodiscard]] CollectiveCall scatter(Group group, std::uint64_t parameters) const {
    return {group, model::NcclFunction::kReduceScatter,
            divided_up(parameters, replicas(group)) * kGradientBytes, kGradientBytes};
  }

  [[nodiscard]] CollectiveCall gather(Group group, std::uint64_t parameters) const {
    return {group, model::NcclFunction::kAllGather,
            divided_up(parameters, replicas(group)) * kParameterBytes, kParameterBytes};
  }

  const StagePlan& stage_;
  const TrainingPlan& plan_;
  ProgramWriter writer_;
};

class ReplicatedStage : private StageWriter {
 public:
  using StageWriter::StageWriter;

  Program made() {
    const std::vector<PipelineTask>& tasks = stage_.tasks;
    std::optional<std::uint32_t> arriving = receive_for(tasks.front());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const std::optional<std::uint32_t> arrived = arriving;
      arriving = i + 1 < tasks.size() ? receive_for(tasks[i + 1]) : std::nullopt;
      if (arrived) writer_.join(*arrived);
      run(tasks[i], is_last_of_chunk(i));
      send_of(tasks[i]);
    }
    flush(Group::kData);
    flush(Group::kExpertData);
    if (stage_.ties_embedding) {
      writer_.call(collective_op({Group::kEmbedding, model::NcclFunction::kAllReduce,
                                  stage_.embedding_parameters * kGradientBytes, kGradientBytes},
                                 Lane::kData));
    }
    for (const std::uint32_t reduction : reductions_)
      writer_.join(reduction);
    writer_.compute(stage_.optimizer_ns);
    if (plan_.data_parallel == DataParallel::kDistributedOptimizer) gather_parameters();
    return writer_.finish();
  }

 private:
  struct Bucket {
    Group group;
    std::uint64_t parameters;
  };

  [[nodiscard]] std::uint32_t stages() const { return plan_.grid.stages; }

  // Where the input of a pass comes from; its output goes the other way. std::nullopt: from
  // nowhere.
  [[nodiscard]] std::optional<std::uint32_t> source(const PipelineTask& task) const {
    const bool is_forward = task.pass == Pass::kForward;
    const std::uint32_t end = is_forward ? 0 : stages() - 1;
    const std::uint32_t end_chunk = is_forward ? 0 : plan_.chunks - 1;
    if (task.pass == Pass::kWeights || stages() == 1) return std::nullopt;
    if (stage_.stage == end && task.chunk == end_chunk) return std::nullopt;
    return (stage_.stage + (is_forward ? stages() - 1 : 1)) % stages();
  }

  [[nodiscard]] std::optional<std::uint32_t> destination(const PipelineTask& task) const {
    const bool is_forward = task.pass == Pass::kForward;
    const std::uint32_t end = is_forward ? stages() - 1 : 0;
    const std::uint32_t end_chunk = is_forward ? plan_.chunks - 1 : 0;
    if (task.pass == Pass::kWeights || stages() == 1) return std::nullopt;
    if (stage_.stage == end && task.chunk == end_chunk) return std::nullopt;
    return (stage_.stage + (is_forward ? 1 : stages() - 1)) % stages();
  }

  std::optional<std::uint32_t> receive_for(const PipelineTask& task) {
    const std::optional<std::uint32_t> from = source(task);
    if (!from) return std::nullopt;
    const Lane lane = task.pass == Pass::kForward ? Lane::kForwardIn : Lane::kBackwardIn;
    return writer_.launch(
        message_op(ProgramOp::Kind::kReceive, lane, {*from, stage_.message_bytes}));
  }

  void send_of(const PipelineTask& task) {
    const std::optional<std::uint32_t> to = destination(task);
    if (!to) return;
    const Lane lane = task.pass == Pass::kForward ? Lane::kForwardOut : Lane::kBackwardOut;
    writer_.launch(message_op(ProgramOp::Kind::kSend, lane, {*to, stage_.message_bytes}));
  }

  // Whether no later task adds to the gradients of the task's chunk.
  [[nodiscard]] bool is_last_of_chunk(std::size_t task) const {
    const PipelineTask& asked = stage_.tasks[task];
    if (asked.pass == Pass::kForward) return false;
    return std::none_of(stage_.tasks.begin() + static_cast<std::ptrdiff_t>(task) + 1,
                        stage_.tasks.end(), [&](const PipelineTask& later) {
                          return later.pass != Pass::kForward && later.chunk == asked.chunk;
                        });
  }

  void run(const PipelineTask& task, bool is_last) {
    const std::vector<const LayerPasses*>& layers = stage_.chunks[task.chunk];
    if (task.pass == Pass::kForward) {
      for (const LayerPasses* layer : layers)
        writer_.run(layer->forward);
      return;
    }
    for (std::size_t i = layers.size(); i-- > 0;) {
      const LayerPasses& layer = *layers[i];
      writer_.run(task.pass == Pass::kWeights ? layer.weights : layer.backward);
      if (!is_last) continue;
      add_gradients(Group::kData, layer.dense_parameters);
      add_gradients(Group::kExpertData, layer.expert_parameters);
    }
  }

  void add_gradients(Group group, std::uint64_t parameters) {
    std::uint64_t& waiting = waiting_[group == Group::kData ? 0 : 1];
    waiting += parameters;
    if (waiting >= plan_.bucket_parameters) flush(group);
  }

  void flush(Group group) {
    std::uint64_t& waiting = waiting_[group == Group::kData ? 0 : 1];
    const std::uint64_t parameters = std::exchange(waiting, 0);
    if (parameters == 0 || !has_replicas(group)) return;
    const bool reduces = plan_.data_parallel == DataParallel::kAllReduce;
    const CollectiveCall all{group, model::NcclFunction::kAllReduce, parameters * kGradientBytes,
                             kGradientBytes};
    reductions_.push_back(
        writer_.launch(collective_op(reduces ? all : scatter(group, parameters), Lane::kData)));
    buckets_.push_back({group, parameters});
  }

  // In the order of the forward pass, which needs them.
  void gather_parameters() {
    for (std::size_t i = buckets_.size(); i-- > 0;)
      writer_.call(collective_op(gather(buckets_[i].group, buckets_[i].parameters), Lane::kData));
  }

  std::array<std::uint64_t, 2> waiting_ = {};
  std::vector<std::uint32_t> reductions_;
  std::vector<Bucket> buckets_;
};

// As PyTorch's FSDP2 runs it. The embedding and the head are gathered once a step and kept; other
// layers for each pass, one ahead. Copies into and out of the buffers of collectives are
// computation of this GPU. The gradients of a layer are copied when those behind it are scattered,
// whose buffer is free then.
class ShardedStage : private StageWriter {
 public:
  using StageWriter::StageWriter;

  Program made() {
    const std::vector<const LayerPasses*>& layers = stage_.chunks.front();
    const Shared ends{layers.front()->dense_parameters + layers.back()->dense_parameters,
                      stage_.ends_sharding};
    std::optional<Gathering> gathered_ends = gather_of(ends);
    for (std::uint32_t i = 0; i < plan_.micro_batches; ++i) {
      forward(layers, std::exchange(gathered_ends, std::nullopt));
      backward(layers);
    }
    scatter_gradients(ends);
    if (scattering_) writer_.join(*scattering_);
    writer_.compute(stage_.optimizer_ns);
    return writer_.finish();
  }

 private:
  // Parameters that are gathered and scattered at once.
  struct Shared {
    std::uint64_t parameters = 0;
    ShardingCopies copies = {};
  };

  struct Gathering {
    std::uint32_t op = 0;
    double copied_ns = 0;
  };

  static Shared shared(const LayerPasses& layer) {
    return {layer.dense_parameters, layer.sharding};
  }

  std::optional<Gathering> gather_of(const Shared& part) {
    if (!has_replicas(Group::kData)) return std::nullopt;
    writer_.compute(part.copies.cast_ns);
    return Gathering{
        writer_.launch(collective_op(gather(Group::kData, part.parameters), Lane::kParameters)),
        part.copies.gathered_ns};
  }

  void join(const std::optional<Gathering>& gathering) {
    if (!gathering) return;
    writer_.join(gathering->op);
    writer_.compute(gathering->copied_ns);
  }

  void scatter_gradients(const Shared& part) {
    if (!has_replicas(Group::kData)) return;
    if (scattering_) writer_.join(*scattering_);
    writer_.compute(part.copies.gradients_ns);
    scattering_ =
        writer_.launch(collective_op(scatter(Group::kData, part.parameters), Lane::kData));
  }

  void forward(const std::vector<const LayerPasses*>& layers,
               const std::optional<Gathering>& ends) {
    std::optional<Gathering> next = gather_of(shared(*layers[1]));
    join(ends);
    writer_.run(layers.front()->forward);
    for (std::size_t i = 1; i + 1 < layers.size(); ++i) {
      const std::optional<Gathering> mine = next;
      if (i + 2 < layers.size()) next = gather_of(shared(*layers[i + 1]));
      join(mine);
      writer_.run(layers[i]->forward);
    }
    writer_.run(layers.back()->forward);
  }

  void backward(const std::vector<const LayerPasses*>& layers) {
    std::optional<Gathering> next = gather_of(shared(*layers[layers.size() - 2]));
    writer_.run(layers.back()->backward);
    for (std::size_t i = layers.size() - 1; i-- > 1;) {
      const std::optional<Gathering> mine = next;
      join(mine);
      if (i > 1) next = gather_of(shared(*layers[i - 1]));
      writer_.run(layers[i]->backward);
      scatter_gradients(shared(*layers[i]));
    }
    writer_.run(layers.front()->backward);
  }

  std::optional<std::uint32_t> scattering_;  // the last
};

}  // namespace

std::uint64_t StagePlan::dense_parameters() const {
  std::uint64_t sum = 0;
  for (const auto& layers : chunks) {
    for (const LayerPasses* layer : layers)
      sum += layer->dense_parameters;
  }
  return sum;
}

std::uint64_t StagePlan::expert_parameters() const {
  std::uint64_t sum = 0;
  for (const auto& layers : chunks) {
    for (const LayerPasses* layer : layers)
      sum += layer->expert_parameters;
  }
  return sum;
}

Program stage_program(const StagePlan& stage, const TrainingPlan& plan) {
  return plan.data_parallel == DataParallel::kFullySharded ? ShardedStage(stage, plan).made()
                                                           : ReplicatedStage(stage, plan).made();
}

std::vector<std::size_t> spread_layers(const serving::Model& model) {
  const auto is_dense = [&](std::size_t kind) {
    return std::holds_alternative<serving::FeedForward>(model.layers[kind].layer.feed_forward);
  };
  std::vector<std::pair<double, std::size_t>> places;
  for (std::size_t kind = 0; kind < model.layers.size(); ++kind) {
    const std::int64_t count = model.layers[kind].count;
    const double first = model.has_experts() && !is_dense(kind) ? 1 : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      places.emplace_back(first + (static_cast<double>(i) + 0.5) / static_cast<double>(count),
                          kind);
    }
  }
  std::sort(places.begin(), places.end());
  std::vector<std::size_t> kinds;
  for (const auto& [place, kind] : places)
    kinds.push_back(kind);
  return kinds;
}

}  // namespace assay::goal
