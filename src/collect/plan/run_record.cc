#include "collect/plan/run_record.h"

#include <fmt/core.h>

#include <vector>

#include "core/text.h"

namespace assay::collect {
namespace {

std::string shown(const std::string& value) {
  return value.empty() ? "not given" : value;
}

}  // namespace

Settings with_prefix(const Settings& settings, const std::string& prefix) {
  Settings prefixed;
  for (const auto& [name, value] : settings)
    prefixed[prefix + name] = value;
  return prefixed;
}

Settings without_prefix(const Settings& settings, const std::string& prefix) {
  Settings kept;
  for (const auto& [name, value] : settings) {
    if (name.starts_with(prefix)) kept[name.substr(prefix.size())] = value;
  }
  return kept;
}

std::string fact_of(const Settings& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

Settings facts_of(const DeviceFacts& device) {
  Settings facts = device.more;
  facts["kind"] = device.kind;
  facts["name"] = device.name;
  facts["framework"] = device.framework;
  facts["version"] = device.version;
  facts["SM version"] = std::to_string(device.sm_version);
  return facts;
}

Settings recorded_settings(const store::Run& run) {
  return without_prefix(run.facts, kSettingPrefix);
}

Settings recorded_device(const store::Run& run) {
  return without_prefix(run.facts, kDevicePrefix);
}

std::string differences(const Settings& then, const Settings& now, const std::string& prefix) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : then) {
    if (!name.starts_with(prefix)) continue;
    const std::string current = fact_of(now, name.c_str());
    if (current == value) continue;
    parts.push_back(fmt::format("{} was {} and is {}", name.substr(prefix.size()), shown(value),
                                shown(current)));
  }
  return core::join(parts, ", ");
}

}  // namespace assay::collect
