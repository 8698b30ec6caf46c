#include "collect/worker/mpi_team.h"

#include <array>
#include <filesystem>
#include <utility>

#include "core/library_search.h"
#include "core/shared_library.h"

namespace assay::collect {
namespace {

// RTLD_GLOBAL, because Open MPI's own plugins look for its symbols among those of the program.
core::Result<core::SharedLibrary> open_mpi() {
  std::error_code ignored;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return core::SharedLibrary::open(
      core::files_in({folder.string(), (folder.parent_path() / "lib").string()}, {mpi::kLibrary}),
      RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

class MpiTeam final : public Team {
 public:
  MpiTeam(const MpiRank& job, std::unique_ptr<TeamRank> own) : job_(job), own_(std::move(own)) {}

  MpiTeam(const MpiTeam&) = delete;
  MpiTeam& operator=(const MpiTeam&) = delete;

  ~MpiTeam() override {
    TeamOrder quit{.kind = TeamOrder::Kind::kQuit};
    job_.functions->broadcast(&quit, sizeof(quit));
    own_.reset();
    job_.functions->stop();
  }

  [[nodiscard]] int size() const override { return job_.size; }

  [[nodiscard]] const TeamRank& leader() const override { return *own_; }

  core::Result<std::vector<TeamAnswer>> ask(const TeamOrder& order) override {
    TeamOrder sent = order;
    ASSAY_TRY(mpi_status(job_, job_.functions->broadcast(&sent, sizeof(sent))));
    const TeamAnswer own = carry_out(*own_, order);
    std::vector<TeamAnswer> answers(static_cast<std::size_t>(job_.size));
    ASSAY_TRY(mpi_status(job_, job_.functions->gather(&own, answers.data(), sizeof(own))));
    answers.resize(static_cast<std::size_t>(order.spec.ranks));
    return answers;
  }

 private:
  MpiRank job_;
  std::unique_ptr<TeamRank> own_;
};

}  // namespace

core::Result<MpiRank> join_mpi() {
  const auto library = open_mpi();
  if (!library.ok()) return library.error().context("MPI is not available");
  const mpi::Functions* (*get)() = nullptr;
  if (!library.value().bind(mpi::kSymbol, get))
    return core::Error{std::string(mpi::kLibrary) + " is not assay's"};
  MpiRank job{.functions = get()};
  ASSAY_TRY(mpi_status(job, job.functions->start(&job.rank, &job.size)));
  return job;
}

core::Status mpi_status(const MpiRank& rank, int error) {
  if (error == 0) return {};
  std::array<char, 512> text{};
  rank.functions->error_text(error, text.data(), text.size());
  return core::Error{std::string("MPI: ") + text.data()};
}

std::unique_ptr<Team> make_mpi_team(const MpiRank& job, std::unique_ptr<TeamRank> own) {
  return std::make_unique<MpiTeam>(job, std::move(own));
}

core::Status follow_mpi(const MpiRank& job, TeamRank& own) {
  while (true) {
    TeamOrder order;
    ASSAY_TRY(mpi_status(job, job.functions->broadcast(&order, sizeof(order))));
    if (order.kind == TeamOrder::Kind::kQuit) break;
    const bool takes_part = job.rank < order.spec.ranks;
    const TeamAnswer answer = takes_part ? carry_out(own, order) : TeamAnswer{};
    ASSAY_TRY(mpi_status(job, job.functions->gather(&answer, nullptr, sizeof(answer))));
  }
  own.forget();
  job.functions->stop();
  return {};
}

}  // namespace assay::collect
