#include "goal/synth/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace assay::goal {
namespace {

// The n-th forward pass of a stage. With several chunks, a group of as many micro-batches as there
// are stages passes through one chunk after the other; backward passes take them in reverse.
PipelineTask nth_pass(const PipelineShape& shape, Pass pass, std::uint32_t n) {
  const std::uint32_t group = shape.chunks == 1 ? 1 : shape.stages;
  const std::uint32_t round = group * shape.chunks;
  const std::uint32_t chunk = n % round / group;
  return {.pass = pass,
          .micro_batch = n / round * group + n % group,
          .chunk = pass == Pass::kForward ? chunk : shape.chunks - 1 - chunk};
}

// Forward passes before the first backward pass.
std::uint32_t warm_up(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t later = shape.stages - 1 - stage;
  const std::uint32_t passes =
      shape.chunks == 1 ? later : 2 * later + (shape.chunks - 1) * shape.stages;
  return std::min(passes, shape.micro_batches * shape.chunks);
}

std::vector<PipelineTask> forward_backward(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t total = shape.micro_batches * shape.chunks;
  const std::uint32_t ahead = warm_up(shape, stage);
  std::vector<PipelineTask> tasks;
  for (std::uint32_t n = 0; n < total + ahead; ++n) {
    if (n < total) tasks.push_back(nth_pass(shape, Pass::kForward, n));
    if (n >= ahead) tasks.push_back(nth_pass(shape, Pass::kBackward, n - ahead));
  }
  return tasks;
}

// The gradients of weights come as many micro-batches later as there are stages before this one, so
// that every stage keeps the activations of at most as many micro-batches as there are stages.
std::vector<PipelineTask> with_late_weights(const PipelineShape& shape, std::uint32_t stage) {
  std::vector<PipelineTask> tasks;
  for (const PipelineTask& task : forward_backward(shape, stage)) {
    tasks.push_back(task);
    if (task.pass == Pass::kBackward && task.micro_batch >= stage)
      tasks.push_back({.pass = Pass::kWeights, .micro_batch = task.micro_batch - stage});
  }
  for (std::uint32_t n = shape.micro_batches - std::min(stage, shape.micro_batches);
       n < shape.micro_batches; ++n) {
    tasks.push_back({.pass = Pass::kWeights, .micro_batch = n});
  }
  return tasks;
}

}  // namespace

std::string_view name_of(Pipeline pipeline) {
  constexpr std::array<std::string_view, 3> kNames = {"1f1b", "interleaved", "zero-bubble"};
  return kNames[static_cast<std::size_t>(pipeline)];
}

core::Status check_pipeline(const PipelineShape& shape) {
  if (shape.pipeline != Pipeline::kInterleaved) {
    if (shape.chunks == 1) return {};
    return core::Error{
        fmt::format("{} has one chunk of layers a stage: several are of the schedule 'interleaved'",
                    name_of(shape.pipeline))};
  }
  if (shape.stages < 2 || shape.chunks < 2) {
    return core::Error{fmt::format(
        "the schedule 'interleaved' has at least 2 stages with 2 chunks of layers each, not {} "
        "with {}",
        shape.stages, shape.chunks)};
  }
  if (shape.micro_batches % shape.stages == 0) return {};
  return core::Error{fmt::format(
      "the schedule 'interleaved' wants a multiple of the {} stages as micro-batches, not {}",
      shape.stages, shape.micro_batches)};
}

std::vector<PipelineTask> tasks_of_stage(const PipelineShape& shape, std::uint32_t stage) {
  return shape.pipeline == Pipeline::kZeroBubble ? with_late_weights(shape, stage)
                                                 : forward_backward(shape, stage);
}

std::uint32_t most_in_flight(const std::vector<PipelineTask>& tasks) {
  const bool late = std::any_of(tasks.begin(), tasks.end(), [](const PipelineTask& task) {
    return task.pass == Pass::kWeights;
  });
  const Pass last = late ? Pass::kWeights : Pass::kBackward;
  std::uint32_t now = 0;
  std::uint32_t most = 0;
  for (const PipelineTask& task : tasks) {
    if (task.pass == Pass::kForward) most = std::max(most, ++now);
    if (task.pass == last) --now;
  }
  return most;
}

double bubble_time(const PipelineShape& shape, const PassTimes& times) {
  const double others = shape.stages - 1;
  if (shape.pipeline == Pipeline::kZeroBubble)
    return others * (times.forward + times.input - times.weights);
  return others * (times.forward + times.input + times.weights);
}

}  // namespace assay::goal
