// What two runs do differently on the GPU, kernel by kernel: a pure function of two lists of what
// ran, which knows no trace. kernel_uses.h makes such a list of a trace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/analysis.h"

namespace assay::trace {

// What makes two kernels of two runs the same work. The less of it agrees, the less alike they are.
struct KernelKey {
  std::string path;       // where in the model or the calls: "Model/Layer/Linear"; "" if unknown
  std::string operation;  // the operator that launched it, or the launching call
  std::string shapes;     // the operator's "Input Dims", or what else tells the size of the work
  std::string kernel;     // its name

  auto operator<=>(const KernelKey&) const = default;
};

// All runs of a kernel with one key. Calls and times may be means over steps and ranks.
struct KernelUse {
  KernelKey key;
  GpuWork work = GpuWork::kComputation;
  double calls = 0;
  double time_us = 0;  // of all calls together
  // Standard deviation of a call's time without its wait; NaN for fewer than two samples.
  double deviation_us = 0;
  std::int64_t samples = 0;  // recorded calls: those behind the means
  double wait_us = 0;        // for other ranks, part of time_us; NaN where nothing tells it

  [[nodiscard]] double own_us() const { return calls > 0 ? (time_us - wait_us) / calls : 0; }
};

enum class KernelChange : std::uint8_t {
  kSame,        // same kernel, calls and time a call, within the tolerance
  kUnclear,     // the same, and the means differ by more than the tolerance, but calls vary as much
  kSlower,      // same kernel, longer a call
  kFaster,      // same kernel, shorter a call
  kMoreCalls,   // same kernel, and calls account for most of the effect
  kFewerCalls,  // the same, fewer
  kReplaced,    // another kernel for the same operator and shapes, or at the same place
  kResized,     // the same operator at the same place with other shapes
  kLongerWait,  // the same communication, and most of the effect is a wait for other ranks
  kShorterWait,
  kNotJudged,  // the same communication, and how much of its time is a wait is not known
  kAdded,      // nothing like it in the baseline
  kRemoved,    // nothing like it in the test
};

// Returns "slower", "more calls", …
std::string_view change_name(KernelChange change);

// One row of a comparison. A replacement may have several kernels on each side: a fused kernel
// stands for those that it replaces.
struct KernelDifference {
  KernelChange change = KernelChange::kSame;
  std::vector<KernelUse> baseline;  // by falling time; empty for kAdded
  std::vector<KernelUse> test;      // by falling time; empty for kRemoved
  double baseline_us = 0;           // of all calls of all kernels
  double test_us = 0;
  double calls_effect_us = 0;     // what other counts of calls cost, at the baseline's time a call
  double per_call_effect_us = 0;  // the rest: what other times a call, or other kernels, cost
  double wait_effect_us = 0;      // of that, what other waits for ranks cost; NaN if not known

  // Positive where the test takes longer. It is the sum of the two effects.
  [[nodiscard]] double effect_us() const { return test_us - baseline_us; }
};

struct KernelDiffOptions {
  double tolerance_percent = 1;  // smaller changes of a call's time are none
  double confidence = 0.95;      // that a change of a call's time must have, by Welch's test
};

// Pairs what the two sides ran: first what agrees in all of its key, then, of what is left, kernels
// that only moved to another path, then kernels for the same operator and shapes, then the same
// operator with other shapes, then whatever ran at the same path. So every kernel of either side is
// in one row, and the effects add up to the difference of the two sides' times. The rows are
// sorted by the size of their effect.
std::vector<KernelDifference> kernel_differences(std::span<const KernelUse> baseline,
                                                 std::span<const KernelUse> test,
                                                 const KernelDiffOptions& options = {});

}  // namespace assay::trace
