// The code that the operator sheets share: the rows of launching operators, cells, and the texts of
// the kernel_details columns.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/table.h"
#include "model/trace.h"
#include "trace/analysis.h"
#include "trace/arguments.h"

namespace assay::trace {

// The recorded arguments of an operator. A runtime call has the empty text for each.
struct ArgumentTexts {
  model::TextId dims = 0;
  model::TextId types = 0;
  model::TextId strides = 0;
  model::TextId concrete = 0;

  auto operator<=>(const ArgumentTexts&) const = default;
};

ArgumentTexts argument_texts(const model::Trace& trace, const Node& node);

// Whether the public tool would leave out the sheets and columns about operators, as it does for
// traces in which only the GPU was recorded.
bool hides_operators(const RankAnalysis& rank);

// A launcher of the rank with what the operator sheets show of it.
struct OperatorRow {
  const Launcher* launcher = nullptr;
  model::TextId name = 0;  // the operator's, or that of a replayed kernel
  std::string_view category;
};

std::vector<OperatorRow> operator_rows(const RankAnalysis& rank);

// Returns 100·part/total, or 0 when the total is 0.
double percent(double part, double total);

// Returns the text, or an empty cell for "".
model::Cell text_cell(std::string_view text);

// The column that tells calls of a forward pass that backward runs again from all others, in the
// sheets of operators where Options::detect_recompute asks for it.
model::Column recompute_column();

// Adds the names of a track's process, process label and thread. Where the trace has none, a cell
// is empty or, in compat mode, "Unknown".
void add_track_names(const RankAnalysis& rank, model::TrackId track, std::vector<model::Cell>& row);

// What the operator sheets show of where a call ran and of its arguments. Two threads without names
// look alike, and so do two spellings of one list ("[1,2]" and "[1, 2]").
struct CallIdentity {
  std::array<model::TextId, 3> track_names = {};
  ArgumentTexts arguments;

  auto operator<=>(const CallIdentity&) const = default;
};

// Finds the identities of calls. Equal ones are rows of one group.
class CallIdentities {
 public:
  explicit CallIdentities(const model::Trace& trace) : trace_(trace) {}

  CallIdentity of(const Node& node);

 private:
  // Returns the first of the texts that look like this one.
  model::TextId shown_text(model::TextId json);

  const model::Trace& trace_;
  std::unordered_map<model::TextId, model::TextId> shown_;
  std::unordered_map<std::string, model::TextId> first_of_;
};

// Adds the dims, types, strides and concrete values as Python prints them.
void add_argument_texts(const model::Trace& trace,
                        const ArgumentTexts& arguments,
                        Brackets brackets,
                        std::vector<model::Cell>& row);

// The GPU work of one call of an operator: indices into Trace::gpu_events, in launch order.
using GpuWorkList = std::span<const std::uint32_t>;

// Statistics of the GPU work of similar calls: Python's repr of a list of dicts, one for each
// position in launch order, sorted by total duration, then name. Times are microseconds, deviations
// those of a population.
struct KernelDetails {
  std::string full;       // name, stream, count, total, mean, median, deviation, min, max
  std::string truncated;  // name cut to 64 bytes, stream, mean with two decimals
  // Calls that launched another number of kernels than the first. They are not in the statistics.
  std::int64_t left_out = 0;
};

KernelDetails kernel_details(const RankAnalysis& rank, std::span<const GpuWorkList> instances);

// The note of a table for the sum of KernelDetails::left_out over its rows.
std::string left_out_note(std::int64_t calls);

}  // namespace assay::trace
