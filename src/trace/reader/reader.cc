#include "trace/reader/reader.h"

#include <utility>

#include "core/byte_source.h"
#include "trace/reader/document.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/event_parser.h"
#include "trace/reader/stray_times.h"

namespace assay::trace {
namespace {

void take_facts(DocumentFacts facts, model::Trace& trace) {
  if (!facts.valid) {
    trace.warnings.add("the document around the events is not valid JSON",
                       "rank and devices are not known from it", trace.path);
    return;
  }
  if (facts.rank_is_damaged) {
    trace.warnings.add("distributedInfo.rank that is no rank", "not used", trace.path);
  }
  trace.rank = facts.rank;
  trace.world_size = facts.world_size;
  trace.device_count = facts.device_count;
  trace.gpu_name = std::move(facts.gpu_name);
}

void note_damage(const CutDocument& cut, model::Trace& trace) {
  if (cut.misplaced_brackets > 0) {
    trace.warnings.add("brackets that do not match", "the events around them are left out",
                       trace.path, cut.misplaced_brackets);
  }
  if (!cut.read_error.empty()) {
    trace.warnings.add(cut.read_error, "the events before the damage are used", trace.path);
  } else if (cut.truncated) {
    trace.warnings.add("the file is truncated, or a quote or bracket is missing in it",
                       "the complete events are used", trace.path);
  }
  trace.truncated = cut.truncated || !cut.read_error.empty();
}

}  // namespace

core::Result<model::Trace> read_trace(core::ByteSource& source,
                                      const std::string& name,
                                      const OnProgress& on_progress) {
  model::Trace trace;
  trace.path = name;
  TraceBuilder builder(trace);
  EventParser parser(builder, trace.warnings);
  std::uint64_t reported = 0;
  const CutDocument cut = cut_events(source, [&](const EventBatch& batch) {
    parser.parse(batch);
    if (!on_progress) return;
    on_progress(source.file_bytes_read() - reported);
    reported = source.file_bytes_read();
  });
  ASSAY_TRY(check_content(cut, name));
  drop_stray_times(trace);
  trace.text_bytes = cut.text_bytes;
  trace.event_count = parser.event_count();
  take_facts(read_document(cut.rest), trace);
  note_damage(cut, trace);
  return trace;
}

core::Result<model::Trace> read_trace(const std::filesystem::path& path,
                                      const OnProgress& on_progress) {
  const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(path));
  return read_trace(*source, path.string(), on_progress);
}

}  // namespace assay::trace
