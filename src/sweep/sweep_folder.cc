#include "sweep/sweep_folder.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"

namespace assay::sweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockFile = ".sweep.lock";
constexpr const char* kFailed = ".failed";
constexpr const char* kUnfinished = ".unfinished";
constexpr const char* kRunningLog = ".log";
constexpr const char* kReplacement = ".file";
constexpr const char* kOwnFile = ".own";

// A disk with less room takes neither the record nor another run's traces.
constexpr std::uintmax_t kFullDiskBytes = 16 << 20;
constexpr std::uintmax_t kCutLogBytes = 1 << 16;

// The time that a killed sweep may need to end its last run.
constexpr std::chrono::milliseconds kPatience{30'000};

bool is_there(const fs::path& path) {
  std::error_code code;
  return fs::exists(fs::symlink_status(path, code));
}

// Returns the first free name of "run.failed", "run.failed2", …
fs::path free_name(const fs::path& folder, const char* suffix) {
  fs::path candidate = folder;
  candidate += suffix;
  for (int number = 2; is_there(candidate); ++number) {
    candidate = folder;
    candidate += fmt::format("{}{}", suffix, number);
  }
  return candidate;
}

core::Result<fs::path> move_aside(const fs::path& folder, const char* suffix) {
  const fs::path target = free_name(folder, suffix);
  std::error_code code;
  fs::rename(folder, target, code);
  if (!code) return target;
  return core::Error{fmt::format("cannot rename '{}' to '{}': {}", folder.string(), target.string(),
                                 code.message())};
}

// Says who holds the lock, for those who wait. Nothing depends on it.
void note_lock_holder(const core::FileLock& lock) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  lock.note(fmt::format("process {} on {}\n", ::getpid(), host.data()));
}

std::string lock_holder(const fs::path& folder) {
  std::string holder;
  std::ifstream stream;
  if (core::is_regular_file(folder / kLockFile)) stream.open(folder / kLockFile);
  std::getline(stream, holder);
  return holder.empty() ? "another process" : core::valid_utf8(holder);
}

core::Result<core::FileLock> acquire_patiently(
    const fs::path& folder, const std::function<void(const std::string&)>& on_wait) {
  auto free = core::FileLock::acquire(folder / kLockFile, std::chrono::milliseconds(0));
  if (free.ok()) return free;
  on_wait(lock_holder(folder));
  auto lock = core::FileLock::acquire(folder / kLockFile, kPatience);
  if (lock.ok()) return lock;
  return lock.error().context("waited in vain for " + lock_holder(folder));
}

// Makes room for a file of ours. What the command left there is kept, and never written through a
// link.
core::Status clear_place(const fs::path& path) {
  if (!is_there(path)) return {};
  const auto moved = move_aside(path, kOwnFile);
  return moved.ok() ? core::Status() : core::Status(moved.error());
}

core::Status place_log(const fs::path& log, const fs::path& folder) {
  ASSAY_TRY(clear_place(folder / kOutputLog));
  std::error_code code;
  fs::rename(log, folder / kOutputLog, code);
  if (!code) return {};
  return core::Error{
      fmt::format("cannot move '{}' to '{}': {}", log.string(), folder.string(), code.message())};
}

// Returns the record of the successful run, or else that of the last failure.
std::optional<RunRecord> newest_record(const fs::path& folder) {
  auto good = read_record(folder);
  if (good.ok()) return std::move(good).value();
  std::optional<RunRecord> newest;
  fs::path candidate = folder;
  candidate += kFailed;
  for (int number = 2; is_there(candidate); ++number) {
    auto failed = read_record(candidate);
    if (failed.ok()) newest = std::move(failed).value();
    candidate = folder;
    candidate += fmt::format("{}{}", kFailed, number);
  }
  return newest;
}

}  // namespace

bool holds_sweep(const fs::path& folder) {
  return core::is_regular_file(folder / kPlanFile);
}

core::Status check_new_folder(const fs::path& folder) {
  if (holds_sweep(folder)) {
    return core::Error{
        fmt::format("'{}' holds a sweep already: go on with it by --resume, or name another folder",
                    folder.string())};
  }
  if (!is_there(folder)) return {};
  for (const fs::path& name : ASSAY_TRY(core::list_directory(folder))) {
    if (name == kLockFile || core::is_temporary_name(name.string())) continue;
    return core::Error{
        fmt::format("'{}' is not empty: name a new folder for the sweep", folder.string())};
  }
  return {};
}

core::Result<Plan> read_plan(const fs::path& folder) {
  if (!holds_sweep(folder)) {
    return core::Error{
        fmt::format("'{}' holds no sweep: there is no {} in it", folder.string(), kPlanFile)};
  }
  auto plan = parse_plan(ASSAY_TRY(core::read_file(folder / kPlanFile)));
  if (!plan.ok()) return plan.error().context("cannot read " + (folder / kPlanFile).string());
  return plan;
}

