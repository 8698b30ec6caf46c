// A libFuzzer target that reads any bytes as a sweep's plan and as the record of one run. No input
// may cause a crash, a hang or a leak, and a result that is written and read again stays the same.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/check.h"
#include "model/facts.h"
#include "sweep/plan.h"
#include "sweep/run_record.h"

namespace {

namespace fs = std::filesystem;
using namespace assay::sweep;  // NOLINT(google-build-using-namespace)

// A folder for a run, from which its record is read. It is in memory if the system offers that.
class RunFolder {
 public:
  RunFolder() { fs::create_directories(path_); }

  ~RunFolder() { fs::remove_all(path_); }

  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_ = (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()) /
                   ("assay_fuzz_run_" + std::to_string(::getpid()));
};

void examine_plan(const Plan& plan) {
  const auto again = parse_plan(plan_json(plan));
  ASSAY_CHECK(again.ok(), "a plan that was written can be read");
  ASSAY_CHECK(plan_difference(plan, again.value()).empty(), "a plan survives");
  ASSAY_CHECK(again.value().id == plan.id && again.value().seed == plan.seed,
              "a plan's numbers survive");
}

void examine_record(const RunRecord& record, const fs::path& folder) {
  ASSAY_CHECK(write_record(record, folder).ok(), "a record that was read can be written");
  const auto again = read_record(folder);
  ASSAY_CHECK(again.ok(), "a record that was written can be read");
  ASSAY_CHECK(again.value().setting == record.setting && again.value().status == record.status &&
                  again.value().detail == record.detail && again.value().repeat == record.repeat &&
                  again.value().seen.warnings == record.seen.warnings,
              "a record survives");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const RunFolder folder;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto plan = parse_plan(text);
  if (plan.ok()) examine_plan(plan.value());
  std::ofstream(folder.path() / assay::model::kRunRecordFile, std::ios::binary) << text;
  const auto record = read_record(folder.path());
  if (record.ok()) examine_record(record.value(), folder.path());
  return 0;
}
