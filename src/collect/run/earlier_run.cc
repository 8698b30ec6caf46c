#include "collect/run/earlier_run.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

#include "core/files.h"
#include "store/systems/shipped.h"

namespace assay::collect {
namespace {

namespace fs = std::filesystem;

constexpr const char* kL2 = "--l2";
constexpr const char* kLaunch = "--launch";
constexpr const char* kCertainty = "--certainty";  // percent
constexpr const char* kNumWarmups = "--num-warmups";
constexpr const char* kNumRuns = "--num-runs";
constexpr const char* kRepeatN = "--repeat-n";
constexpr const char* kMeasurePower = "--measure-power";
constexpr const char* kPowerEvery = "--power-every";
constexpr const char* kPowerSeconds = "--power-seconds";
constexpr const char* kDeadline = "--deadline";  // seconds
constexpr const char* kBackend = "--backend";
constexpr const char* kLockClocks = "--lock-clocks";
constexpr double kUsualDeadline = 60;

template <class Number>
core::Status read_number(const Settings& settings, const char* name, Number& target) {
  const auto found = settings.find(name);
  if (found == settings.end()) return {};
  const std::string& text = found->second;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, target);
  if (code == std::errc() && stop == end) return {};
  return core::Error{fmt::format("the run's record has {} = '{}', which is no number", name, text)};
}

template <class Value>
core::Status read_word(const Settings& settings,
                       const char* name,
                       const std::pair<const char*, Value>& first,
                       const std::pair<const char*, Value>& second,
                       Value& target) {
  const auto found = settings.find(name);
  if (found == settings.end()) return {};
  for (const auto& [word, value] : {first, second}) {
    if (found->second != word) continue;
    target = value;
    return {};
  }
  return core::Error{fmt::format("the run's record has {} = '{}', which is neither {} nor {}", name,
                                 found->second, first.first, second.first)};
}

core::Status read_l2_state(const Settings& settings, model::L2State& target) {
  const auto found = settings.find(kL2);
  if (found == settings.end()) return {};
  const auto state = model::l2_state_named(found->second);
  if (!state) {
    return core::Error{fmt::format(
        "the run's record has {} = '{}', which is none of hot, cold, engine", kL2, found->second)};
  }
  target = *state;
  return {};
}

core::Result<store::Store> open_refined(const fs::path& folder, const fs::path& from) {
  if (!from.empty()) return store::open_to_read(from);
  const fs::path file = folder / kStoreFile;
  if (core::is_regular_file(file)) return store::Store::open(file, store::Store::Mode::kRead);
  return core::Error{
      fmt::format("nothing to refine: there is no '{}'; collect a coarse grid first (assay collect "
                  "--grid coarse -o {}), or name a store by --refine-from",
                  file.string(), folder.string())};
}

core::Status check_same_measuring(const std::set<std::string>& given,
                                  const Settings& wanted,
                                  const Settings& then) {
  Settings asked;
  for (const auto& [name, value] : then) {
    if (given.contains(name)) asked[name] = value;
  }
  const std::string others = differences(asked, wanted, "");
  if (others.empty()) return {};
  return core::Error{fmt::format(
      "cannot refine points by others that are measured otherwise: {}; leave it out, or "
      "collect into another --output",
      others)};
}

}  // namespace

Settings settings_of(const CaseRequest& request) {
  const MeasureOptions& measuring = request.options;
  Settings settings = {{kL2, std::string(name_of(measuring.l2))},
                       {kLaunch, std::string(name_of(measuring.launch))},
                       {kCertainty, fmt::format("{:.6g}", measuring.certainty * 100)},
                       {kNumWarmups, std::to_string(measuring.num_warmups)},
                       {kNumRuns, std::to_string(measuring.num_runs)},
                       {kRepeatN, std::to_string(measuring.repeat_n)},
                       {kMeasurePower, request.measure_power ? "on" : "off"},
                       {kPowerSeconds, fmt::format("{}", request.power_seconds)}};
  // Earlier versions measured the power of all cases, and have no such setting.
  if (request.power_every > 1) settings[kPowerEvery] = std::to_string(request.power_every);
  return settings;
}