std::vector<RunRecord> read_records(const fs::path& folder, const Plan& plan) {
  std::vector<RunRecord> records;
  for (const PlannedRun& run : run_order(plan)) {
    if (auto record = newest_record(folder / run_folder(plan, run)))
      records.push_back(std::move(*record));
  }
  return records;
}

SweepFolder::SweepFolder(fs::path path, core::FileLock lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

core::Result<SweepFolder> SweepFolder::create(const fs::path& path, const Plan& plan) {
  ASSAY_TRY(check_new_folder(path));
  ASSAY_TRY(core::make_directories(path));
  core::FileLock lock =
      ASSAY_TRY(core::FileLock::acquire(path / kLockFile, std::chrono::milliseconds(0)));
  ASSAY_TRY(check_new_folder(path));
  note_lock_holder(lock);
  ASSAY_TRY(core::write_file(path / kPlanFile, plan_json(plan), core::Durability::kLasting));
  return SweepFolder(path, std::move(lock));
}

core::Result<SweepFolder> SweepFolder::reopen(
    const fs::path& path, const std::function<void(const std::string&)>& on_wait) {
  const auto plan = read_plan(path);
  if (!plan.ok()) return plan.error();
  core::FileLock lock = ASSAY_TRY(acquire_patiently(path, on_wait));
  note_lock_holder(lock);
  core::remove_left_behind_below(path, 2);  // a setting's folder, and its repeats
  return SweepFolder(path, std::move(lock));
}

core::Status SweepFolder::extend(const Plan& plan) const {
  return core::write_file(path_ / kPlanFile, plan_json(plan), core::Durability::kLasting);
}

RunFiles SweepFolder::files_of(const fs::path& run) const {
  fs::path log = path_ / run;
  log += kRunningLog;
  return {path_ / run, log};
}

core::Status SweepFolder::set_aside(const fs::path& run) const {
  const RunFiles files = files_of(run);
  if (!is_there(files.folder) && !is_there(files.log)) return {};
  static_cast<void>(ASSAY_TRY(mend_run(run)));
  const fs::path target = ASSAY_TRY(move_aside(files.folder, kUnfinished));
  return is_there(files.log) ? place_log(files.log, target) : core::Status();
}

core::Result<RunFiles> SweepFolder::begin_run(const fs::path& run) const {
  ASSAY_TRY(set_aside(run));
  ASSAY_TRY(core::make_directories(path_ / run));
  return files_of(run);
}

core::Result<std::string> SweepFolder::mend_run(const fs::path& run) const {
  const fs::path folder = path_ / run;
  std::error_code ignored;
  if (core::is_folder(folder)) {
    // A link may lead to a folder that is not ours to change.
    if (!fs::is_symlink(fs::symlink_status(folder, ignored)))
      fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, ignored);
    return std::string();
  }
  const bool replaced = is_there(folder);
  if (replaced) static_cast<void>(ASSAY_TRY(move_aside(folder, kReplacement)));
  ASSAY_TRY(core::make_directories(folder));
  return std::string(replaced ? "the command put a file in the place of its folder"
                              : "the command removed its folder");
}

std::string SweepFolder::make_room(const fs::path& run) const {
  const RunFiles files = files_of(run);
  std::error_code code;
  const fs::space_info space = fs::space(path_, code);
  if (code || space.available >= kFullDiskBytes) return "";
  // A link may lead to files that are not the run's.
  if (fs::is_symlink(fs::symlink_status(files.folder, code))) return "";
  fs::remove_all(files.folder, code);
  fs::create_directory(files.folder, code);
  const std::uintmax_t log_bytes = fs::file_size(files.log, code);
  if (!code && log_bytes > kCutLogBytes) fs::resize_file(files.log, kCutLogBytes, code);
  return "the disk was full: its files were removed, and its log was cut";
}

core::Status SweepFolder::end_run(const fs::path& run, RunRecord& record) const {
  const RunFiles files = files_of(run);
  record.folder = files.folder;
  // The folder is renamed first, so that a run that is cut off between the two steps counts as not
  // done, and never as a successful one.
  if (record.status != RunStatus::kOk) {
    record.folder = ASSAY_TRY(move_aside(record.folder, kFailed));
  }
  if (is_there(files.log)) {
    ASSAY_TRY(place_log(files.log, record.folder));
  } else {
    record.seen.warnings.emplace_back("the command removed its log");
  }
  ASSAY_TRY(clear_place(record.folder / model::kRunRecordFile));
  return write_record(record, record.folder);
}

}  // namespace assay::sweep
