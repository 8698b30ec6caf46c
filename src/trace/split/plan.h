// How a trace is cut: which events belong to which of the new traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "model/trace.h"
#include "trace/interval.h"
#include "trace/reader/raw_event.h"
#include "trace/split/choice.h"

namespace assay::trace {

struct Piece {
  std::string name;  // as part of a file's name: "step_3", "decode"
  std::string what;  // "ProfilerStep#3", "decode, batch size 32", …
  std::int64_t steps = 0;
  std::int64_t gpu_events = 0;
  std::int64_t gpu_ns = 0;  // of all GPU events, summed
};

// What begins on the CPU during the time of a step belongs to it, with the GPU work that it
// launches, whenever that runs.
class SplitPlan {
 public:
  // Error: nothing to split by, or nothing chosen.
  static core::Result<SplitPlan> make(const model::Trace& trace, const SplitChoice& choice);

  // By the time of their first steps.
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

  struct Target {
    enum class Kind : std::uint8_t { kNone, kOne, kAll } kind = Kind::kNone;
    std::size_t piece = 0;
  };

  // Returns where an event of the trace belongs: to all pieces if it is metadata. GPU work that no
  // recorded call launched belongs to none.
  [[nodiscard]] Target target_of(const RawEvent& event, std::uint32_t uid) const;

 private:
  struct Stretch {
    Interval cpu_ns;
    std::size_t piece = 0;
    std::optional<Interval> gpu_ns =
        std::nullopt;  // from the first to the last work that it launched
  };

  core::Status add_steps(const model::Trace& trace, const SplitChoice& choice);
  core::Status add_annotations(const model::Trace& trace, const SplitChoice& choice);
  void add_stretch(const Interval& cpu_ns, const std::string& name, const std::string& what);
  void assign_gpu_work(const model::Trace& trace);
  [[nodiscard]] const Stretch* at(std::int64_t time_ns) const;
  [[nodiscard]] Target on_gpu(std::int64_t time_ns) const;

  std::vector<Piece> pieces_;
  std::vector<Stretch> stretches_;  // disjoint, by time
  std::unordered_map<std::string, std::size_t> by_name_;
  std::unordered_map<std::uint32_t, std::size_t> by_uid_;         // of GPU events
  std::unordered_map<std::int64_t, std::size_t> by_correlation_;  // of their launches
};

}  // namespace assay::trace
