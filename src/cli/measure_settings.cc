#include "cli/measure_settings.h"

#include <fmt/core.h>

#include <charconv>

namespace assay::cli {
namespace {

constexpr const char* kL2 = "--l2";
constexpr const char* kLaunch = "--launch";
constexpr const char* kCertainty = "--certainty";  // percent
constexpr const char* kNumWarmups = "--num-warmups";
constexpr const char* kNumRuns = "--num-runs";
constexpr const char* kRepeatN = "--repeat-n";
constexpr const char* kMeasurePower = "--measure-power";
constexpr const char* kPowerSeconds = "--power-seconds";
constexpr const char* kDeadline = "--deadline";  // seconds
constexpr double kUsualDeadline = 60;

template <class Number>
core::Status read_number(const collect::Settings& settings, const char* name, Number& target) {
  const auto found = settings.find(name);
  if (found == settings.end()) return {};
  const std::string& text = found->second;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, target);
  if (code == std::errc() && stop == end) return {};
  return core::Error{fmt::format("the run's record has {} = '{}', which is no number", name, text)};
}

// One of two words.
template <class Value>
core::Status read_word(const collect::Settings& settings,
                       const char* name,
                       const std::pair<const char*, Value>& one,
                       const std::pair<const char*, Value>& other,
                       Value& target) {
  const auto found = settings.find(name);
  if (found == settings.end()) return {};
  for (const auto& [word, value] : {one, other}) {
    if (found->second != word) continue;
    target = value;
    return {};
  }
  return core::Error{fmt::format("the run's record has {} = '{}', which is neither {} nor {}", name,
                                 found->second, one.first, other.first)};
}

}  // namespace

collect::Settings settings_of(const collect::CaseRequest& request) {
  const collect::MeasureOptions& measuring = request.options;
  return {{kL2, measuring.l2 == model::L2State::kHot ? "hot" : "cold"},
          {kLaunch, std::string(name_of(measuring.launch))},
          {kCertainty, fmt::format("{:.6g}", measuring.certainty * 100)},
          {kNumWarmups, std::to_string(measuring.num_warmups)},
          {kNumRuns, std::to_string(measuring.num_runs)},
          {kRepeatN, std::to_string(measuring.repeat_n)},
          {kMeasurePower, request.measure_power ? "on" : "off"},
          {kPowerSeconds, fmt::format("{}", request.power_seconds)}};
}

core::Result<collect::CaseRequest> request_of(const collect::Settings& settings) {
  using model::L2State;
  using model::Launch;
  collect::CaseRequest request;
  collect::MeasureOptions& measuring = request.options;
  double certainty_percent = measuring.certainty * 100;
  ASSAY_TRY(read_word<L2State>(settings, kL2, {"hot", L2State::kHot}, {"cold", L2State::kCold},
                               measuring.l2));
  ASSAY_TRY(read_word<Launch>(settings, kLaunch, {"graph", Launch::kGraph},
                              {"eager", Launch::kEager}, measuring.launch));
  ASSAY_TRY(read_number(settings, kCertainty, certainty_percent));
  measuring.certainty = certainty_percent / 100;
  ASSAY_TRY(read_number(settings, kNumWarmups, measuring.num_warmups));
  ASSAY_TRY(read_number(settings, kNumRuns, measuring.num_runs));
  ASSAY_TRY(read_number(settings, kRepeatN, measuring.repeat_n));
  ASSAY_TRY(read_word<bool>(settings, kMeasurePower, {"on", true}, {"off", false},
                            request.measure_power));
  ASSAY_TRY(read_number(settings, kPowerSeconds, request.power_seconds));
  return request;
}

collect::Settings record_of_deadline(double seconds) {
  return {{kDeadline, fmt::format("{}", seconds)}};
}

core::Result<std::chrono::milliseconds> recorded_deadline(const store::Run& run) {
  double seconds = kUsualDeadline;
  ASSAY_TRY(read_number(run.facts, kDeadline, seconds));
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace assay::cli
