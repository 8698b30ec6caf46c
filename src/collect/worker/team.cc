#include "collect/worker/team.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "core/statistics.h"

namespace assay::collect {
namespace {

using Kind = TeamOrder::Kind;

void say(TeamAnswer& answer, TeamAnswer::Kind kind, const std::string& text) {
  answer.kind = kind;
  const std::size_t length = std::min(text.size(), sizeof(answer.text) - 1);
  std::memcpy(answer.text, text.data(), length);
  answer.text[length] = '\0';
}

void fill(TeamAnswer& answer, const core::Status& status) {
  if (!status.ok()) say(answer, TeamAnswer::Kind::kError, status.error().message);
}

void make(TeamRank& rank, const TeamOrder& order, TeamAnswer& answer) {
  const auto made = rank.make(order.spec);
  if (!made.ok()) {
    say(answer, TeamAnswer::Kind::kError, made.error().message);
  } else if (made.value()) {
    say(answer, TeamAnswer::Kind::kUnsupported, made.value()->reason);
  }
}

void check(TeamRank& rank, TeamAnswer& answer) {
  const core::Result<Accuracy> accuracy = rank.check();
  if (!accuracy.ok()) {
    say(answer, TeamAnswer::Kind::kError, accuracy.error().message);
    return;
  }
  answer.worst = accuracy.value().worst;
  answer.compared = accuracy.value().compared;
  say(answer, TeamAnswer::Kind::kOk, accuracy.value().where);
}

void sample(TeamRank& rank, const TeamOrder& order, TeamAnswer& answer) {
  const auto times_ms = rank.sample(std::min(order.count, kMostTeamSamples));
  if (times_ms.ok()) {
    std::copy(times_ms.value().begin(), times_ms.value().end(), answer.times_ms);
  } else {
    say(answer, TeamAnswer::Kind::kError, times_ms.error().message);
  }
}

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

using Answers = std::vector<TeamAnswer>;

// Sends orders to the team, and remembers whether a rank was lost.
class Leader {
 public:
  explicit Leader(std::unique_ptr<Team> team) : team_(std::move(team)) {}

  core::Result<Answers> ask(const TeamOrder& order) {
    core::Result<Answers> answers = team_->ask(order);
    if (!answers.ok()) {
      is_lost_ = true;
      return answers;
    }
    for (std::size_t rank = 0; rank < answers.value().size(); ++rank) {
      const TeamAnswer& answer = answers.value()[rank];
      is_lost_ = is_lost_ || answer.is_lost != 0;
      if (answer.kind == TeamAnswer::Kind::kError) {
        return core::Error{fmt::format("rank {}: {}", rank, answer.text)};
      }
    }
    return answers;
  }

  core::Status have(const TeamOrder& order) {
    const core::Result<Answers> answers = ask(order);
    if (!answers.ok()) return answers.error();
    return {};
  }

  [[nodiscard]] const Team& team() const { return *team_; }

  [[nodiscard]] bool is_lost() const { return is_lost_; }

 private:
  std::unique_ptr<Team> team_;
  bool is_lost_ = false;
};

class TeamWork final : public Work {
 public:
  TeamWork(Leader& leader, const CollectiveSpec& spec) : leader_(leader), spec_(spec) {}

  TeamWork(const TeamWork&) = delete;
  TeamWork& operator=(const TeamWork&) = delete;

  // The ranks of a lost team are given up with everything they hold.
  ~TeamWork() override {
    if (!leader_.is_lost()) {
      const core::Status ignored = leader_.have({.kind = Kind::kForget, .spec = spec_});
      static_cast<void>(ignored);
    }
  }

  core::Status launch() override { return leader_.have({.kind = Kind::kLaunch, .spec = spec_}); }

  [[nodiscard]] std::string kernel_source() const override {
    return leader_.team().leader().kernel_source(spec_);
  }

  core::Result<Accuracy> check() override {
    const Answers answers = ASSAY_TRY(leader_.ask({.kind = Kind::kCheck, .spec = spec_}));
    Accuracy all;
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
      all.compared += answers[rank].compared;
      if (answers[rank].worst <= all.worst) continue;
      all.worst = answers[rank].worst;
      all.where = fmt::format("rank {}: {}", rank, answers[rank].text);
    }
    return all;
  }

 private:
  Leader& leader_;
  CollectiveSpec spec_;
};

class TeamStopwatch final : public Stopwatch {
 public:
  TeamStopwatch(Leader& leader, const CollectiveSpec& spec)
      : leader_(leader), spec_(spec), of_rank_(static_cast<std::size_t>(spec.ranks)) {}

