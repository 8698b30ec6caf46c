// One entry of traceEvents as JSON tokens, and the interpretation of those tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::trace {

// The tokens are trimmed views into the batch. Strings keep their quotes; an absent field is empty.
struct RawEvent {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view pid;
  std::string_view tid;
  std::string_view ts;
  std::string_view dur;
  std::string_view id;

  // These fields come from "args".
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
  std::string_view module_hierarchy;
  std::string_view call_stack;
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
  std::string_view source_rank;
  std::string_view destination_rank;
  std::string_view args_name;
  std::string_view args_labels;
  std::string_view waits_for_stream;
  std::string_view waits_for_record;
};

// Return the field that a key of the event or of its "args" names, or nullptr for a key that we do
// not read.
using RawField = std::string_view RawEvent::*;
RawField event_field(std::string_view key);
RawField args_field(std::string_view key);

enum class NumberForm { kNumber, kNumberInText, kNotANumber, kAbsent };

struct Number {
  NumberForm form = NumberForm::kAbsent;
  std::int64_t value = 0;

  [[nodiscard]] bool usable() const {
    return form == NumberForm::kNumber || form == NumberForm::kNumberInText;
  }
};

// Reads decimal microseconds as integer nanoseconds, rounded to the nearest. kNotANumber stands for
// NaN, infinities, text without a number and numbers that do not fit 63 bits. The number functions
// also accept a number written as text, since some producers write one.
Number nanoseconds(std::string_view token);

// Reads an integer. A real number is rounded.
Number integer(std::string_view token);

// Returns a string token without its quotes and with its escapes resolved, any other token as it
// is. `scratch` holds the result when there were escapes.
std::string_view unquoted(std::string_view token, std::string& scratch);

}  // namespace assay::trace
