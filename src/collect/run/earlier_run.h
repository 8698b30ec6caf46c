// Settings that a run takes over from an earlier one: how the earlier run measured its cases, and
// the run whose points a refinement starts from.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "collect/plan/run_record.h"
#include "collect/run/collection.h"
#include "collect/worker/protocol.h"
#include "core/result.h"
#include "store/database/store.h"

namespace assay::collect {

// Returns how cases are measured, as the record of a run keeps it: each setting by the name of its
// option.
Settings settings_of(const CaseRequest& request);

// The inverse of settings_of(). A setting that is missing has its usual value; other settings are
// ignored. Error: a value that its setting cannot have.
core::Result<CaseRequest> request_of(const Settings& settings);

// Returns the time that a case may take, as the record of a run keeps it.
Settings record_of_deadline(double seconds);

// The recorded deadline, or 60 s where the record has none. Error: the record's value is no number.
core::Result<std::chrono::milliseconds> recorded_deadline(const store::Run& run);

// Returns whether the run measured on a CPU.
bool was_on_cpu(const store::Run& run);

struct RefinedRun {
  store::Store store;
  std::int64_t id = 0;
  store::Run run;
};

// The newest collection of the folder's store or, unless it is empty, of `from`, which is a file or
// the name of a shipped store. Errors: there is no store, or no collection in it.
core::Result<RefinedRun> find_refined(const std::filesystem::path& folder,
                                      const std::filesystem::path& from);

// The run that the folder's last run refined. Error: the last run refined none.
core::Result<RefinedRun> find_refined_before(const std::filesystem::path& folder,
                                             const std::filesystem::path& from);

// The number of the run that this run refines; std::nullopt if it refines none.
std::optional<std::int64_t> refined_by(const store::Run& run);

// The ids of the cases that the collections of this store measured in the same state of the L2
// cache and with the same launches.
core::Result<MeasuredCases> measured_cases(const std::filesystem::path& file_or_name,
                                           const MeasureOptions& measuring);

// Makes a collection measure as the refined run did, on the same device, and notes that run in its
// record. `given` has the names of the options that the user gave. Error: one of them asks for
// another way of measuring, so that the points would not belong together.
core::Status measure_like(const RefinedRun& refined,
                          const std::set<std::string>& given,
                          CollectOptions& options);

// Describes how the locked clocks in the record of a new run differ from those of an earlier run;
// "" if they do not differ.
std::string clock_difference(const store::Run& earlier, const Settings& record);

}  // namespace assay::collect
