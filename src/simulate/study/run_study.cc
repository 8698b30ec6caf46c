#include "simulate/study/run_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "core/files.h"
#include "core/forked_calls.h"
#include "core/interrupt.h"
#include "core/output_file.h"

namespace assay::simulate {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{100};
// What a process that was killed had started lives a moment longer, and holds its locks so long.
constexpr std::chrono::milliseconds kPatience{1000};

fs::path result_path(const fs::path& folder, const StudyTask& task) {
  return folder / "tasks" / (task.key + ".json");
}

fs::path lock_path(const fs::path& folder, const StudyTask& task) {
  return folder / "tasks" / (".assay-" + task.key + ".lock");
}

std::optional<TaskResult> result_of(const fs::path& folder, const StudyTask& task) {
  if (!core::is_regular_file(result_path(folder, task))) return std::nullopt;
  const auto text = core::read_file(result_path(folder, task));
  if (!text.ok()) return std::nullopt;
  auto result = parse_task_result(text.value());
  if (!result.ok()) return std::nullopt;
  return std::move(result).value();
}

// A result can be read again only from a regular file.
core::Status check_is_file(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path, code) || core::is_regular_file(path)) return {};
  return core::Error{fmt::format("cannot write '{}': it is no regular file", path.string()), true};
}

class Runner {
 public:
  explicit Runner(const StudyWork& work) : work_(work) {}

  core::Result<std::string> run();

 private:
  core::Status forget_failures();
  void collect_todo();
  core::Status start_some();
  core::Result<bool> start(std::size_t task);
  core::Status take(const core::CallEnd& end);

  [[nodiscard]] bool done(std::size_t task) const {
    return result_of(work_.folder, work_.tasks[task]).has_value();
  }

  const StudyWork& work_;
  unsigned at_once_ = 1;
  std::deque<std::size_t> todo_;
  std::vector<std::size_t> held_;  // by other processes, when they were looked at
  std::string held_why_;
  std::map<std::size_t, core::FileLock> claims_;  // of what runs
  core::ForkedCalls calls_;
};

// A failure that another process came to after this one had begun is not tried again.
core::Status Runner::forget_failures() {
  if (!work_.retry_failed) return {};
  for (const std::size_t task : todo_) {
    const auto result = result_of(work_.folder, work_.tasks[task]);
    if (!result || result->error.empty()) continue;
    const auto claim = core::FileLock::acquire(lock_path(work_.folder, work_.tasks[task]),
                                               std::chrono::milliseconds{0});
    if (claim.ok()) ASSAY_TRY(core::remove_file(result_path(work_.folder, work_.tasks[task])));
  }
  return {};
}

void Runner::collect_todo() {
  for (std::size_t task = 0; task < work_.tasks.size(); ++task) {
    if (work_.share.holds(task)) todo_.push_back(task);
  }
  if (todo_.empty()) return;
  const auto first = static_cast<std::ptrdiff_t>(work_.first % todo_.size());
  std::rotate(todo_.begin(), todo_.begin() + first, todo_.end());
}

// Returns false when another process works on the task.
core::Result<bool> Runner::start(std::size_t task) {
  const StudyTask& self = work_.tasks[task];
  auto claim = core::FileLock::acquire(lock_path(work_.folder, self), std::chrono::milliseconds{0});
  if (!claim.ok()) {
    held_why_ = claim.error().message;
    return false;
  }
  // Another process may have done it until it gave the lock back.
  if (done(task)) return true;
  ASSAY_TRY(check_is_file(result_path(work_.folder, self)));
  ASSAY_TRY(calls_.start(task, [&] { return json_of(work_.simulate(self)); }));
  claims_.emplace(task, std::move(claim).value());
  return true;
}

core::Status Runner::start_some() {
  while (!todo_.empty() && calls_.running() < at_once_) {
    const std::size_t task = todo_.front();
    todo_.pop_front();
    if (!done(task) && !ASSAY_TRY(start(task))) held_.push_back(task);
  }
  return {};
}

