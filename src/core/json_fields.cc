#include "core/json_fields.h"

#include <cmath>
#include <limits>

namespace assay::core::fields {
namespace {

constexpr std::size_t kQuotedLength = 120;  // of a line that cannot be read

template <class Element>
Result<std::vector<Element>> list_of(const json& value) {
  if (!value.is_array()) return Error{"not a list"};
  std::vector<Element> elements;
  for (const json& element : value)
    elements.push_back(ASSAY_TRY(value_as<Element>(element)));
  return elements;
}

}  // namespace

template <>
Result<std::int64_t> value_as(const json& value) {
  if (!value.is_number_integer()) return Error{"not a whole number"};
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
    return Error{"too large"};
  }
  return value.get<std::int64_t>();
}

template <>
Result<std::uint64_t> value_as(const json& value) {
  if (!value.is_number_integer()) return Error{"not a whole number"};
  if (!value.is_number_unsigned()) return Error{"less than 0"};
  return value.get<std::uint64_t>();
}

template <>
Result<double> value_as(const json& value) {
  if (!value.is_number()) return Error{"not a number"};
  const auto number = value.get<double>();
  if (!std::isfinite(number)) return Error{"not a finite number"};
  return number;
}

template <>
Result<bool> value_as(const json& value) {
  if (!value.is_boolean()) return Error{"not true or false"};
  return value.get<bool>();
}

template <>
Result<std::string> value_as(const json& value) {
  if (!value.is_string()) return Error{"not a text"};
  return value.get<std::string>();
}

template <>
Result<std::vector<double>> value_as(const json& value) {
  return list_of<double>(value);
}

template <>
Result<std::vector<std::string>> value_as(const json& value) {
  return list_of<std::string>(value);
}

const json* find(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Error in_field(const char* name, const Error& error) {
  return error.context(std::string("field '") + name + "'");
}

Result<const json*> member(const json& object, const char* name) {
  if (const json* value = find(object, name)) return value;
  return Error{std::string("no field '") + name + "'"};
}

Result<const json*> object_member(const json& object, const char* name) {
  const json* value = ASSAY_TRY(member(object, name));
  if (!value->is_object()) return in_field(name, Error{"not an object"});
  return value;
}

Status read_count(const json& object, const char* name, std::int64_t& target) {
  ASSAY_TRY(read(object, name, target));
  if (target < 0) return in_field(name, Error{"less than 0"});
  return {};
}

Status read_int(const json& object, const char* name, int& target) {
  std::int64_t wide = target;
  ASSAY_TRY(read_count(object, name, wide));
  if (wide > std::numeric_limits<int>::max()) return in_field(name, Error{"too large"});
  target = static_cast<int>(wide);
  return {};
}

Result<json> object_of_line(std::string_view line) {
  constexpr bool kThrow = false;
  json object = json::parse(line, nullptr, kThrow);
  if (object.is_discarded()) return in_line(line, "no JSON");
  if (!object.is_object()) return in_line(line, "no JSON object");
  return object;
}

Error in_line(std::string_view line, const std::string& problem) {
  std::string quoted(line.substr(0, kQuotedLength));
  if (quoted.size() < line.size()) quoted += "...";
  return Error{problem + " in '" + quoted + "'"};
}

Error unknown_kind(const json& object) {
  std::string names;
  for (const auto& [name, value] : object.items())
    names += (names.empty() ? "'" : ", '") + name + "'";
  return Error{"unknown kind of message with the fields " +
               (names.empty() ? std::string("none") : names)};
}

}  // namespace assay::core::fields
