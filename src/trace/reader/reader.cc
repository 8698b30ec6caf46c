#include "trace/reader/reader.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/byte_source.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/event_parser.h"
#include "trace/reader/stray_times.h"

namespace assay::trace {
namespace {

using Json = nlohmann::json;

std::optional<int> integer_member(const Json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto member = object.find(name);
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  const auto value = member->get<std::int64_t>();
  if (value < 0 || value > model::kHighestRank) return std::nullopt;
  return static_cast<int>(value);
}

void read_devices(const Json& devices, model::Trace& trace) {
  if (!devices.is_array() || devices.empty()) return;
  trace.device_count = static_cast<int>(devices.size());
  if (!devices[0].is_object()) return;
  const auto name = devices[0].find("name");
  if (name != devices[0].end() && name->is_string()) trace.gpu_name = name->get<std::string>();
}

// The members beside traceEvents. Only named facts are taken: the rest may hold a host's
// whole environment.
void read_document(const std::string& text, model::Trace& trace) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    trace.warnings.add("the document around the events is not valid JSON",
                       "rank and devices are not known from it", trace.path);
    return;
  }
  if (!document.is_object()) return;
  if (const auto info = document.find("distributedInfo"); info != document.end()) {
    trace.rank = integer_member(*info, "rank");
    if (!trace.rank && info->is_object() && info->contains("rank")) {
      trace.warnings.add("distributedInfo.rank that is no rank", "not used", trace.path);
    }
    trace.world_size = integer_member(*info, "world_size");
  }
  if (const auto devices = document.find("deviceProperties"); devices != document.end()) {
    read_devices(*devices, trace);
  }
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

core::Status check_content(const CutDocument& cut, const std::string& name) {
  if (cut.found_events) return {};
  if (!cut.read_error.empty()) return core::Error{cut.read_error};
  if (cut.text_bytes == 0) return core::Error{fmt::format("'{}' is empty", name)};
  return core::Error{
      fmt::format("'{}' is not a PyTorch profiler trace: it has no array \"traceEvents\"", name)};
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
  read_document(cut.rest, trace);
  note_damage(cut, trace);
  return trace;
}

core::Result<model::Trace> read_trace(const std::filesystem::path& path,
                                      const OnProgress& on_progress) {
  const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(path));
  return read_trace(*source, path.string(), on_progress);
}

}  // namespace assay::trace
