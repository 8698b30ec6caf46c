// `collect --refine`: the run whose points it goes by, and what it takes over from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "cli/device_options.h"
#include "collect/run/run_state.h"
#include "collect/worker/protocol.h"
#include "core/result.h"
#include "store/database/store.h"

namespace assay::cli {

struct Refined {
  store::Store store;
  std::int64_t id = 0;
  store::Run run;
};

// The newest collection of the folder's store or, unless it is empty, of `from`: a file, or the
// name of a shipped one. Errors: no store, no collection in it.
core::Result<Refined> find_refined(const std::filesystem::path& folder,
                                   const std::filesystem::path& from);

// The one that the folder's last run refined. Error: that run refined none.
core::Result<Refined> find_refined_before(const std::filesystem::path& folder,
                                          const std::filesystem::path& from);

// What a refining run notes for the latter.
collect::Settings record_of(const Refined& refined);

// The run that this one noted; nothing: it refines none.
std::optional<std::int64_t> refined_by(const store::Run& run);

// Error: an option that was given says something else than what the run was measured with, so that
// the points would not belong together.
core::Status check_same_measuring(const std::set<std::string>& given,
                                  const collect::Settings& wanted,
                                  const collect::Settings& then);

// CPUs where the run was measured on them and nothing is said.
DeviceArguments device_like(const DeviceArguments& device, const store::Run& run);

}  // namespace assay::cli
