#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "collect/worker/team.h"

namespace assay::collect {
namespace {

class ThreadTeam final : public Team {
 public:
  explicit ThreadTeam(std::vector<std::unique_ptr<TeamRank>> ranks)
      : ranks_(std::move(ranks)), answers_(ranks_.size()) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      threads_.emplace_back([this, rank] { serve(rank); });
  }

  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  ~ThreadTeam() override {
    give({.kind = TeamOrder::Kind::kQuit});
    for (std::thread& thread : threads_)
      thread.join();
  }

  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }

  [[nodiscard]] const TeamRank& leader() const override { return *ranks_.front(); }

  core::Result<std::vector<TeamAnswer>> ask(const TeamOrder& order) override {
    give(order);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return num_done_ == ranks_.size(); });
    return std::vector<TeamAnswer>(answers_.begin(), answers_.begin() + order.spec.ranks);
  }

 private:
  void give(const TeamOrder& order) {
    const std::lock_guard lock(mutex_);
    order_ = order;
    num_done_ = 0;
    ++turn_;
    begin_.notify_all();
  }

  void serve(std::size_t rank) {
    for (std::uint64_t turn = 1;; ++turn) {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return turn_ == turn; });
      const TeamOrder order = order_;
      lock.unlock();
      if (order.kind == TeamOrder::Kind::kQuit) return;
      const bool takes_part = static_cast<int>(rank) < order.spec.ranks;
      TeamAnswer answer = takes_part ? carry_out(*ranks_[rank], order) : TeamAnswer{};
      lock.lock();
      answers_[rank] = answer;
      if (++num_done_ == ranks_.size()) done_.notify_one();
    }
  }

  std::vector<std::unique_ptr<TeamRank>> ranks_;
  std::vector<TeamAnswer> answers_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begin_;
  std::condition_variable done_;
  TeamOrder order_;
  std::uint64_t turn_ = 0;
  std::size_t num_done_ = 0;
};

}  // namespace

std::unique_ptr<Team> make_thread_team(std::vector<std::unique_ptr<TeamRank>> ranks) {
  return std::make_unique<ThreadTeam>(std::move(ranks));
}

}  // namespace assay::collect
