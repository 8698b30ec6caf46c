#include "trace/reader/reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/byte_source.h"
#include "model/trace.h"
#include "trace/reader/damage.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/event_parser.h"
#include "trace/reader/trace_builder.h"

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

void read_devices(const Json& devices, DocumentFacts& facts) {
  if (!devices.is_array() || devices.empty()) return;
  facts.device_count = static_cast<int>(devices.size());
  if (!devices[0].is_object()) return;
  const auto name = devices[0].find("name");
  if (name != devices[0].end() && name->is_string()) facts.gpu_name = name->get<std::string>();
}

// No profile lasts longer than a day.
constexpr std::int64_t kLongestProfileNs = 24LL * 3600 * 1'000'000'000;

template <class Visit>
void for_each_list(model::Trace& trace, const Visit& visit) {
  visit(trace.cpu_ops);
  visit(trace.runtime_calls);
  visit(trace.gpu_events);
  visit(trace.annotations);
}

bool is_plausible(model::Trace& trace) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for_each_list(trace, [&](const auto& records) {
    for (const auto& record : records) {
      first = std::min(first, record.start_ns);
      last = std::max(last, record.start_ns);
    }
  });
  return last < first || last - first <= kLongestProfileNs;
}

std::int64_t median_start_ns(model::Trace& trace) {
  std::vector<std::int64_t> starts;
  for_each_list(trace, [&](const auto& records) {
    for (const auto& record : records)
      starts.push_back(record.start_ns);
  });
  const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
  std::nth_element(starts.begin(), middle, starts.end());
  return *middle;
}

// Removes, with a warning, the events that start more than a day from the median start. A single
// one would stretch a total to years.
void drop_stray_times(model::Trace& trace) {
  if (is_plausible(trace)) return;
  const std::int64_t middle = median_start_ns(trace);
  for_each_list(trace, [&](auto& records) {
    std::erase_if(records, [&](const auto& record) {
      const bool near = record.start_ns >= middle - kLongestProfileNs &&
                        record.start_ns <= middle + kLongestProfileNs;
      if (near) return false;
      trace.warnings.add("start time (ts) more than a day from the others", "event left out",
                         trace.text(record.name));
      return true;
    });
  });
}

void take_facts(const DocumentFacts& facts, model::Trace& trace) {
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
  trace.gpu_name = facts.gpu_name;
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

DocumentFacts read_document(const std::string& text) {
  DocumentFacts facts;
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  facts.valid = !document.is_discarded();
  if (!document.is_object()) return facts;
  if (const auto info = document.find("distributedInfo"); info != document.end()) {
    facts.rank = integer_member(*info, "rank");
    facts.rank_is_damaged = !facts.rank && info->is_object() && info->contains("rank");
    facts.world_size = integer_member(*info, "world_size");
  }
  if (const auto devices = document.find("deviceProperties"); devices != document.end()) {
    read_devices(*devices, facts);
  }
  return facts;
}

core::Result<model::Trace> read_trace(core::ByteSource& source,
                                      const std::string& name,
                                      const OnProgress& on_progress,
                                      std::size_t chunk_bytes,
                                      const Reading& reading) {
  model::Trace trace;
  trace.path = name;
  if (reading.flows == LaunchFlows::kRead) trace.launch_flows.emplace();
  TraceBuilder builder(trace, reading.python == PythonCalls::kAll);
  const auto add = [&builder](const RawEvent& event, std::uint32_t uid, std::string_view) {
    builder.add(event, uid);
  };
  EventParser parser(add, trace.warnings);
  std::uint64_t reported = 0;
  EventCheck check;
  const bool looks_for_damage = reading.damage == FileDamage::kDescribe;
  const auto consume = [&](const EventBatch& batch) {
    if (looks_for_damage) check.add(batch);
    parser.parse(batch);
    if (!on_progress) return;
    on_progress(source.file_bytes_read() - reported);
    reported = source.file_bytes_read();
  };
  const CutDocument cut = cut_events(source, consume, chunk_bytes);
  ASSAY_TRY(check_content(cut, name));
  drop_stray_times(trace);
  trace.text_bytes = cut.text_bytes;
  trace.event_count = parser.event_count();
  const DocumentFacts facts = read_document(cut.rest);
  if (looks_for_damage) trace.damage = damage_in_words(cut, check, facts.valid);
  take_facts(facts, trace);
  note_damage(cut, trace);
  return trace;
}

core::Result<model::Trace> read_trace(const std::filesystem::path& path,
                                      const OnProgress& on_progress,
                                      const Reading& reading) {
  const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(path));
  return read_trace(*source, path.string(), on_progress, kDefaultChunkBytes, reading);
}

}  // namespace assay::trace
