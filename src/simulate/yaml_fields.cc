#include "simulate/yaml_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace assay::simulate {
namespace {

constexpr double kMostCount = 100'000;
constexpr double kMostTimeNs = 1e15;
constexpr double kMostBytesPerNs = 1e9;
constexpr double kLeastBytesPerNs = 1e-9;

struct YamlUnit {
  const char* name;
  double factor;
};

// To bytes per ns.
constexpr std::array<YamlUnit, 8> kRates = {{{"Gbit/s", 0.125},
                                             {"Gb/s", 0.125},
                                             {"Mbit/s", 0.125e-3},
                                             {"Tbit/s", 125},
                                             {"GB/s", 1},
                                             {"MB/s", 1e-3},
                                             {"GiB/s", 1.073741824},
                                             {"TB/s", 1000}}};
constexpr std::array<YamlUnit, 3> kTimes = {{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}}};
constexpr std::array<YamlUnit, 1> kShares = {{{"%", 0.01}}};

// A number with a unit, such as "400 Gbit/s" or "1.5us".
template <std::size_t N>
std::optional<double> quantity(std::string_view text, const std::array<YamlUnit, N>& units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (text.starts_with(' '))
    text.remove_prefix(1);
  for (const YamlUnit& unit : units) {
    if (text == unit.name) return number * unit.factor;
  }
  return std::nullopt;
}

template <std::size_t N>
std::optional<double> scalar(const YAML::Node& node, const std::array<YamlUnit, N>& units) {
  return node.IsScalar() ? quantity(node.Scalar(), units) : std::nullopt;
}

}  // namespace

core::Error at_line(const YAML::Node& node, const std::string& what) {
  return core::Error{fmt::format("line {}: {}", node.Mark().line + 1, core::printable_line(what))};
}

core::Result<Fields> Fields::of(const YAML::Node& node, std::string what) {
  if (!node.IsMap()) {
    return at_line(node, fmt::format("{} is no mapping of names to values", what));
  }
  Fields fields(node, std::move(what));
  std::set<std::string> names;
  for (const auto& item : node) {
    if (!item.first.IsScalar()) {
      return at_line(item.first, fmt::format("a name in {} is no word", fields.what_));
    }
    if (!names.insert(item.first.Scalar()).second) {
      return at_line(item.first, fmt::format("'{}' is there twice", item.first.Scalar()));
    }
  }
  return fields;
}

bool Fields::has(const char* name) {
  known_.emplace_back(name);
  return node_[name].IsDefined();
}

core::Error Fields::error(const std::string& what) const {
  return at_line(node_, fmt::format("{} {}", what_, what));
}

core::Status Fields::take_text(const char* name, std::string& target) {
  if (!has(name)) return {};
  const YAML::Node node = at(name);
  if (!node.IsScalar() || node.Scalar().empty()) return bad(name, "is no word");
  target = node.Scalar();
  return {};
}

core::Status Fields::take_count(const char* name, std::uint32_t& target, std::uint32_t least) {
  double value = target;
  ASSAY_TRY(take_number(name, value, least, kMostCount));
  if (value != std::floor(value)) return bad(name, "is no whole number");
  target = static_cast<std::uint32_t>(value);
  return {};
}

core::Status Fields::take_number(const char* name, double& target, double least, double most) {
  if (!has(name)) return {};
  const YAML::Node node = at(name);
  double value = 0;
  const bool is_number = node.IsScalar() && YAML::convert<double>::decode(node, value);
  if (!is_number || !std::isfinite(value) || value < least || value > most) {
    return bad(name, fmt::format("is no number from {} to {}", least, most));
  }
  target = value;
  return {};
}

core::Status Fields::take_seed(std::uint64_t& target) {
  if (!has("seed")) return {};
  if (at("seed").IsScalar() && YAML::convert<std::uint64_t>::decode(at("seed"), target)) return {};
  return bad("seed", "is no whole number");
}

core::Status Fields::take_flag(const char* name, bool& target) {
  if (!has(name)) return {};
  if (at(name).IsScalar() && YAML::convert<bool>::decode(at(name), target)) return {};
  return bad(name, "is neither true nor false");
}

core::Status Fields::take_rate(const char* name, std::optional<double>& target) {
  if (!has(name)) return {};
  const auto value = scalar(at(name), kRates);
  if (!value || *value < kLeastBytesPerNs || *value > kMostBytesPerNs) {
    return bad(name, "is no bandwidth such as '400 Gbit/s' or '25 GB/s'");
  }
  target = value;
  return {};
}

core::Status Fields::take_time(const char* name, std::optional<double>& target) {
  if (!has(name)) return {};
  const auto value = scalar(at(name), kTimes);
  if (!value || *value < 0 || *value > kMostTimeNs) {
    return bad(name, "is no time such as '500 ns' or '1.5 us'");
  }
  target = value;
  return {};
}

core::Status Fields::take_share(const char* name, double& target, double most) {
  if (!has(name)) return {};
  const auto value = scalar(at(name), kShares);
  if (!value || *value < 0 || *value > most) {
    return bad(name, fmt::format("is no share from 0 % to {:g} %", most * 100));
  }
  target = *value;
  return {};
}

// A bandwidth, or a share of what there is.
core::Status Fields::take_rate_or_share(const char* name,
                                        std::optional<double>& rate,
                                        double& share,
                                        double most_share) {
  if (!has(name)) return {};
  if (at(name).IsScalar() && at(name).Scalar().ends_with('%')) {
    return take_share(name, share, most_share);
  }
  return take_rate(name, rate);
}

core::Status Fields::take_words(const char* name, std::vector<std::string>& target) {
  if (!has(name)) return {};
  if (!at(name).IsSequence()) return bad(name, "is no list of names");
  for (const auto& item : at(name)) {
    if (!item.IsScalar() || item.Scalar().empty()) return bad(name, "is no list of names");
    target.push_back(item.Scalar());
  }
  return {};
}

// Two names.
core::Status Fields::take_pair(const char* name, std::string& a, std::string& b) {
  std::vector<std::string> both;
  ASSAY_TRY(take_words(name, both));
  if (both.empty()) return {};
  if (both.size() != 2) return bad(name, "names two ends");
  a = both[0];
  b = both[1];
  return {};
}

core::Status Fields::finish() const {
  for (const auto& item : node_) {
    const std::string& name = item.first.Scalar();
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string near = core::nearest(name, known_);
    return at_line(item.first, fmt::format("{} has no field '{}'{}", what_, name,
                                           near.empty() ? fmt::format("; there are {}",
                                                                      core::join(known_, ", "))
                                                        : fmt::format("; did you mean {}?", near)));
  }
  return {};
}

core::Error Fields::bad(const char* name, const std::string& why) const {
  const YAML::Node node = at(name);
  return at_line(node,
                 fmt::format("'{}{}' of {} {}", name,
                             node.IsScalar() ? ": " + node.Scalar() : std::string(), what_, why));
}

}  // namespace assay::simulate
