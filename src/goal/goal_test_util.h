// Makes schedules for tests from text, and small jobs: GPUs that run collectives on one
// communicator and exchange pairs.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/goal_text.h"
#include "model/job.h"

namespace assay::goal {

inline model::Schedule schedule_of(const std::string& text) {
  auto goal = model::GoalText::from_text(text, "test.goal");
  EXPECT_TRUE(goal.ok()) << goal.error().message;
  auto schedule = model::convert(goal.value(), "test.goal");
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  return std::move(schedule).value();
}

inline std::string text_of(const model::Schedule& schedule) {
  std::string text;
  const auto status = model::write_goal_text(schedule, [&](std::string_view piece) -> core::Status {
    text += piece;
    return {};
  });
  EXPECT_TRUE(status.ok());
  return text;
}

struct TestJobShape {
  std::uint32_t num_gpus = 4;
  std::uint32_t gpus_per_node = 4;
};

inline model::Job make_test_job(const TestJobShape& shape) {
  model::Job job;
  model::Communicator world{.name = "0xabc", .gpus = {}, .channels = {}};
  for (std::uint32_t i = 0; i < shape.num_gpus; ++i) {
    model::JobGpu gpu;
    gpu.node = std::to_string(i / shape.gpus_per_node);
    gpu.process_id = 1000 + i;
    gpu.device = static_cast<std::int32_t>(i % shape.gpus_per_node);
    gpu.clock = i / shape.gpus_per_node;
    gpu.streams = {"0x10", "0x20"};
    job.gpus.push_back(gpu);
    world.gpus.push_back(i);
  }
  job.communicators.push_back(world);
  return job;
}

// Adds the next operation of a GPU, 100 us after the end of the last one and 50 us long.
inline model::Operation& add_operation(model::JobGpu& gpu, model::Operation operation) {
  const model::Operation* last = gpu.operations.empty() ? nullptr : &gpu.operations.back();
  operation.start_ns = (last == nullptr ? 0 : last->end_ns) + 100000;
  operation.end_ns = operation.start_ns + 50000;
  operation.group = last == nullptr ? 0 : last->group + 1;
  for (const model::Operation& before : gpu.operations) {
    const bool same = before.function == operation.function &&
                      before.communicator == operation.communicator &&
                      before.peer == operation.peer;
    if (same) ++operation.sequence;
  }
  gpu.operations.push_back(operation);
  return gpu.operations.back();
}

// Adds the operation to every GPU.
inline void add_collective(model::Job& job, const model::Operation& operation) {
  for (model::JobGpu& gpu : job.gpus)
    add_operation(gpu, operation);
}

inline model::Operation test_collective(model::NcclFunction function,
                                        model::NcclAlgorithm algorithm,
                                        model::NcclProtocol protocol,
                                        std::uint64_t bytes,
                                        std::uint32_t channels) {
  model::Operation operation;
  operation.function = function;
  operation.algorithm = algorithm;
  operation.protocol = protocol;
  operation.bytes = bytes;
  operation.element_bytes = 4;
  operation.num_channels = channels;
  return operation;
}

}  // namespace assay::goal
