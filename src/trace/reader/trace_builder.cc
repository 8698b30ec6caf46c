#include "trace/reader/trace_builder.h"

#include <fmt/core.h>

#include <limits>

namespace assay::trace {
namespace {

using model::GpuEventKind;

// No profiled call lasts longer than a day. Such durations come from lost end records.
constexpr std::int64_t kLongestDurationNs = 24LL * 3600 * 1'000'000'000;
// Sums and differences of later or earlier times would overflow (2^62 ns are 146 years).
constexpr std::int64_t kLatestTimeNs = std::int64_t{1} << 62;
constexpr std::int64_t kEarliestTimeNs = -(std::int64_t{1} << 61);

bool is_text(std::string_view token) {
  return !token.empty() && token.front() == '"';
}

std::int32_t to_int32(std::int64_t value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  return value < -1 || value > kMax ? -1 : static_cast<std::int32_t>(value);
}

}  // namespace

bool wants_args(std::string_view phase, std::string_view category) {
  if (phase == "\"M\"") return true;
  return category == "\"cpu_op\"" || category == "\"kernel\"" || category == "\"cuda_runtime\"" ||
         category == "\"cuda_driver\"" || category == "\"gpu_memcpy\"" ||
         category == "\"gpu_memset\"" || category == "\"cuda_sync\"";
}

void TraceBuilder::add(const RawEvent& event, std::uint32_t uid) {
  if (event.phase == "\"M\"") return add_metadata(event);
  if (trace_.launch_flows && event.category == "\"ac2g\"") return add_launch_flow(event);
  if (!is_text(event.phase)) warn("event without a phase (ph)", "event left out", event.name);
  if (event.phase != "\"X\"") return;
  const std::string_view category = event.category;
  if (!is_text(category)) warn("event without a category (cat)", "event left out", event.name);
  if (category == "\"cuda_sync\"") return add_stream_wait(event);
  if (category == "\"python_function\"") return add_python_call(event, uid);
  const bool gpu_annotation = category == "\"gpu_user_annotation\"";
  if (!gpu_annotation && category != "\"user_annotation\"" && !wants_args(event.phase, category)) {
    return;
  }
  const Span span = read_span(event, uid);
  if (!span.usable) return;
  if (category == "\"cpu_op\"") {
    add_cpu_op(event, span);
  } else if (category == "\"kernel\"") {
    add_gpu_event(event, span, GpuEventKind::kKernel);
  } else if (category == "\"gpu_memcpy\"") {
    add_gpu_event(event, span, GpuEventKind::kMemcpy);
  } else if (category == "\"gpu_memset\"") {
    add_gpu_event(event, span, GpuEventKind::kMemset);
  } else if (gpu_annotation || category == "\"user_annotation\"") {
    add_annotation(span, gpu_annotation);
  } else {
    add_runtime_call(event, span);
  }
}

void TraceBuilder::add_metadata(const RawEvent& event) {
  if (event.name == "\"process_name\"") {
    trace_.process_names[read_text(event.pid)] = read_text(event.args_name);
  } else if (event.name == "\"process_labels\"") {
    trace_.process_labels[read_text(event.pid)] = read_text(event.args_labels);
  } else if (event.name == "\"thread_name\"") {
    trace_.thread_names[track(event.pid, event.tid)] = read_text(event.args_name);
  }
}

void TraceBuilder::add_launch_flow(const RawEvent& event) {
  const Number id = integer(event.id);
  const bool starts = event.phase == "\"s\"";
  if (!id.usable() || (!starts && event.phase != "\"f\"")) return;
  using End = model::LaunchFlow::End;
  trace_.launch_flows->push_back(
      {id.value, track(event.pid, event.tid), starts ? End::kStart : End::kFinish});
}

void TraceBuilder::add_cpu_op(const RawEvent& event, const Span& span) {
  model::CpuOp op;
  op.start_ns = span.start_ns;
  op.duration_ns = span.duration_ns;
  op.name = span.name;
  op.track = span.track;
  op.uid = span.uid;
  op.sequence = read_integer(event.sequence, "Sequence number", -1);
  op.input_dims = trace_.texts.intern(event.input_dims);
  op.input_types = trace_.texts.intern(event.input_types);
  op.input_strides = trace_.texts.intern(event.input_strides);
  op.concrete_inputs = trace_.texts.intern(event.concrete_inputs);
  op.module_hierarchy = read_text(event.module_hierarchy);
  op.call_stack = read_text(event.call_stack);
  trace_.cpu_ops.push_back(op);
  if (event.name == "\"record_param_comms\"") add_recorded_rank(event);
}

// Counts the ranks that the collectives state.
void TraceBuilder::add_recorded_rank(const RawEvent& event) {
  // In a message between two ranks, "Rank" is the other rank.
  const std::string_view collective = event.collective_name;
  if (event.rank.empty() || collective == "\"send\"" || collective == "\"recv\"") return;
  const std::int64_t group_size = integer(event.group_size).value;
  if (group_size < trace_.recorded_group_size) return;
  if (group_size > trace_.recorded_group_size) trace_.recorded_ranks.clear();
  trace_.recorded_group_size = group_size;
  const Number rank = integer(event.rank);
  const bool plausible = rank.value >= 0 && rank.value <= model::kHighestRank;
  if (rank.usable() && plausible) ++trace_.recorded_ranks[to_int32(rank.value)];
}

void TraceBuilder::add_runtime_call(const RawEvent& event, const Span& span) {
  model::RuntimeCall call;
  call.start_ns = span.start_ns;
  call.duration_ns = span.duration_ns;
  call.name = span.name;
  call.track = span.track;
  call.uid = span.uid;
  call.correlation = read_integer(event.correlation, "correlation", -1);
  call.external_id = read_integer(event.external_id, "External id", -1);
  trace_.runtime_calls.push_back(call);
}

void TraceBuilder::add_gpu_event(const RawEvent& event, const Span& span, GpuEventKind kind) {
  model::GpuEvent gpu;
  gpu.start_ns = span.start_ns;
  gpu.duration_ns = span.duration_ns;
  gpu.name = span.name;
  gpu.track = span.track;
  gpu.uid = span.uid;
  gpu.kind = kind;
  gpu.correlation = read_integer(event.correlation, "correlation", -1);
  gpu.external_id = read_integer(event.external_id, "External id", -1);
  gpu.device = to_int32(read_integer(event.device, "device", -1));
  gpu.stream = to_int32(read_integer(event.stream, "stream", -1));
  gpu.grid = read_dim3(event.grid);
  gpu.block = read_dim3(event.block);
  gpu.collective = read_collective(event);
  trace_.gpu_events.push_back(gpu);
}

void TraceBuilder::add_annotation(const Span& span, bool on_gpu) {
  trace_.annotations.push_back(
      {span.start_ns, span.duration_ns, span.name, span.track, span.uid, on_gpu});
}

// Other events of this category, such as "Context Sync", name no other stream.
void TraceBuilder::add_stream_wait(const RawEvent& event) {
  const Number correlation = integer(event.correlation);
  const Number record = integer(event.waits_for_record);
  const Number stream = integer(event.stream);
  const Number other = integer(event.waits_for_stream);
  for (const Number& number : {correlation, record, stream, other})
    if (!number.usable() || number.value < 0) return;
  trace_.stream_waits.push_back({.correlation = correlation.value,
                                 .record_correlation = record.value,
                                 .stream = to_int32(stream.value),
                                 .other_stream = to_int32(other.value)});
}

// A trace with call stacks holds more of these than of all other events, so the name decides first.
void TraceBuilder::add_python_call(const RawEvent& event, std::uint32_t uid) {
  constexpr std::string_view kModule = "\"nn.Module: ";
  const bool module = event.name.starts_with(kModule);
  const bool recompute = event.name.find("recompute_fn") != std::string_view::npos &&
                         event.name.find("torch/utils/checkpoint.py") != std::string_view::npos;
  // The names of built-in functions tell addresses, so that no two are alike.
  const bool function = all_python_calls_ && !event.name.starts_with("\"<built-in ");
  if (!module && !recompute && !function) return;
  const Span span = read_span(event, uid);
  if (!span.usable) return;
  using Kind = model::PythonCall::Kind;
  const model::TextId name =
      module ? trace_.texts.intern(trace_.text(span.name).substr(kModule.size() - 1)) : span.name;
  trace_.python_calls.push_back({span.start_ns, span.duration_ns, name, span.track,
                                 module      ? Kind::kModule
                                 : recompute ? Kind::kRecompute
                                             : Kind::kFunction});
}

TraceBuilder::Span TraceBuilder::read_span(const RawEvent& event, std::uint32_t uid) {
  Span span;
  span.uid = uid;
  current_name_ = event.name;
  if (event.name.empty()) {
    warn("event without a name", "kept without a name", event.category);
  } else if (!is_text(event.name)) {
    warn("name that is not a text", "kept as its JSON text", event.name);
  }
  if (event.pid.empty() || event.tid.empty()) {
    warn("event without a process or thread (pid, tid)", "placed on a thread without a name",
         event.name);
  }
  const Number start = nanoseconds(event.ts);
  if (!start.usable() || start.value > kLatestTimeNs || start.value < kEarliestTimeNs) {
    warn(start.form == NumberForm::kAbsent ? "event without a start time (ts)"
                                           : "start time (ts) that is not a number",
         "event left out", event.name);
    return span;
  }
  if (start.form == NumberForm::kNumberInText) {
    warn("number written as text", "read as the number", event.name);
  }
  span.start_ns = start.value;
  span.duration_ns = read_duration(event);
  span.name = read_text(event.name);
  span.track = track(event.pid, event.tid);
  span.usable = true;
  return span;
}

std::int64_t TraceBuilder::read_duration(const RawEvent& event) {
  const Number duration = nanoseconds(event.dur);
  if (duration.form == NumberForm::kAbsent) {
    warn("event without a duration (dur)", "counted as 0", event.name);
    return 0;
  }
  if (!duration.usable()) {
    warn("duration that is not a number", "counted as 0", event.name);
    return 0;
  }
  if (duration.form == NumberForm::kNumberInText) {
    warn("number written as text", "read as the number", event.name);
  }
  if (duration.value < 0) {
    warn("negative duration", "counted as 0", event.name);
    return 0;
  }
  if (duration.value > kLongestDurationNs) {
    warn("duration of more than a day", "counted as 0", event.name);
    return 0;
  }
  return duration.value;
}

std::int64_t TraceBuilder::read_integer(std::string_view token,
                                        std::string_view field,
                                        std::int64_t absent) {
  const Number number = integer(token);
  if (number.form == NumberForm::kNotANumber) {
    warn(fmt::format("'{}' that is not a number", field), "treated as missing", current_name_);
  }
  return number.usable() ? number.value : absent;
}

// Reads "[24, 1, 1]".
std::array<std::uint32_t, 3> TraceBuilder::read_dim3(std::string_view token) {
  std::array<std::uint32_t, 3> dims{};
  if (token.size() < 2 || token.front() != '[') return dims;
  token = token.substr(1, token.size() - 2);
  for (std::uint32_t& dim : dims) {
    const std::size_t comma = token.find(',');
    std::string_view part = token.substr(0, comma);
    while (!part.empty() && part.front() == ' ')
      part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ')
      part.remove_suffix(1);
    const Number number = integer(part);
    if (number.usable() && number.value >= 0 &&
        number.value <= std::numeric_limits<std::uint32_t>::max()) {
      dim = static_cast<std::uint32_t>(number.value);
    }
    if (comma == std::string_view::npos) break;
    token.remove_prefix(comma + 1);
  }
  return dims;
}

std::int32_t TraceBuilder::read_collective(const RawEvent& event) {
  if (event.collective_name.empty() && event.group_name.empty()) return -1;
  model::CollectiveArgs args;
  args.name = read_text(event.collective_name);
  args.dtype = read_text(event.dtype);
  args.group_name = read_text(event.group_name);
  args.group_description = read_text(event.group_description);
  args.group_ranks = read_text(event.group_ranks);
  args.in_split = read_text(event.in_split);
  args.out_split = read_text(event.out_split);
  args.in_elements = read_integer(event.in_elements, "In msg nelems", -1);
  args.out_elements = read_integer(event.out_elements, "Out msg nelems", -1);
  args.group_size = to_int32(read_integer(event.group_size, "Group size", -1));
  const std::string_view name = trace_.text(args.name);
  if (name == "send")
    args.peer_rank = to_int32(read_integer(event.destination_rank, "Dst Rank", -1));
  if (name == "recv") args.peer_rank = to_int32(read_integer(event.source_rank, "Src Rank", -1));
  trace_.collectives.push_back(args);
  return static_cast<std::int32_t>(trace_.collectives.size() - 1);
}

model::TextId TraceBuilder::read_text(std::string_view token) {
  return trace_.texts.intern(unquoted(token, scratch_));
}

model::TrackId TraceBuilder::track(std::string_view pid, std::string_view tid) {
  const model::Track wanted{read_text(pid), read_text(tid)};
  const std::uint64_t key = (std::uint64_t{wanted.process} << 32) | wanted.thread;
  const auto [found, inserted] =
      tracks_.try_emplace(key, static_cast<model::TrackId>(trace_.tracks.size()));
  if (inserted) trace_.tracks.push_back(wanted);
  return found->second;
}

void TraceBuilder::warn(std::string_view reason,
                        std::string_view effect,
                        std::string_view event_name) {
  trace_.warnings.add(reason, effect, unquoted(event_name, scratch_));
}

}  // namespace assay::trace
