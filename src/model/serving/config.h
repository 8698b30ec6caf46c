// The fields of a model's config.json. Errors name the file and the field; a field that is null
// counts as absent, unless a function says otherwise.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::serving {

class Config {
 public:
  struct Default {
    const char* field;
    std::int64_t value;
  };

  // `name` is what errors call the text: a path. Error: no object of JSON.
  static core::Result<Config> parse(std::string_view text, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }

  // The same with values for fields that are absent; one that is null stays so.
  [[nodiscard]] Config with_defaults(const std::vector<Default>& defaults) const;

  // Null counts as absent.
  [[nodiscard]] bool has(const char* field) const;

  // A whole number of at least 1 and at most 2^24.
  [[nodiscard]] core::Result<std::int64_t> count(const char* field) const;
  // The same, or `absent` where there is no such field; 0 is allowed.
  [[nodiscard]] core::Result<std::int64_t> count_or(const char* field, std::int64_t absent) const;
  // The same, but `of_null` where the field is there and null.
  [[nodiscard]] core::Result<std::int64_t> count_or(const char* field,
                                                    std::int64_t absent,
                                                    std::int64_t of_null) const;
  [[nodiscard]] core::Result<double> real_or(const char* field, double absent) const;
  [[nodiscard]] core::Result<bool> flag_or(const char* field, bool absent) const;
  [[nodiscard]] core::Result<std::string> text(const char* field) const;
  // Empty where there is no such field.
  [[nodiscard]] core::Result<std::vector<std::string>> words(const char* field) const;
  [[nodiscard]] core::Result<std::vector<std::int64_t>> counts(const char* field) const;
  // An object within this one, such as "text_config". Precondition: has(field).
  [[nodiscard]] core::Result<Config> part(const char* field) const;
  // The objects within an object, by name. Empty where there is no such field.
  [[nodiscard]] core::Result<std::vector<std::pair<std::string, Config>>> parts(
      const char* field) const;

  // "config.json: num_attention_heads: <problem>"
  [[nodiscard]] core::Error error(const std::string& field, const std::string& problem) const;

 private:
  Config(nlohmann::json object, std::string name, std::string prefix)
      : object_(std::move(object)), name_(std::move(name)), prefix_(std::move(prefix)) {}

  [[nodiscard]] core::Result<std::int64_t> number(const char* field, std::int64_t least) const;

  nlohmann::json object_;
  std::string name_;
  std::string prefix_;  // "text_config." for a part
};

}  // namespace assay::serving