core::Status Runner::take(const core::CallEnd& end) {
  const StudyTask& task = work_.tasks[end.id];
  TaskResult result;
  if (end.problem.empty()) {
    const auto read = parse_task_result(end.answer);
    result = read.ok() ? read.value() : TaskResult{.error = read.error().message};
  } else {
    result.error = end.problem;
  }
  result.cpu_seconds = end.cpu_seconds;
  result.peak_mb = end.peak_mb;
  ASSAY_TRY(core::write_file(result_path(work_.folder, task), json_of(result),
                             core::Durability::kUnsynced));
  // Whoever waits for the lock finds the result then.
  std::error_code ignored;
  fs::remove(lock_path(work_.folder, task), ignored);
  claims_.erase(end.id);
  work_.on_end(end.id, result);
  return {};
}

core::Result<std::string> Runner::run() {
  ASSAY_TRY(core::make_directories(work_.folder / "tasks"));
  at_once_ = work_.at_once > 0 ? work_.at_once : std::max(std::thread::hardware_concurrency(), 1U);
  collect_todo();
  ASSAY_TRY(forget_failures());
  Clock::time_point give_up_at = Clock::now() + kPatience;
  for (;;) {
    ASSAY_TRY(start_some());
    work_.on_tick(calls_.running(), todo_.size());
    ASSAY_TRY(core::check_interrupt());
    if (calls_.running() > 0) {
      if (auto end = calls_.wait(kTick)) ASSAY_TRY(take(*end));
      give_up_at = Clock::now() + kPatience;
      continue;
    }
    if (held_.empty() || Clock::now() >= give_up_at) break;
    std::this_thread::sleep_for(kTick);
    todo_.assign(held_.begin(), held_.end());
    held_.clear();
  }
  const bool missing =
      std::any_of(held_.begin(), held_.end(), [&](std::size_t task) { return !done(task); });
  return missing ? held_why_ : std::string();
}

core::Result<std::size_t> number_of(const char* name, const char* text, std::size_t least) {
  std::size_t number = 0;
  const std::string_view value = text == nullptr ? "" : text;
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (code == std::errc() && end == value.data() + value.size() && number >= least) return number;
  return core::Error{
      fmt::format("environment variable {}: '{}' is no number from {} on, as in an array of Slurm",
                  name, value, least)};
}

}  // namespace

core::Result<StudyShare> share_of_array(const core::Variables& variables) {
  const char* id = variables("SLURM_ARRAY_TASK_ID");
  if (id == nullptr) return StudyShare{};
  const auto number = [&](const char* name, std::size_t least) {
    return number_of(name, variables(name), least);
  };
  const std::size_t task = ASSAY_TRY(number("SLURM_ARRAY_TASK_ID", 0));
  const std::size_t first = ASSAY_TRY(number("SLURM_ARRAY_TASK_MIN", 0));
  const std::size_t count = ASSAY_TRY(number("SLURM_ARRAY_TASK_COUNT", 1));
  const std::size_t step = ASSAY_TRY(number("SLURM_ARRAY_TASK_STEP", 1));
  if (task < first || (task - first) % step != 0 || (task - first) / step >= count) {
    return core::Error{fmt::format(
        "element {} of a Slurm array of {} elements from {} on in steps of {} has no share: submit "
        "an array without holes, such as --array=0-{}",
        task, count, first, step, count - 1)};
  }
  return StudyShare{.index = (task - first) / step, .count = count};
}

core::Result<std::string> run_study(const StudyWork& work) {
  return Runner(work).run();
}

std::vector<std::optional<TaskResult>> results_of(const std::vector<StudyTask>& tasks,
                                                  const fs::path& folder) {
  std::vector<std::optional<TaskResult>> results;
  results.reserve(tasks.size());
  for (const StudyTask& task : tasks)
    results.push_back(result_of(folder, task));
  return results;
}

}  // namespace assay::simulate
