// Reads JSON that other processes wrote, one object on each line. Fields are read by name and type,
// and errors name them. A null field counts as absent.
#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::core::fields {

using nlohmann::json;

// Error: what the value is not, such as "not a whole number". Numbers are finite; an integer fits
// into 64 bits with its sign.
template <class Value>
Result<Value> value_as(const json& value);
template <>
Result<std::int64_t> value_as(const json& value);
template <>
Result<std::uint64_t> value_as(const json& value);
template <>
Result<double> value_as(const json& value);
template <>
Result<bool> value_as(const json& value);
template <>
Result<std::string> value_as(const json& value);
template <>
Result<std::vector<double>> value_as(const json& value);
template <>
Result<std::vector<std::string>> value_as(const json& value);

// Null when the field is absent.
const json* find(const json& object, const char* name);
Result<const json*> member(const json& object, const char* name);
Result<const json*> object_member(const json& object, const char* name);

Error in_field(const char* name, const Error& error);

template <class Value>
Result<Value> field(const json& object, const char* name) {
  const json* value = ASSAY_TRY(member(object, name));
  auto read = value_as<Value>(*value);
  if (!read.ok()) return in_field(name, read.error());
  return read;
}

// An absent field leaves `target` as it is.
template <class Value>
Status read(const json& object, const char* name, Value& target) {
  if (find(object, name) == nullptr) return {};
  target = ASSAY_TRY(field<Value>(object, name));
  return {};
}

template <class Value>
Status read(const json& object, const char* name, std::optional<Value>& target) {
  if (find(object, name) == nullptr) return {};
  target = ASSAY_TRY(field<Value>(object, name));
  return {};
}

// Reads a count, which must be at least 0.
Status read_count(const json& object, const char* name, std::int64_t& target);
Status read_int(const json& object, const char* name, int& target);

// Parses a line, which must be one object.
Result<json> object_of_line(std::string_view line);

// An error that quotes the line, or the beginning of a long one.
Error in_line(std::string_view line, const std::string& problem);

// Parses a line and gives its object to `read_object`; errors quote the line.
template <class Value>
Result<Value> parse_line(std::string_view line, Result<Value> (*read_object)(const json&)) {
  const json object = ASSAY_TRY(object_of_line(line));
  auto value = read_object(object);
  if (!value.ok()) return in_line(line, value.error().message);
  return value;
}

// A kind of message that a protocol has.
template <class Message>
struct MessageKind {
  const char* name;  // the field that only messages of this kind have
  Result<Message> (*read)(const json& object);
};

// The error of an object that is no known message; it names the fields.
Error unknown_kind(const json& object);

template <class Message, std::size_t kCount>
Result<Message> read_message(const json& object,
                             const std::array<MessageKind<Message>, kCount>& kinds) {
  for (const MessageKind<Message>& kind : kinds) {
    if (object.contains(kind.name)) return kind.read(object);
  }
  return unknown_kind(object);
}

}  // namespace assay::core::fields