  core::Result<std::vector<double>> sample(std::int64_t count) override {
    std::vector<double> slowest_ms;
    while (static_cast<std::int64_t>(slowest_ms.size()) < count) {
      const std::int64_t left = count - static_cast<std::int64_t>(slowest_ms.size());
      const std::int64_t part = std::min(left, kMostTeamSamples);
      const Answers answers =
          ASSAY_TRY(leader_.ask({.kind = Kind::kSample, .spec = spec_, .count = part}));
      for (std::int64_t i = 0; i < part; ++i)
        slowest_ms.push_back(slowest(answers, i));
    }
    return slowest_ms;
  }

  [[nodiscard]] std::optional<double> skew_ms() const override {
    std::vector<double> medians;
    for (const std::vector<double>& times_ms : of_rank_)
      medians.push_back(core::median(times_ms));
    return core::maximum(medians) - core::minimum(medians);
  }

 private:
  double slowest(const Answers& answers, std::int64_t sample) {
    double most_ms = 0;
    for (std::size_t rank = 0; rank < answers.size(); ++rank) {
      const double time_ms = answers[rank].times_ms[sample];
      of_rank_[rank].push_back(time_ms);
      most_ms = std::max(most_ms, time_ms);
    }
    return most_ms;
  }

  Leader& leader_;
  CollectiveSpec spec_;
  std::vector<std::vector<double>> of_rank_;
};

class TeamDevice final : public Device {
 public:
  TeamDevice(std::unique_ptr<Team> team, DeviceFacts facts)
      : leader_(std::move(team)), facts_(std::move(facts)) {
    facts_.count = leader_.team().size();
  }

  [[nodiscard]] const DeviceFacts& facts() const override { return facts_; }

  core::Result<MadeWork> make(const KernelSpec& spec, model::L2State /*l2*/) override {
    const auto* collective = std::get_if<CollectiveSpec>(&spec);
    if (collective == nullptr) return MadeWork(Unsupported{"this worker does collectives only"});
    if (collective->ranks < 1 || collective->ranks > facts_.count) {
      return MadeWork(Unsupported{
          fmt::format("it needs {} ranks and there are {}", collective->ranks, facts_.count)});
    }
    spec_ = *collective;
    const Answers answers = ASSAY_TRY(leader_.ask({.kind = Kind::kMake, .spec = spec_}));
    auto work = std::make_unique<TeamWork>(leader_, *collective);
    for (const TeamAnswer& answer : answers) {
      if (answer.kind == TeamAnswer::Kind::kUnsupported) return MadeWork(Unsupported{answer.text});
    }
    return MadeWork(std::move(work));
  }

  core::Result<std::unique_ptr<Stopwatch>> stopwatch(Work& /*work*/,
                                                     const StopwatchRequest& request) override {
    ASSAY_TRY(leader_.have({.kind = Kind::kWatch,
                            .spec = spec_,
                            .launch = request.launch,
                            .launches = request.launches_per_sample}));
    return std::unique_ptr<Stopwatch>(std::make_unique<TeamStopwatch>(leader_, spec_));
  }

  core::Status finish() override { return leader_.have({.kind = Kind::kFinish, .spec = spec_}); }

  [[nodiscard]] bool is_lost() const override { return leader_.is_lost(); }

 private:
  Leader leader_;
  DeviceFacts facts_;
  CollectiveSpec spec_;  // of the work; there is only one at a time
};

}  // namespace

TeamAnswer carry_out(TeamRank& rank, const TeamOrder& order) {
  TeamAnswer answer;
  switch (order.kind) {
    case Kind::kMake:
      make(rank, order, answer);
      break;
    case Kind::kLaunch:
      fill(answer, rank.launch());
      break;
    case Kind::kFinish:
      fill(answer, rank.finish());
      break;
    case Kind::kCheck:
      check(rank, answer);
      break;
    case Kind::kWatch:
      fill(answer, rank.watch({order.launch, order.launches}));
      break;
    case Kind::kSample:
      sample(rank, order, answer);
      break;
    case Kind::kForget:
    case Kind::kQuit:
      rank.forget();
      break;
  }
  answer.is_lost = rank.is_lost() ? 1 : 0;
  return answer;
}

std::unique_ptr<Team> make_thread_team(std::vector<std::unique_ptr<TeamRank>> ranks) {
  return std::make_unique<ThreadTeam>(std::move(ranks));
}

std::unique_ptr<Device> make_team_device(std::unique_ptr<Team> team, DeviceFacts facts) {
  return std::make_unique<TeamDevice>(std::move(team), std::move(facts));
}

}  // namespace assay::collect
