// The profiled steps: which GPU work belongs to which, and when each ran on the GPU.
//
// PyTorch also records a range of each step on the GPU. It is no use as a bound: on ROCm it lasts
// some microseconds, and on CUDA it may end before the optimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/trace.h"
#include "trace/analysis.h"
#include "trace/inference_steps.h"
#include "trace/interval.h"

namespace assay::trace {

// Returns N of "ProfilerStep#N".
std::optional<std::int64_t> profiler_step_number(std::string_view annotation);

// The annotations of a trace that mark its steps: ProfilerStep#N or, where it has none, the runs of
// a model that a serving engine annotates, numbered from 0 on. Those on the CPU count or, where
// there are none, those on the GPU.
class ProfilerSteps {
 public:
  enum class Side : std::uint8_t { kCpu, kGpu };

  explicit ProfilerSteps(const model::Trace& trace);

  [[nodiscard]] bool empty() const { return steps_.empty(); }

  [[nodiscard]] std::size_t size() const { return steps_.size(); }

  [[nodiscard]] Side side() const { return side_; }

  [[nodiscard]] std::int64_t number(std::size_t step) const { return steps_[step].number; }

  // Returns what a serving engine tells of the step. std::nullopt for a ProfilerStep.
  [[nodiscard]] const std::optional<ServingLabel>& label(std::size_t step) const {
    return steps_[step].label;
  }

  // Returns whether the steps are the runs of a serving engine.
  [[nodiscard]] bool serve() const { return !empty() && steps_.front().label.has_value(); }

  // Returns the position of the step that began last before this time of its side. std::nullopt: it
  // is before the first step or, for ProfilerSteps on the CPU, after the end of all. A serving
  // engine goes on with a run after it was annotated: it samples, and copies what it generated.
  [[nodiscard]] std::optional<std::size_t> find(std::int64_t time_ns) const;

  // Returns the time, on its side, of which find() says this step.
  [[nodiscard]] Interval range_ns(std::size_t step) const;

  // Counts the CPU's steps that begin within the step before or have its number. Their figures are
  // doubtful.
  [[nodiscard]] std::int64_t overlapping() const;

 private:
  struct Annotated {
    std::int64_t number;
    Interval range_ns;
    std::optional<ServingLabel> label = std::nullopt;
  };

  void take_profiler_steps(const model::Trace& trace);
  void take_serving_steps(const model::Trace& trace);
  void choose_side(std::vector<Annotated> on_cpu, std::vector<Annotated> on_gpu);
  void keep_first_of_each_number();
  void number_outermost();

  std::vector<Annotated> steps_;  // by start
  std::int64_t end_ns_ = 0;       // of the last to end
  Side side_ = Side::kCpu;
};

// Collects the GPU work of each step.
class StepWindows {
 public:
  // `steps` must outlive it.
  explicit StepWindows(const ProfilerSteps& steps);

  // Adds GPU work, in ticks, of the step at this position. Work without a length is nowhere.
  void extend(std::size_t step, const Interval& work);

  // Returns the steps that have work, by start. Those with one number are one step.
  [[nodiscard]] std::vector<Step> steps() const;

 private:
  const ProfilerSteps& annotated_;
  std::vector<std::optional<Interval>> windows_;
};

}  // namespace assay::trace
