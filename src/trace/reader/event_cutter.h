// Finds where each event of a trace begins and ends, without parsing it, by counting the brackets
// outside strings. So a document of any size streams through one small buffer; simdjson itself
// refuses documents over 4 GB.
//
// A trace is an object with the array "traceEvents", or just that array.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/byte_source.h"
#include "core/result.h"

namespace assay::trace {

// Complete events, in a buffer with room for simdjson's padding after them and one byte before.
struct EventBatch {
  char* text = nullptr;  // from the first event's '{' …
  std::size_t size = 0;  // … to the last event's '}'

  struct Range {
    std::uint32_t begin;
    std::uint32_t end;
  };

  std::span<const Range> events;  // offsets in `text`
};

// The amount of a document that is read at a time. Tests use less, so that events cross the border.
inline constexpr std::size_t kDefaultChunkBytes = std::size_t{1} << 20;

struct CutDocument {
  std::string rest;  // the document without its events; closed where it was cut off
  std::uint64_t text_bytes = 0;
  bool found_events = false;  // whether there was an array of events
  std::string read_error;     // the error that ended the stream (damaged gzip); "" for none
  bool truncated = false;     // whether the text ended inside the document
  // Brackets that close nothing, close the other kind, or are missing. The events around them are
  // lost.
  std::int64_t misplaced_brackets = 0;
};

// Reads the whole source, `chunk_bytes` at a time, with a buffer of twice that size (more when one
// event is longer). Gives every complete event to `consume` once, in order, in batches.
CutDocument cut_events(core::ByteSource& source,
                       const std::function<void(const EventBatch&)>& consume,
                       std::size_t chunk_bytes = kDefaultChunkBytes);

// Fails when the document has no array of events.
core::Status check_content(const CutDocument& cut, const std::string& name);

}  // namespace assay::trace
