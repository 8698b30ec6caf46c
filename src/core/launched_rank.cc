#include "core/launched_rank.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

namespace assay::core {
namespace {

// A launcher's variables. Slurm's are those of a step (srun), not of a batch script, which runs
// once whatever the size of the job.
struct Launcher {
  const char* rank;
  const char* size;
  const char* local_size;  // ranks on this host; "": it has none
  std::array<const char*, 2> job;
};

constexpr std::array kLaunchers = {
    Launcher{"OMPI_COMM_WORLD_RANK",
             "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_SIZE",
             {"PMIX_NAMESPACE", ""}},
    Launcher{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", {"PMI_JOBID", ""}},
    Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

Result<int> number_of(const char* name, const char* value) {
  const std::string_view text = value;
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  return Error{fmt::format("environment variable {}: '{}' is not a number", name, text)};
}

// If a launcher does not name the job, the parent process identifies it, since the ranks of one
// launch on one host are children of one process.
std::string job_of(const Launcher& launcher, const Variables& variables) {
  std::string job;
  for (const char* name : launcher.job) {
    const char* value = *name == '\0' ? nullptr : variables(name);
    if (value != nullptr) job += std::string(job.empty() ? "" : "_") + value;
  }
  if (job.empty()) job = fmt::format("parent_{}", ::getppid());
  std::replace_if(
      job.begin(), job.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return job;
}

}  // namespace

Result<std::optional<LaunchedRank>> launched_rank(const Variables& variables) {
  for (const Launcher& launcher : kLaunchers) {
    const char* rank = variables(launcher.rank);
    const char* size = variables(launcher.size);
    if (rank == nullptr || size == nullptr) continue;
    LaunchedRank launched{ASSAY_TRY(number_of(launcher.rank, rank)),
                          ASSAY_TRY(number_of(launcher.size, size)), job_of(launcher, variables)};
    if (launched.size < 2) continue;
    const char* local = *launcher.local_size == '\0' ? nullptr : variables(launcher.local_size);
    if (local != nullptr) launched.local_size = ASSAY_TRY(number_of(launcher.local_size, local));
    return std::optional(std::move(launched));
  }
  return std::optional<LaunchedRank>();
}

}  // namespace assay::core
