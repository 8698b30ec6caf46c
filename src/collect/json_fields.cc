#include "collect/json_fields.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

namespace assay::collect::fields {
namespace {

template <class Element>
core::Result<std::vector<Element>> list_of(const json& value) {
  if (!value.is_array()) return core::Error{"not a list"};
  std::vector<Element> elements;
  for (const json& element : value)
    elements.push_back(ASSAY_TRY(value_as<Element>(element)));
  return elements;
}

}  // namespace

template <>
core::Result<std::int64_t> value_as(const json& value) {
  if (!value.is_number_integer()) return core::Error{"not a whole number"};
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
    return core::Error{"too large"};
  }
  return value.get<std::int64_t>();
}

template <>
core::Result<double> value_as(const json& value) {
  if (!value.is_number()) return core::Error{"not a number"};
  const auto number = value.get<double>();
  if (!std::isfinite(number)) return core::Error{"not a finite number"};
  return number;
}

template <>
core::Result<bool> value_as(const json& value) {
  if (!value.is_boolean()) return core::Error{"not true or false"};
  return value.get<bool>();
}

template <>
core::Result<std::string> value_as(const json& value) {
  if (!value.is_string()) return core::Error{"not a text"};
  return value.get<std::string>();
}

template <>
core::Result<model::PerfValue> value_as(const json& value) {
  if (value.is_number_integer()) {
    return model::PerfValue(ASSAY_TRY(value_as<std::int64_t>(value)));
  }
  if (value.is_number()) return model::PerfValue(ASSAY_TRY(value_as<double>(value)));
  return model::PerfValue(ASSAY_TRY(value_as<std::string>(value)));
}

template <>
core::Result<std::vector<double>> value_as(const json& value) {
  return list_of<double>(value);
}

template <>
core::Result<std::vector<std::string>> value_as(const json& value) {
  return list_of<std::string>(value);
}

const json* find(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

core::Error in_field(const char* name, const core::Error& error) {
  return error.context(std::string("field '") + name + "'");
}

core::Result<const json*> member(const json& object, const char* name) {
  if (const json* value = find(object, name)) return value;
  return core::Error{std::string("no field '") + name + "'"};
}

core::Result<const json*> object_member(const json& object, const char* name) {
  const json* value = ASSAY_TRY(member(object, name));
  if (!value->is_object()) return in_field(name, core::Error{"not an object"});
  return value;
}

core::Status read_count(const json& object, const char* name, std::int64_t& target) {
  ASSAY_TRY(read(object, name, target));
  if (target < 0) return in_field(name, core::Error{"less than 0"});
  return {};
}

core::Status read_int(const json& object, const char* name, int& target) {
  std::int64_t wide = target;
  ASSAY_TRY(read_count(object, name, wide));
  if (wide > std::numeric_limits<int>::max()) return in_field(name, core::Error{"too large"});
  target = static_cast<int>(wide);
  return {};
}

}  // namespace assay::collect::fields
