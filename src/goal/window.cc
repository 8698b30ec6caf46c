#include "goal/window.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "goal/clocks.h"

namespace assay::goal {
namespace {

using model::Operation;

// Communicator, function (Send for both sides of a pair), source, destination, sequence.
using Key =
    std::tuple<std::uint32_t, model::NcclFunction, std::int64_t, std::int64_t, std::uint64_t>;

Key key_of(const model::Job& job, std::uint32_t gpu, const Operation& operation) {
  if (!is_point_to_point(operation.function)) {
    return {operation.communicator, operation.function, -1, -1, operation.sequence};
  }
  const auto& gpus = job.communicators[operation.communicator].gpus;
  const std::int64_t rank = std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin();
  const bool sends = operation.function == model::NcclFunction::kSend;
  return {operation.communicator, model::NcclFunction::kSend, sends ? rank : operation.peer,
          sends ? operation.peer : rank, operation.sequence};
}

std::int64_t nanoseconds(const std::optional<double>& seconds, std::int64_t otherwise) {
  return seconds ? static_cast<std::int64_t>(*seconds * 1e9) : otherwise;
}

}  // namespace

core::Result<model::Job> cut_window(model::Job job, const Window& window) {
  if (!window.given()) return job;
  const std::int64_t from_ns = nanoseconds(window.from_s, 0);
  const std::int64_t to_ns = nanoseconds(window.to_s, std::numeric_limits<std::int64_t>::max());
  const std::vector<std::int64_t> zero = clock_starts(job);
  std::map<Key, std::int64_t> first_start;
  for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
    for (const Operation& operation : job.gpus[gpu].operations) {
      const std::int64_t start = operation.start_ns - zero[job.gpus[gpu].clock];
      const auto [at, is_new] = first_start.emplace(key_of(job, gpu, operation), start);
      if (!is_new) at->second = std::min(at->second, start);
    }
  }
  std::size_t kept = 0;
  for (std::uint32_t gpu = 0; gpu < job.gpus.size(); ++gpu) {
    model::JobGpu& from = job.gpus[gpu];
    const auto outside = [&](const Operation& operation) {
      const std::int64_t start = first_start.at(key_of(job, gpu, operation));
      return start < from_ns || start >= to_ns;
    };
    const auto end = std::remove_if(from.operations.begin(), from.operations.end(), outside);
    from.operations.erase(end, from.operations.end());
    kept += from.operations.size();
    const std::int64_t start = zero[from.clock];
    from.window_start_ns = std::max(from.window_start_ns, start + from_ns);
    if (window.to_s) from.window_end_ns = std::min(from.window_end_ns, start + to_ns);
  }
  if (kept > 0) return job;
  return core::Error{fmt::format("no operation began between {} s and {} s of the recording",
                                 window.from_s.value_or(0),
                                 window.to_s ? fmt::format("{}", *window.to_s) : "the end")};
}

}  // namespace assay::goal
