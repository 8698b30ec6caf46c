#include "collect/run/run_state.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <charconv>
#include <ctime>
#include <utility>

#include "core/counted.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::collect {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = ".assay_collect.lock";
constexpr const char* kCases = "cases";
constexpr const char* kExpected =
    "expected ";  // followed by an operator's name: its number of cases
constexpr const char* kFreeMemory = "free memory bytes";
constexpr const char* kResumed = "resumed ";  // followed by a time: the options that changed then

// A run that was killed may still be ending its workers, so that the folder is in use a moment
// more.
constexpr std::chrono::milliseconds kPatience{5'000};

core::Result<core::FileLock> lock_folder(const fs::path& folder) {
  auto lock = core::FileLock::acquire(folder / kLockFile, kPatience);
  if (lock.ok() || lock.error().message.find("locked by") == std::string::npos) return lock;
  return core::Error{fmt::format(
      "another 'assay collect' is writing to '{}': wait for it, or use another --output",
      folder.string())};
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::int64_t number_of(const Settings& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? 0 : number_in(found->second);
}

Settings expected_of(const Plan& plan) {
  Settings facts;
  const Tally tally(plan);
  for (const OperatorTally& one : tally.operators())
    facts[one.name] = std::to_string(one.expected);
  return facts;
}

}  // namespace

core::Result<Tally> tally_of(const store::Store& store,
                             std::int64_t run,
                             const std::function<bool(const std::string&)>& wanted) {
  const store::Run record = ASSAY_TRY(store.run(run));
  Settings expected = without_prefix(record.facts, kExpected);
  std::erase_if(expected, [&](const auto& one) { return !wanted(one.first); });
  std::vector<OperatorTally> operators;
  for (const auto& [name, count] : expected)
    operators.push_back({.name = name, .expected = number_in(count)});
  Tally tally(std::move(operators));
  for (const store::StoredCase& one : ASSAY_TRY(store.cases(run))) {
    if (expected.contains(one.operator_name)) tally.add(one);
  }
  return tally;
}

core::Result<RunState> RunState::open(const RunRequest& request, const Plan& plan) {
  const auto made = core::make_directories(request.folder);
  if (!made.ok()) return made.error();
  core::FileLock lock = ASSAY_TRY(lock_folder(request.folder));
  const bool resumes =
      request.beginning == Beginning::kResume || request.beginning == Beginning::kRetryFailed;
  const fs::path file = request.folder / request.store_file;
  if (resumes && !core::is_regular_file(file)) {
    return core::Error{fmt::format("nothing to resume: there is no '{}'", file.string())};
  }
  store::Store store = ASSAY_TRY(store::Store::open(file, store::Store::Mode::kCreate));
  RunState state(std::move(lock), std::move(store), request);
  ASSAY_TRY(state.find_run(plan));
  return state;
}

core::Status RunState::find_run(const Plan& plan) {
  plan_hash_ = plan.hash;
  num_cases_ = static_cast<std::int64_t>(plan.cases.size());
  expected_ = expected_of(plan);
  if (request_.beginning == Beginning::kFresh) return {};
  const auto last = ASSAY_TRY(store_.last_run(request_.kind));
  if (request_.beginning == Beginning::kNew) {
    if (!last) return {};
    const store::Run known = ASSAY_TRY(store_.run(*last));
    return refuse_unfinished(*last, known);
  }
  if (!last) {
    return core::Error{
        fmt::format("nothing to resume: '{}' holds no collection", request_.folder.string())};
  }
  const store::Run known = ASSAY_TRY(store_.run(*last));
  ASSAY_TRY(check_same(known, plan));
  known_facts_ = known.facts;
  return load(*last, plan);
}

core::Status RunState::refuse_unfinished(std::int64_t run, const store::Run& known) const {
  const auto done = static_cast<std::int64_t>(ASSAY_TRY(store_.cases(run)).size());
  const std::int64_t expected = number_of(known.facts, kCases);
  if (done >= expected) return {};
  return core::Error{fmt::format(
      "'{}' holds an unfinished run of {} ({} of {}): go on with it by its command and "
      "--resume, begin another one beside it with --new-run, or use another --output",
      request_.folder.string(), known.started_at, done, core::counted(expected, "case"))};
}

core::Status RunState::check_same(const store::Run& known, const Plan& plan) const {
  const Settings now = with_prefix(request_.settings, kSettingPrefix);
  Settings then = known.facts;
  for (const auto& [name, value] : now)
    then.try_emplace(name);  // not given then
  const std::string settings = differences(then, now, kSettingPrefix);
  const std::string hint = "; give the run's own options, or use another --output";
  const std::string what = fmt::format("cannot resume the run of {} in '{}': ", known.started_at,
                                       request_.folder.string());
  if (!settings.empty()) return core::Error{what + settings + hint};
  if (known.plan_hash == plan.hash) return {};
  return core::Error{fmt::format("{}its plan had {} ({}), this one has {} ({}){}", what,
                                 core::counted(number_of(known.facts, kCases), "other case"),
                                 known.plan_hash, plan.cases.size(), plan.hash, hint)};
}

core::Status RunState::load(std::int64_t run, const Plan& plan) {
  std::unordered_set<std::string> planned;
  for (const PlannedCase& one : plan.cases)
    planned.insert(one.id);
  for (store::StoredCase& one : ASSAY_TRY(store_.cases(run))) {
    const bool again =
        request_.beginning == Beginning::kRetryFailed && one.outcome == store::CaseOutcome::kFailed;
    if (again || !planned.contains(one.id)) continue;
    finished_ids_.insert(one.id);
    finished_.push_back(std::move(one));
  }
  run_ = run;
  return {};
}

Settings RunState::known_device() const {
  return without_prefix(known_facts_, kDevicePrefix);
}

core::Status RunState::go_on(const Settings& device) {
  const std::string others = differences(known_facts_, device, kDevicePrefix);
  if (others.empty()) return note_changes();
  return core::Error{fmt::format(
      "cannot resume the run in '{}', which was measured with something else: {}; use another "
      "--output",
      request_.folder.string(), others)};
}

core::Status RunState::note_changes() {
  Settings then;
  Settings now;
  for (const auto& [name, value] : request_.record) {
    const auto known = known_facts_.find(name);
    if (!name.starts_with("--")) continue;
    const std::string before = known == known_facts_.end() ? "not noted" : known->second;
    if (before == value) continue;
    then[name] = before;
    now[name] = value;
  }
  if (now.empty()) return {};
  const std::string changes = differences(then, now, "");
  now[kResumed + utc_now()] = changes;
  return store_.set_facts(run_, now);
}

core::Status RunState::begin(const DeviceFacts& device) {
  const Settings facts = with_prefix(facts_of(device), kDevicePrefix);
  if (run_ != 0) return go_on(facts);
  store::Run run{.kind = request_.kind,
                 .started_at = utc_now(),
                 .device = device.name,
                 .plan_hash = plan_hash_,
                 .facts = facts};
  run.facts.merge(with_prefix(request_.settings, kSettingPrefix));
  run.facts.merge(with_prefix(expected_, kExpected));
  run.facts.merge(Settings(request_.record));
  run.facts[kCases] = std::to_string(num_cases_);
  // Free memory changes from start to start, so that it is no fact of the device.
  run.facts[kFreeMemory] = std::to_string(device.memory_bytes);
  run_ = ASSAY_TRY(store_.begin_run(run));
  return {};
}

core::Status RunState::append(const std::vector<store::CaseRecord>& records) {
  ASSAY_CHECK(run_ != 0, "a run is begun before it is written");
  return store_.append(run_, records);
}

}  // namespace assay::collect
