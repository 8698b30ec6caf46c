// Finds where each event of a trace begins and ends, without parsing it: brackets are counted
// outside strings, 64 bytes at a time. So a document of any size streams through one small
// buffer; simdjson itself refuses documents over 4 GB.
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

// Whole events, in a buffer that has room for simdjson's padding after them and one byte before.
struct EventBatch {
  char* text = nullptr;  // from the first event's '{' …
  std::size_t size = 0;  // … to the last event's '}'

  struct Range {
    std::uint32_t begin;
    std::uint32_t end;
  };

  std::span<const Range> events;  // offsets in `text`
};

struct CutDocument {
  std::string rest;  // the document with its events left out, closed where it was cut off
  std::uint64_t text_bytes = 0;
  bool found_events = false;  // there was an array of events
  std::string read_error;     // the stream ended in an error (damaged gzip), "" otherwise
  bool truncated = false;     // the text ended inside the document
  // Brackets that close nothing, close the other kind, or are missing. What they enclose is lost.
  std::int64_t misplaced_brackets = 0;
};

// Reads the whole source, `chunk_bytes` at a time, and needs twice their memory (and the longest
// event's). `consume` gets every complete event once, in order, in batches.
CutDocument cut_events(core::ByteSource& source,
                       const std::function<void(const EventBatch&)>& consume,
                       std::size_t chunk_bytes = std::size_t{1} << 20);

// An error where there was nothing to read: no array of events.
core::Status check_content(const CutDocument& cut, const std::string& name);

}  // namespace assay::trace
