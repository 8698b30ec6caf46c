#include "sweep/made_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <utility>

#include "core/statistics.h"

namespace assay::sweep {
namespace {

// Returns microseconds since 1970 of "2026-11-30T15:16:58.250000+0100"; older records have no
// fraction.
std::optional<std::int64_t> start_us(const std::string& text) {
  std::tm time{};
  double seconds = 0;
  int offset = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf%5d", &time.tm_year, &time.tm_mon,
                  &time.tm_mday, &time.tm_hour, &time.tm_min, &seconds, &offset) != 7)
    return std::nullopt;
  if (!(seconds >= 0 && seconds < 61)) return std::nullopt;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  const int minutes = (offset / 100) * 60 + offset % 100;
  const auto whole = static_cast<std::int64_t>(::timegm(&time)) - std::int64_t{60} * minutes;
  return whole * 1'000'000 + std::llround(seconds * 1e6);
}

using ByStart = std::map<std::pair<std::int64_t, int>, const RunRecord*>;

// Returns nothing where a start is unknown.
ByStart by_start(std::span<const RunRecord> records) {
  ByStart sorted;
  for (const RunRecord& record : records) {
    const auto start = start_us(record.started);
    if (!start || !sorted.try_emplace({*start, record.position}, &record).second) return {};
  }
  return sorted;
}

// Returns the places of the good runs of each setting.
std::map<std::string, std::vector<int>> good_places(std::span<const RunRecord> records) {
  const MadeOrder order = made_order(records);
  std::map<std::string, std::vector<int>> places;
  if (order.empty()) return places;
  for (const RunRecord& record : records)
    if (record.status == RunStatus::kOk)
      places[record.setting].push_back(order.at(record.setting).at(record.repeat));
  for (auto& [setting, of_setting] : places)
    std::sort(of_setting.begin(), of_setting.end());
  return places;
}

}  // namespace

MadeOrder made_order(std::span<const RunRecord> records) {
  MadeOrder order;
  int place = 0;
  for (const auto& [start, record] : by_start(records))
    order[record->setting][record->repeat] = ++place;
  return order;
}

MadeOrder sessions(std::span<const RunRecord> records) {
  constexpr double kUnusual = 3;
  std::vector<std::pair<const RunRecord*, double>> pauses_s;  // before each run
  double longest_s = 0;
  double free_s = 0;  // from when on nothing ran
  for (const auto& [start, record] : by_start(records)) {
    const double start_s = static_cast<double>(start.first) / 1e6;
    pauses_s.emplace_back(record, pauses_s.empty() ? 0 : start_s - free_s);
    free_s = start_s + record->duration_s;
    if (record->status == RunStatus::kOk) longest_s = std::max(longest_s, record->duration_s);
  }
  MadeOrder sessions;
  if (longest_s == 0) return sessions;
  std::vector<double> usual_s;
  for (std::size_t i = 1; i < pauses_s.size(); ++i)
    usual_s.push_back(pauses_s[i].second);
  const double most_s = std::max(longest_s, usual_s.empty() ? 0 : kUnusual * core::median(usual_s));
  int session = 1;
  for (const auto& [record, pause_s] : pauses_s) {
    if (pause_s > most_s) ++session;
    sessions[record->setting][record->repeat] = session;
  }
  return sessions;
}

std::vector<std::string> settings_apart(std::span<const RunRecord> records,
                                        const std::string& reference) {
  const std::map<std::string, std::vector<int>> places = good_places(records);
  const auto found = places.find(reference);
  std::vector<std::string> sentences;
  if (found == places.end() || found->second.size() < 2) return sentences;
  for (const auto& [setting, of_setting] : places) {
    if (setting == reference || of_setting.size() < 2) continue;
    const bool before = of_setting.back() < found->second.front();
    if (!before && of_setting.front() < found->second.back()) continue;
    sentences.push_back(
        fmt::format("All good runs of {} were made {} those of {}: what changed on the machine in "
                    "between looks like an effect of the setting",
                    setting, before ? "before" : "after", reference));
  }
  return sentences;
}

}  // namespace assay::sweep
