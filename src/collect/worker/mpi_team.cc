#include "collect/worker/mpi_team.h"

#include <utility>

namespace assay::collect {
namespace {

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
    ASSAY_TRY(mpi::status_of(job_, job_.functions->broadcast(&sent, sizeof(sent))));
    const TeamAnswer own = carry_out(*own_, order);
    std::vector<TeamAnswer> answers(static_cast<std::size_t>(job_.size));
    ASSAY_TRY(mpi::status_of(job_, job_.functions->gather(&own, answers.data(), sizeof(own))));
    answers.resize(static_cast<std::size_t>(order.spec.ranks));
    return answers;
  }

 private:
  MpiRank job_;
  std::unique_ptr<TeamRank> own_;
};

}  // namespace

std::unique_ptr<Team> make_mpi_team(const MpiRank& job, std::unique_ptr<TeamRank> own) {
  return std::make_unique<MpiTeam>(job, std::move(own));
}

core::Status follow_mpi(const MpiRank& job, TeamRank& own) {
  while (true) {
    TeamOrder order;
    ASSAY_TRY(mpi::status_of(job, job.functions->broadcast(&order, sizeof(order))));
    if (order.kind == TeamOrder::Kind::kQuit) break;
    const bool takes_part = job.rank < order.spec.ranks;
    const TeamAnswer answer = takes_part ? carry_out(own, order) : TeamAnswer{};
    ASSAY_TRY(mpi::status_of(job, job.functions->gather(&answer, nullptr, sizeof(answer))));
  }
  own.forget();
  job.functions->stop();
  return {};
}

}  // namespace assay::collect
