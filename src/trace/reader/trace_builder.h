// Turns raw events into the records of model::Trace and counts their faults as warnings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/trace.h"
#include "trace/reader/raw_event.h"

namespace assay::trace {

// Returns whether we read the args of an event with this phase and category (tokens with their
// quotes).
bool wants_args(std::string_view phase, std::string_view category);

class TraceBuilder {
 public:
  explicit TraceBuilder(model::Trace& trace) : trace_(trace) {}

  void add(const RawEvent& event, std::uint32_t uid);

 private:
  struct Span {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    model::TextId name = 0;
    model::TrackId track = 0;
    std::uint32_t uid = 0;
    bool usable = false;
  };

  void add_metadata(const RawEvent& event);
  void add_launch_flow(const RawEvent& event);
  void add_cpu_op(const RawEvent& event, const Span& span);
  void add_recorded_rank(const RawEvent& event);
  void add_runtime_call(const RawEvent& event, const Span& span);
  void add_gpu_event(const RawEvent& event, const Span& span, model::GpuEventKind kind);
  void add_annotation(const Span& span, bool on_gpu);
  void add_stream_wait(const RawEvent& event);

  Span read_span(const RawEvent& event, std::uint32_t uid);
  std::int64_t read_duration(const RawEvent& event);
  std::int64_t read_integer(std::string_view token, std::string_view field, std::int64_t absent);
  std::array<std::uint32_t, 3> read_dim3(std::string_view token);
  std::int32_t read_collective(const RawEvent& event);
  model::TextId read_text(std::string_view token);
  model::TrackId track(std::string_view pid, std::string_view tid);
  void warn(std::string_view reason, std::string_view effect, std::string_view event_name);

  model::Trace& trace_;
  std::unordered_map<std::uint64_t, model::TrackId> tracks_;
  std::string scratch_;
  std::string_view current_name_;
};

}  // namespace assay::trace
