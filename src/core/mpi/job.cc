#include "core/mpi/job.h"

#include <array>
#include <filesystem>
#include <string>

#include "core/library_search.h"
#include "core/own_files.h"
#include "core/shared_library.h"

namespace assay::core::mpi {
namespace {

// RTLD_GLOBAL, because Open MPI's own plugins look for its symbols among those of the program.
Result<SharedLibrary> open_library() {
  const std::filesystem::path folder = own_file().parent_path();
  return SharedLibrary::open(
      files_in({folder.string(), (folder.parent_path() / "lib").string()}, {kLibrary}),
      RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

}  // namespace

Result<Job> join() {
  const auto library = open_library();
  if (!library.ok()) return library.error().context("MPI is not available");
  const Functions* (*get)() = nullptr;
  if (!library.value().bind(kSymbol, get)) return Error{std::string(kLibrary) + " is not assay's"};
  Job job{.functions = get()};
  ASSAY_TRY(status_of(job, job.functions->start(&job.rank, &job.size)));
  return job;
}

Status status_of(const Job& job, int error) {
  if (error == 0) return {};
  std::array<char, 512> text{};
  job.functions->error_text(error, text.data(), text.size());
  return Error{std::string("MPI: ") + text.data()};
}

}  // namespace assay::core::mpi
