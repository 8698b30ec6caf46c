// One entry of traceEvents as it stands in the file: JSON tokens, not yet interpreted.
#pragma once

#include <string_view>

namespace assay::trace {

// Tokens are views into the batch, trimmed, strings with their quotes; empty when absent.
struct RawEvent {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view pid;
  std::string_view tid;
  std::string_view ts;
  std::string_view dur;

  // From "args".
  std::string_view external_id;
  std::string_view correlation;
  std::string_view sequence;
  std::string_view device;
  std::string_view stream;
  std::string_view grid;
  std::string_view block;
  std::string_view input_dims;
  std::string_view input_types;
  std::string_view input_strides;
  std::string_view concrete_inputs;
  std::string_view collective_name;
  std::string_view dtype;
  std::string_view group_name;
  std::string_view group_description;
  std::string_view group_ranks;
  std::string_view group_size;
  std::string_view in_elements;
  std::string_view out_elements;
  std::string_view in_split;
  std::string_view out_split;
  std::string_view rank;
  std::string_view args_name;
  std::string_view args_labels;
};

// The field that an event's own key or an args key names; nullptr for keys that nobody reads.
using RawField = std::string_view RawEvent::*;
RawField event_field(std::string_view key);
RawField args_field(std::string_view key);

}  // namespace assay::trace
