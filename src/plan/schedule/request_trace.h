// Recorded requests as a workload.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "plan/schedule/workload.h"

namespace assay::plan {

struct RequestTraceOptions {
  // Tokens of a prompt that one of its hashes stands for; public traces have 512.
  std::int64_t tokens_of_hash = 512;
  // Arrivals come so many times as fast.
  double speed = 1;
};

// Reads the JSON lines of Mooncake's traces: "timestamp" (milliseconds), "input_length",
// "output_length" and, where prompts share something, "hash_ids", one for each piece of the prompt
// and all before it. Also by their names "created_time", "input_tokens" and "output_tokens".
// Requests are sorted by time, and the first arrives at 0. Lines with a "session_id" are turns of
// conversations, in their order: "input_length" is what a turn adds, the first one's "timestamp"
// says when the conversation begins (0 where it has none), and "delay" how many milliseconds behind
// the answer before it another one comes. Error: the line, and what is wrong with
// it.
core::Result<Workload> parse_request_trace(std::string_view lines,
                                           const std::string& name,
                                           const RequestTraceOptions& options = {});

}  // namespace assay::plan
