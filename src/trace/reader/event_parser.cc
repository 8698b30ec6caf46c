#include "trace/reader/event_parser.h"

#include <simdjson.h>

#include <cstring>
#include <string>
#include <utility>

#include "core/text.h"
#include "trace/reader/trace_builder.h"

namespace assay::trace {
namespace {

namespace json = simdjson::ondemand;

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ')
    token.remove_suffix(1);
  return token;
}

// Sets `token` to the value's own text. It stays empty for an object, since no field that we read
// is one.
bool read_token(json::value value, std::string_view& token) {
  json::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) {
    // The value is not JSON (for example NaN). Keep its text: the builder reports it.
    token = trimmed(value.raw_json_token());
    return true;
  }
  if (type == json::json_type::object) return true;
  if (type != json::json_type::array) {
    token = trimmed(value.raw_json_token());
    return true;
  }
  json::array array;
  return value.get_array().get(array) == simdjson::SUCCESS &&
         array.raw_json().get(token) == simdjson::SUCCESS;
}

bool read_key(simdjson::simdjson_result<json::field>& field, std::string_view& key) {
  json::raw_json_string raw;
  if (field.key().get(raw) != simdjson::SUCCESS) return false;
  // The closing quote exists: simdjson has indexed the string.
  key = {raw.raw(), static_cast<std::size_t>(std::strchr(raw.raw(), '"') - raw.raw())};
  return true;
}

template <class OnField>
bool for_each_field(json::object& object, const OnField& on_field) {
  for (auto field : object) {
    std::string_view key;
    json::value value;
    if (!read_key(field, key) || field.value().get(value) != simdjson::SUCCESS) return false;
    if (!on_field(key, value)) return false;
  }
  return true;
}

bool read_args(json::value value, RawEvent& raw) {
  json::object args;
  if (value.get_object().get(args) != simdjson::SUCCESS) return true;  // "args" is no object
  return for_each_field(args, [&raw](std::string_view key, json::value& field) {
    const RawField wanted = args_field(key);
    return wanted == nullptr || read_token(field, raw.*wanted);
  });
}

bool read_event(json::object& object, RawEvent& raw) {
  return for_each_field(object, [&raw](std::string_view key, json::value& field) {
    if (key == "args") {
      // "args" may stand before "cat". It must be read then, as the event may turn out to need it.
      const bool skip = !raw.category.empty() && !wants_args(raw.phase, raw.category);
      return skip || read_args(field, raw);
    }
    const RawField wanted = event_field(key);
    return wanted == nullptr || read_token(field, raw.*wanted);
  });
}

// Returns valid UTF-8 without control characters. Those are white space outside strings and
// forbidden inside them, so a blank can replace both.
std::string repaired(std::string_view text) {
  std::string result = core::valid_utf8(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return result;
}

}  // namespace

struct EventParser::Simdjson {
  json::parser parser;
};

EventParser::EventParser(OnEvent on_event, model::Warnings& warnings)
    : on_event_(std::move(on_event)),
      warnings_(warnings),
      simdjson_(std::make_unique<Simdjson>()) {}

EventParser::~EventParser() = default;

void EventParser::parse(const EventBatch& batch) {
  for (std::size_t i = parse_together(batch); i < batch.events.size(); ++i) {
    const EventBatch::Range range = batch.events[i];
    parse_alone({batch.text + range.begin, range.end - range.begin});
  }
}

std::size_t EventParser::parse_together(const EventBatch& batch) {
  char* const text = batch.text - 1;
  text[0] = '[';
  text[batch.size + 1] = ']';
  const std::size_t size = batch.size + 2;
  json::document document;
  json::array events;
  const simdjson::padded_string_view padded(text, size, size + simdjson::SIMDJSON_PADDING);
  if (simdjson_->parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_array().get(events) != simdjson::SUCCESS) {
    return 0;
  }
  std::size_t parsed = 0;
  for (auto element : events) {
    json::object object;
    RawEvent raw;
    if (parsed == batch.events.size() || element.get_object().get(object) != simdjson::SUCCESS ||
        !read_event(object, raw)) {
      return parsed;
    }
    const EventBatch::Range range = batch.events[parsed];
    on_event_(raw, next_uid_++, {batch.text + range.begin, range.end - range.begin});
    ++parsed;
  }
  return parsed;
}

void EventParser::parse_alone(std::string_view event) {
  const simdjson::padded_string padded(event);
  json::document document;
  json::object object;
  RawEvent raw;
  if (simdjson_->parser.iterate(padded).get(document) == simdjson::SUCCESS &&
      document.get_object().get(object) == simdjson::SUCCESS && read_event(object, raw)) {
    on_event_(raw, next_uid_, event);
  } else if (!repair_and_parse(event)) {
    warnings_.add("unreadable event", "left out", event.substr(0, 80));
  }
  ++next_uid_;
}

bool EventParser::repair_and_parse(std::string_view event) {
  const std::string text = repaired(event);
  const simdjson::padded_string padded(text);
  json::document document;
  json::object object;
  RawEvent raw;
  if (simdjson_->parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS || !read_event(object, raw)) {
    return false;
  }
  const bool utf8 = core::valid_utf8(event) == event;
  warnings_.add(utf8 ? "control characters in a text" : "text that is not valid UTF-8",
                utf8 ? "read as blanks" : "read with replacement characters", raw.name);
  on_event_(raw, next_uid_, text);
  return true;
}

}  // namespace assay::trace
