// Schedules of micro-batches over the stages of a pipeline: the order in which a stage computes
// them. A new schedule is a word in `Pipeline` and a function in pipeline.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::goal {

enum class Pipeline : std::uint8_t {
  // As many forward passes as there are later stages, then one backward pass after each forward
  // pass (PipeDream-Flush, Megatron's default).
  kOneForwardOneBackward,
  // The same with several chunks of layers on each stage, over which a micro-batch comes around as
  // often (Megatron's virtual pipeline).
  kInterleaved,
  // The gradients of weights wait where others wait for the gradients of inputs: ZB-H1 of "Zero
  // Bubble Pipeline Parallelism" (Qi et al.), which keeps as many activations as 1F1B.
  kZeroBubble,
};

std::string_view name_of(Pipeline pipeline);  // "1f1b", "interleaved", "zero-bubble"

struct PipelineShape {
  Pipeline pipeline = Pipeline::kOneForwardOneBackward;
  std::uint32_t stages = 1;
  std::uint32_t chunks = 1;  // of a stage; more than one with kInterleaved alone
  std::uint32_t micro_batches = 1;
};

// Error: a shape that the schedule does not have.
core::Status check_pipeline(const PipelineShape& shape);

enum class Pass : std::uint8_t {
  kForward,
  kBackward,  // with kZeroBubble only the gradients of inputs
  kWeights,   // the gradients of weights, with kZeroBubble
};

struct PipelineTask {
  Pass pass = Pass::kForward;
  std::uint32_t micro_batch = 0;
  std::uint32_t chunk = 0;

  bool operator==(const PipelineTask& other) const = default;
};

// The tasks of a stage in their order. Precondition: check_pipeline() accepts.
std::vector<PipelineTask> tasks_of_stage(const PipelineShape& shape, std::uint32_t stage);

// The most passes of chunks whose activations a stage keeps at once.
std::uint32_t most_in_flight(const std::vector<PipelineTask>& tasks);

// The times of a chunk's passes, equal on all stages.
struct PassTimes {
  double forward = 1;
  double input = 1;    // the gradients of inputs
  double weights = 1;  // the gradients of weights
};

// The time that every stage waits in a step without communication, in closed form: for each other
// stage a forward and a backward pass of a chunk; with kZeroBubble forward + input − weights, where
// these three are equal and there are at least 2p − 1 micro-batches.
double bubble_time(const PipelineShape& shape, const PassTimes& times);

}  // namespace assay::goal
