#include "sweep/preset.h"

#include <fmt/core.h>

#include <charconv>
#include <sstream>

namespace assay::sweep {
namespace {

core::Result<Setting> setting_of(const PresetSpec& preset, const std::string& pair) {
  if (pair == kDefaultSetting) return Setting{kDefaultSetting, {}};
  const std::size_t comma = pair.find(',');
  const bool is_pair = comma != std::string::npos && comma > 0 && comma + 1 < pair.size() &&
                       pair.find(',', comma + 1) == std::string::npos;
  if (!is_pair) {
    return core::Error{fmt::format("'{}' is not a pair {}", pair, preset.pair)};
  }
  auto setting = preset.make(pair.substr(0, comma), pair.substr(comma + 1));
  if (!setting.ok()) return setting.error().context(fmt::format("pair '{}'", pair));
  return setting;
}

}  // namespace

core::Result<Settings> preset_settings(const PresetSpec& preset, const std::string& pairs) {
  Settings settings;
  std::istringstream words(pairs);
  for (std::string pair; words >> pair;)
    settings.push_back(ASSAY_TRY(setting_of(preset, pair)));
  if (settings.empty()) {
    return core::Error{fmt::format("no pair {} in '{}'", preset.pair, pairs)};
  }
  return settings;
}

core::Result<int> positive_number(const std::string& text, const char* what) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) {
    return core::Error{fmt::format("{} '{}' is not a positive whole number", what, text)};
  }
  return number;
}

}  // namespace assay::sweep
