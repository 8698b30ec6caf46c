// Fields of JSON that others wrote, read by name and type; errors name the field. A field that is
// null counts as absent.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "model/perf.h"

namespace assay::collect::fields {

using nlohmann::json;

// Error: what the value is not, such as "not a whole number". Numbers are finite; an integer fits
// into 64 bits with its sign.
template <class Value>
core::Result<Value> value_as(const json& value);
template <>
core::Result<std::int64_t> value_as(const json& value);
template <>
core::Result<double> value_as(const json& value);
template <>
core::Result<bool> value_as(const json& value);
template <>
core::Result<std::string> value_as(const json& value);
template <>
core::Result<model::PerfValue> value_as(const json& value);
template <>
core::Result<std::vector<double>> value_as(const json& value);
template <>
core::Result<std::vector<std::string>> value_as(const json& value);

// Null: it is absent.
const json* find(const json& object, const char* name);
core::Result<const json*> member(const json& object, const char* name);
core::Result<const json*> object_member(const json& object, const char* name);

core::Error in_field(const char* name, const core::Error& error);

template <class Value>
core::Result<Value> field(const json& object, const char* name) {
  const json* value = ASSAY_TRY(member(object, name));
  auto read = value_as<Value>(*value);
  if (!read.ok()) return in_field(name, read.error());
  return read;
}

// What is absent keeps its value.
template <class Value>
core::Status read(const json& object, const char* name, Value& target) {
  if (find(object, name) == nullptr) return {};
  target = ASSAY_TRY(field<Value>(object, name));
  return {};
}

template <class Value>
core::Status read(const json& object, const char* name, std::optional<Value>& target) {
  if (find(object, name) == nullptr) return {};
  target = ASSAY_TRY(field<Value>(object, name));
  return {};
}

// At least 0.
core::Status read_count(const json& object, const char* name, std::int64_t& target);
core::Status read_int(const json& object, const char* name, int& target);

}  // namespace assay::collect::fields