core::Result<CaseRequest> request_of(const Settings& settings) {
  using model::Launch;
  CaseRequest request;
  MeasureOptions& measuring = request.options;
  double certainty_percent = measuring.certainty * 100;
  ASSAY_TRY(read_l2_state(settings, measuring.l2));
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
  ASSAY_TRY(read_number(settings, kPowerEvery, request.power_every));
  if (request.power_every < 1) {
    return core::Error{fmt::format("the run's record has {} = '{}', which is less than 1",
                                   kPowerEvery, request.power_every)};
  }
  return request;
}

Settings record_of_deadline(double seconds) {
  return {{kDeadline, fmt::format("{}", seconds)}};
}

core::Result<std::chrono::milliseconds> recorded_deadline(const store::Run& run) {
  double seconds = kUsualDeadline;
  ASSAY_TRY(read_number(run.facts, kDeadline, seconds));
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

core::Result<MeasuredCases> measured_cases(const fs::path& file_or_name,
                                           const MeasureOptions& measuring) {
  const store::Store store = ASSAY_TRY(store::open_to_read(file_or_name));
  MeasuredCases measured;
  for (const store::StoredRun& stored : ASSAY_TRY(store.runs())) {
    const Settings settings = recorded_settings(stored.run);
    const bool is_alike = stored.run.kind == kCollectRun &&
                          fact_of(settings, kL2) == name_of(measuring.l2) &&
                          fact_of(settings, kLaunch) == name_of(measuring.launch);
    if (!is_alike) continue;
    for (const store::StoredCase& one : ASSAY_TRY(store.cases(stored.id))) {
      if (one.outcome != store::CaseOutcome::kMeasured) continue;
      measured.ids.insert(one.id);
      if (one.has_power) measured.with_power.insert(one.id);
    }
  }
  return measured;
}

bool was_on_cpu(const store::Run& run) {
  return fact_of(recorded_device(run), "kind") == "cpu";
}

core::Result<RefinedRun> find_refined(const fs::path& folder, const fs::path& from) {
  store::Store store = ASSAY_TRY(open_refined(folder, from));
  const auto last = ASSAY_TRY(store.last_run(kCollectRun));
  if (!last) {
    return core::Error{fmt::format(
        "nothing to refine: '{}' holds no collection, and imported tables do not say how they were "
        "measured",
        (from.empty() ? folder / kStoreFile : from).string())};
  }
  store::Run run = ASSAY_TRY(store.run(*last));
  return RefinedRun{.store = std::move(store), .id = *last, .run = std::move(run)};
}

core::Result<RefinedRun> find_refined_before(const fs::path& folder, const fs::path& from) {
  const RefinedRun last = ASSAY_TRY(find_refined(folder, ""));
  const std::optional<std::int64_t> id = refined_by(last.run);
  if (!id) {
    return core::Error{fmt::format(
        "cannot resume the run of {} in '{}' with --refine: it refines no other; give its own "
        "options",
        last.run.started_at, folder.string())};
  }
  store::Store store = ASSAY_TRY(open_refined(folder, from));
  store::Run run = ASSAY_TRY(store.run(*id));
  return RefinedRun{.store = std::move(store), .id = *id, .run = std::move(run)};
}

std::optional<std::int64_t> refined_by(const store::Run& run) {
  const std::string text = fact_of(run.facts, store::kRefinesFact);
  std::int64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return id > 0 ? std::optional(id) : std::nullopt;
}

core::Status measure_like(const RefinedRun& refined,
                          const std::set<std::string>& given,
                          CollectOptions& options) {
  const Settings then = recorded_settings(refined.run);
  CaseRequest request = ASSAY_TRY(request_of(then));
  Settings measuring = settings_of(request);
  measuring[kBackend] = fact_of(then, kBackend);
  ASSAY_TRY(check_same_measuring(given, options.settings, measuring));
  options.request = std::move(request);
  options.backend = measuring[kBackend];
  for (const auto& [name, value] : measuring)
    options.settings[name] = value;
  options.record.emplace(store::kRefinesFact, std::to_string(refined.id));
  options.earlier_device = recorded_device(refined.run);
  return {};
}

std::string clock_difference(const store::Run& earlier, const Settings& record) {
  return differences({{kLockClocks, fact_of(earlier.facts, kLockClocks)}},
                     {{kLockClocks, fact_of(record, kLockClocks)}}, "");
}

}  // namespace assay::collect
