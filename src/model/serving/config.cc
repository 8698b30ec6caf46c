#include "model/serving/config.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "core/json_fields.h"
#include "core/text.h"

namespace assay::serving {
namespace {

// No size of a model comes near it, and the product of two such sizes and a few tokens fits into 64
// bits.
constexpr std::int64_t kMostOfASize = std::int64_t{1} << 24;

// Copies of JSON call themselves for each level of brackets.
constexpr int kMostLevels = 100;

// Returns std::nullopt if there are more levels.
std::optional<nlohmann::json> parse_shallow(std::string_view text) {
  bool is_deep = false;
  const auto keeps = [&](int depth, nlohmann::json::parse_event_t /*event*/, nlohmann::json&) {
    is_deep = is_deep || depth > kMostLevels;
    return !is_deep;
  };
  nlohmann::json parsed = nlohmann::json::parse(text, keeps, false);
  if (is_deep) return std::nullopt;
  return parsed;
}

}  // namespace

core::Result<Config> Config::parse(std::string_view text, std::string name) {
  std::optional<nlohmann::json> object = parse_shallow(text);
  if (!object)
    return core::Error{fmt::format("{}: more than {} levels of brackets", name, kMostLevels)};
  if (!object->is_object())
    return core::Error{name + ": no JSON object, so this is no model's config.json"};
  return Config(std::move(*object), std::move(name), "");
}

Config Config::with_defaults(const std::vector<Default>& defaults) const {
  Config filled = *this;
  for (const Default& one : defaults) {
    if (!filled.object_.contains(one.field)) filled.object_[one.field] = one.value;
  }
  return filled;
}

bool Config::has(const char* field) const {
  return core::fields::find(object_, field) != nullptr;
}

core::Error Config::error(const std::string& field, const std::string& problem) const {
  return core::Error{fmt::format("{}: {}{}: {}", name_, prefix_, field, problem)};
}

core::Result<std::int64_t> Config::number(const char* field, std::int64_t least) const {
  const auto* value = core::fields::find(object_, field);
  if (value == nullptr) return error(field, "the field is missing");
  const auto read = core::fields::value_as<std::int64_t>(*value);
  if (!read.ok()) return error(field, "it is " + read.error().message);
  if (read.value() < least || read.value() > kMostOfASize)
    return error(field, fmt::format("it is {}, and must be {} to 2^24", read.value(), least));
  return read.value();
}

core::Result<std::int64_t> Config::count(const char* field) const {
  return number(field, 1);
}

core::Result<std::int64_t> Config::count_or(const char* field, std::int64_t absent) const {
  if (!has(field)) return absent;
  return number(field, 0);
}

core::Result<std::int64_t> Config::count_or(const char* field,
                                            std::int64_t absent,
                                            std::int64_t of_null) const {
  return count_or(field, object_.contains(field) ? of_null : absent);
}

core::Result<double> Config::real_or(const char* field, double absent) const {
  const auto* value = core::fields::find(object_, field);
  if (value == nullptr) return absent;
  const auto read = core::fields::value_as<double>(*value);
  if (!read.ok()) return error(field, "it is " + read.error().message);
  return read.value();
}

core::Result<bool> Config::flag_or(const char* field, bool absent) const {
  const auto* value = core::fields::find(object_, field);
  if (value == nullptr) return absent;
  const auto read = core::fields::value_as<bool>(*value);
  if (!read.ok()) return error(field, "it is " + read.error().message);
  return read.value();
}

core::Result<std::string> Config::text(const char* field) const {
  const auto* value = core::fields::find(object_, field);
  if (value == nullptr) return error(field, "the field is missing");
  auto read = core::fields::value_as<std::string>(*value);
  if (!read.ok()) return error(field, "it is " + read.error().message);
  return read;
}

core::Result<std::vector<std::string>> Config::words(const char* field) const {
  const auto* value = core::fields::find(object_, field);
  if (value == nullptr) return std::vector<std::string>();
  auto read = core::fields::value_as<std::vector<std::string>>(*value);
  if (!read.ok()) return error(field, "it is " + read.error().message);
  return read;
}

core::Result<std::vector<std::int64_t>> Config::counts(const char* field) const {
  const auto* value = core::fields::find(object_, field);
  std::vector<std::int64_t> made;
  if (value == nullptr) return made;
  if (!value->is_array()) return error(field, "it is no list");
  for (const auto& entry : *value) {
    const auto read = core::fields::value_as<std::int64_t>(entry);
    if (!read.ok()) return error(field, "an entry is " + read.error().message);
    made.push_back(read.value());
  }
  return made;
}

core::Result<Config> Config::part(const char* field) const {
  const auto* value = core::fields::find(object_, field);
  if (value == nullptr || !value->is_object()) return error(field, "it is no object");
  return Config(*value, name_, prefix_ + field + ".");
}

core::Result<std::vector<std::pair<std::string, Config>>> Config::parts(const char* field) const {
  std::vector<std::pair<std::string, Config>> made;
  if (!has(field)) return made;
  const Config all = ASSAY_TRY(part(field));
  for (const auto& [name, value] : all.object_.items()) {
    if (value.is_object()) made.emplace_back(name, ASSAY_TRY(all.part(name.c_str())));
  }
  return made;
}

}  // namespace assay::serving
