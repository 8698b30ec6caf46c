// Reads the mappings of a YAML file field by field, with errors that tell the line, the field and
// what was expected. Only sources that read YAML include this.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay::simulate {

core::Error at_line(const YAML::Node& node, const std::string& what);

// The fields of a mapping, each of which is asked for once; finish() refuses the others. A field
// that is absent leaves the target as it is.
class Fields {
 public:
  // `what` names the mapping in errors.
  static core::Result<Fields> of(const YAML::Node& node, std::string what);

  [[nodiscard]] bool has(const char* name);

  [[nodiscard]] YAML::Node at(const char* name) const { return node_[name]; }

  [[nodiscard]] const YAML::Node& node() const { return node_; }

  core::Status take_text(const char* name, std::string& target);
  core::Status take_count(const char* name, std::uint32_t& target, std::uint32_t least = 1);
  core::Status take_number(const char* name, double& target, double least, double most);
  core::Status take_seed(std::uint64_t& target);
  core::Status take_flag(const char* name, bool& target);

  // "400 Gbit/s", in bytes per ns.
  core::Status take_rate(const char* name, std::optional<double>& target);
  // "1.5 us", in ns.
  core::Status take_time(const char* name, std::optional<double>& target);
  // "25 %", as a share.
  core::Status take_share(const char* name, double& target, double most);
  core::Status take_rate_or_share(const char* name,
                                  std::optional<double>& rate,
                                  double& share,
                                  double most_share);

  core::Status take_words(const char* name, std::vector<std::string>& target);
  // Two names.
  core::Status take_pair(const char* name, std::string& a, std::string& b);

  [[nodiscard]] core::Status finish() const;

  // Errors about the whole mapping, and about one of its fields.
  [[nodiscard]] core::Error error(const std::string& what) const;
  [[nodiscard]] core::Error bad(const char* name, const std::string& why) const;

 private:
  Fields(const YAML::Node& node, std::string what) : node_(node), what_(std::move(what)) {}

  // Not changed: a lookup by name in a node that may change adds the name.
  const YAML::Node node_;
  std::string what_;
  std::vector<std::string> known_;
};

// Calls take(fields) for each mapping of the list.
template <class Take>
core::Status for_each_item(Fields& all,
                           const char* name,
                           const std::string& what,
                           const Take& take) {
  if (!all.has(name)) return {};
  if (!all.at(name).IsSequence()) return all.bad(name, "is no list");
  for (const auto& item : all.at(name)) {
    Fields fields = ASSAY_TRY(Fields::of(item, what));
    ASSAY_TRY(take(fields));
    ASSAY_TRY(fields.finish());
  }
  return {};
}

}  // namespace assay::simulate
