#include "trace/fuse/fuse.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/byte_source.h"
#include "core/interrupt.h"
#include "core/text.h"
#include "trace/fuse/event_text.h"
#include "trace/fuse/rank_ids.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/raw_event.h"

namespace assay::trace::fuse {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

std::string microseconds(std::int64_t ns) {
  const std::int64_t magnitude = ns < 0 ? -ns : ns;
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", magnitude / 1000, magnitude % 1000);
}

// Which metadata events of a file are replaced by the fused trace's own.
bool names_process(const EventText& event) {
  return event.phase() == "\"M\"" && event.name().starts_with("\"process_");
}

class Fuser {
 public:
  Fuser(const Input& input, const Sink& sink, model::Warnings& warnings)
      : input_(input), sink_(sink), warnings_(warnings) {
    for (std::size_t r = 0; r < input.execution.ranks.size(); ++r) {
      const RankTrace& rank = trace_of(input.execution.ranks[r].number);
      ids_.emplace_back(rank.trace, rank.rank, r);
    }
  }

  core::Status write(const OnBytesRead& on_bytes_read) {
    out_ = "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    // The first event, so that every other one can follow a comma.
    out_ += fmt::format(
        R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"critical path"}}}})",
        kPathProcess);
    add_path_metadata();
    for (std::size_t r = 0; r < ids_.size(); ++r)
      ASSAY_TRY(copy_rank(r, on_bytes_read));
    add_steps();
    add_segments();
    out_ += "\n]}\n";
    return flush();
  }

 private:
  [[nodiscard]] const RankTrace& trace_of(int rank) const {
    return *std::find_if(input_.run.ranks.begin(), input_.run.ranks.end(),
                         [&](const RankTrace& trace) { return trace.rank == rank; });
  }

  core::Status flush() {
    ASSAY_TRY(sink_(out_));
    out_.clear();
    return {};
  }

  void add(const std::string& event) { out_ += ",\n" + event; }

  void add_path_metadata() {
    add(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,)"
                    R"("args":{{"sort_index":-1}}}})",
                    kPathProcess));
    for (const auto& [thread, name] : {std::pair{kStepThread, "steps"}, {kPathThread, "path"}})
      add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},)"
                      R"("args":{{"name":"{}"}}}})",
                      kPathProcess, thread, name));
  }

  core::Status copy_rank(std::size_t r, const OnBytesRead& on_bytes_read) {
    const std::string& path = trace_of(input_.execution.ranks[r].number).trace.path;
    const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(path));
    core::Status status;
    std::uint64_t reported = 0;
    cut_events(*source, [&](const EventBatch& batch) {
      if (!status.ok()) return;
      for (const EventBatch::Range& range : batch.events)
        copy_event(r, {batch.text + range.begin, range.end - range.begin});
      on_bytes_read(source->file_bytes_read() - reported);
      reported = source->file_bytes_read();
      status = out_.size() < kPieceBytes ? core::check_interrupt() : flush();
    });
    ASSAY_TRY(std::move(status));
    out_ += ids_[r].metadata();
    return {};
  }

  void copy_event(std::size_t r, std::string_view text) {
    std::optional<EventText> event = EventText::scan(text);
    if (!event) {
      warnings_.add("unreadable event", "left out", text.substr(0, 80));
      return;
    }
    if (names_process(*event)) return;
    RankIds& ids = ids_[r];
    const std::string_view process = event->value(Member::kPid);
    const std::string_view thread = event->value(Member::kTid);
    if (!thread.empty()) event->replace(Member::kTid, std::to_string(ids.thread(process, thread)));
    if (!process.empty()) event->replace(Member::kPid, std::to_string(ids.process(process)));
    for (const Member member : {Member::kId, Member::kCorrelation, Member::kExternalId})
      if (!event->value(member).empty()) event->replace(member, ids.id(event->value(member)));
    move_times(r, *event);
    out_ += ",\n";
    event->append_to(out_);
  }

  // Moves an event to the first rank's clock. Its end is moved as its start is, so that events
  // which follow each other on a clock that drifts do not overlap.
  void move_times(std::size_t r, EventText& event) const {
    const Number time = nanoseconds(event.value(Member::kTime));
    if (!time.usable()) return;
    const path::Rank& rank = input_.execution.ranks[r];
    const std::int64_t start_ns = rank.shifted(time.value);
    event.replace(Member::kTime, microseconds(start_ns + input_.execution.origin_ns));
    const Number length = nanoseconds(event.value(Member::kDuration));
    if (rank.clock.drift_ppm == 0 || !length.usable()) return;
    event.replace(Member::kDuration,
                  microseconds(rank.shifted(time.value + length.value) - start_ns));
  }

  void add_steps() {
    const auto compositions = path::compositions(input_.execution, input_.path);
    for (std::size_t s = 0; s < compositions.size(); ++s) {
      const path::StepMark& step = input_.execution.steps[s];
      std::string args;
      for (std::size_t p = 0; p < compositions[s].size(); ++p)
        args += fmt::format(R"({}"{} us":{})", p == 0 ? "" : ",", path::kPartNames[p],
                            microseconds(compositions[s][p]));
      const std::string name =
          input_.execution.has_steps ? fmt::format("step {}", step.number) : "whole trace";
      add(slice(kStepThread, name, step.start_ns, step.length_ns(), args));
    }
  }

  [[nodiscard]] std::string slice(int thread,
                                  std::string_view name,
                                  std::int64_t start_ns,
                                  std::int64_t length_ns,
                                  std::string_view args) const {
    return fmt::format(R"({{"ph":"X","cat":"critical_path","name":"{}","pid":{},"tid":{},)"
                       R"("ts":{},"dur":{},"args":{{{}}}}})",
                       core::json_escaped(name), kPathProcess, thread,
                       microseconds(start_ns + input_.execution.origin_ns), microseconds(length_ns),
                       args);
  }

  void add_segments() {
    const path::Segment* before = nullptr;
    std::int64_t arrow = static_cast<std::int64_t>(ids_.size() + 1) << 32;
    for (const path::Segment& segment : input_.path) {
      const bool runs = segment.cause != path::Part::kHost && segment.cause != path::Part::kIdle;
      add_segment(segment, runs);
      if (!runs) continue;
      if (before != nullptr && before->work != segment.work) add_arrow(*before, segment, arrow++);
      before = &segment;
    }
  }

  void add_segment(const path::Segment& segment, bool runs) {
    const path::Work& work = input_.execution.works[segment.work];
    const auto part = static_cast<std::size_t>(segment.part);
    const std::string& kernel = input_.execution.kernels[work.kernel].name;
    const std::string args = fmt::format(
        R"("part":"{}","meanwhile":"{}","rank":{},"stream":{},"kernel":"{}")",
        path::kPartNames[part], path::kPartNames[static_cast<std::size_t>(segment.cause)],
        input_.execution.ranks[segment.rank].number, input_.execution.lanes[work.lane].stream,
        core::json_escaped(kernel));
    add(slice(kPathThread, runs ? std::string_view(kernel) : path::kPartNames[part],
              segment.start_ns, segment.length_ns(), args));
  }

  // An arrow binds to the slices that enclose its ends.
  void add_arrow(const path::Segment& from, const path::Segment& to, std::int64_t id) {
    const path::Work& start = input_.execution.works[from.work];
    const path::Work& finish = input_.execution.works[to.work];
    const std::int64_t leaves_ns =
        std::clamp(from.end_ns - 1, start.start_ns, std::max(start.start_ns, start.end_ns - 1));
    add_arrow_end("\"ph\":\"s\"", start, leaves_ns, id);
    add_arrow_end(
        "\"ph\":\"f\",\"bp\":\"e\"", finish,
        std::clamp(to.start_ns, finish.start_ns, std::max(finish.start_ns, finish.end_ns - 1)), id);
  }

  void add_arrow_end(std::string_view phase,
                     const path::Work& work,
                     std::int64_t time_ns,
                     std::int64_t id) {
    const model::Trace& trace = trace_of(input_.execution.ranks[work.rank].number).trace;
    const auto [process, thread] = ids_[work.rank].track_of(trace.gpu_events[work.event]);
    add(fmt::format(R"({{{},"cat":"critical_path","name":"critical path","id":{},"pid":{},)"
                    R"("tid":{},"ts":{}}})",
                    phase, id, process, thread,
                    microseconds(time_ns + input_.execution.origin_ns)));
  }

  static constexpr int kStepThread = 1;
  static constexpr int kPathThread = 2;

  const Input& input_;
  const Sink& sink_;
  model::Warnings& warnings_;
  std::vector<RankIds> ids_;  // by position in Execution::ranks
  std::string out_;
};

}  // namespace

core::Status write_fused(const Input& input,
                         const Sink& sink,
                         const OnBytesRead& on_bytes_read,
                         model::Warnings& warnings) {
  return Fuser(input, sink, warnings).write(on_bytes_read);
}

}  // namespace assay::trace::fuse
