#include "allreduce/worker/nccl_sweep.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "allreduce/bench/nccl_protocol.h"
#include "allreduce/bench/sampler.h"
#include "allreduce/tuner/control.h"
#include "allreduce/tuner/tuner_file.h"
#include "allreduce/worker/cuda_status.h"
#include "allreduce/worker/facts.h"
#include "allreduce/worker/nccl_rank.h"
#include "core/shared_library.h"

namespace assay::allreduce {
namespace {

// A sample is long enough for its ends not to matter, and short enough for many samples.
constexpr double kNcclSampleMicroseconds = 400;
constexpr std::int64_t kMostNcclCalls = 100;
constexpr std::int64_t kFewestNcclCalls = 3;
constexpr std::int64_t kTrialNcclCalls = 3;

// Our tuner plugin, which NCCL loads from the same file.
class TunerControl {
 public:
  static core::Result<TunerControl> open(const std::string& path) {
    const auto library =
        ASSAY_TRY(core::SharedLibrary::open({path}, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
    TunerControl control;
    ASSAY_TRY(library.require(kGiveTunerOrder, control.give_));
    ASSAY_TRY(library.require(kReadTunerSeen, control.read_));
    return control;
  }

  void order(const NcclArm& arm, bool watch) const {
    TunerOrder order{.mode = TunerMode::kNcclsOwn, .watch = watch};
    if (arm) {
      order.mode = TunerMode::kForce;
      order.algorithm = algorithm_number(arm->algorithm);
      order.protocol = protocol_number(arm->protocol);
      order.channels = arm->channels;
    }
    give_(&order);
  }

  [[nodiscard]] TunerSeen seen() const {
    TunerSeen seen;
    read_(&seen);
    return seen;
  }

 private:
  std::remove_pointer_t<GiveTunerOrder>* give_ = nullptr;
  std::remove_pointer_t<ReadTunerSeen>* read_ = nullptr;
};

// The ranks' threads. Every piece of work is done by all of them at once.
class Crew {
 public:
  using Work = std::function<core::Result<double>(NcclRank&)>;

  explicit Crew(std::vector<NcclRankOptions> ranks)
      : meeting_(static_cast<std::ptrdiff_t>(ranks.size()) + 1), answers_(ranks.size(), 0.0) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      threads_.emplace_back([this, i, options = ranks[i]] { live(i, options); });
  }

  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  ~Crew() {
    work_ = nullptr;
    meeting_.arrive_and_wait();
    for (std::thread& thread : threads_)
      thread.join();
  }

  // Waits until all ranks have begun, or one has failed.
  core::Status begin() {
    meeting_.arrive_and_wait();
    return status();
  }

  // Returns the largest of the ranks' answers.
  core::Result<double> all(Work work) {
    work_ = std::move(work);
    meeting_.arrive_and_wait();
    meeting_.arrive_and_wait();
    ASSAY_TRY(status());
    double most = 0;
    for (const auto& answer : answers_)
      most = std::max(most, answer.value());
    return most;
  }

 private:
  core::Status status() const {
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      if (answers_[i].ok()) continue;
      return answers_[i].error().context("rank " + std::to_string(i));
    }
    return {};
  }

  void live(std::size_t place, const NcclRankOptions& options) {
    auto rank = NcclRank::create(options);
    if (!rank.ok()) answers_[place] = rank.error();
    meeting_.arrive_and_wait();
    while (true) {
      meeting_.arrive_and_wait();
      if (!work_) return;
      if (rank.ok()) answers_[place] = work_(*rank.value());
      meeting_.arrive_and_wait();
    }
  }

  std::barrier<> meeting_;
  Work work_;
  std::vector<core::Result<double>> answers_;
  std::vector<std::thread> threads_;
};

// An arm that has given right results, and what NCCL said that it ran.
struct ReadyArm {
  std::size_t place = 0;  // in the request
  std::string ran;
  std::int64_t calls = 1;
};

struct Refusal {
  Outcome outcome = Outcome::kError;
  std::string reason;
};

std::string ran_name(const TunerSeen& seen) {
  if (seen.ran == 0) return {};
  return std::string("NCCL_") + seen.algorithm + "_" + seen.protocol + "_" +
         std::to_string(seen.channels);
}

std::string wrong_results_text(double wrong) {
  return std::to_string(static_cast<std::uint64_t>(wrong)) + " values of a rank are wrong";
}

// Why an arm is not what NCCL ran; std::nullopt when it is, as far as NCCL tells.
std::optional<Refusal> refusal_of(const NcclArm& arm, const TunerSeen& seen) {
  if (seen.asked == 0) return Refusal{Outcome::kError, "NCCL did not ask the tuner plugin"};
  if (!arm) return std::nullopt;
  if (seen.ignored > 0) {
    return Refusal{Outcome::kUnsupported, "NCCL does not offer it for this call"};
  }
  const std::string ran = ran_name(seen);
  if (!seen.alike) return Refusal{Outcome::kError, "NCCL ran its calls differently"};
  if (ran.empty() || ran == name_of(*arm)) return std::nullopt;
  return Refusal{Outcome::kUnsupported, "NCCL ran it as " + ran};
}

class NcclLeader {
 public:
  NcclLeader(Crew& crew, const TunerControl& tuner, std::FILE* to)
      : crew_(crew), tuner_(tuner), to_(to) {}

  // Errors are those after which nothing more can be measured in this process.
  core::Status run(const NcclRequest& request) {
    request_ = request;
    ASSAY_TRY(crew_.all([&](NcclRank& rank) -> core::Result<double> {
      ASSAY_TRY(rank.prepare(request_.cell, request_.seed));
      return 0.0;
    }));
    std::vector<ReadyArm> ready;
    for (std::size_t i = 0; i < request_.arms.size(); ++i) {
      say(NcclDoing{request_.id, request_.arms[i]});
      const auto arm = ASSAY_TRY(make_ready(i));
      if (arm) ready.push_back(*arm);
    }
    ASSAY_TRY(time(ready));
    say(NcclOver{request_.id});
    return {};
  }

 private:
  void say(const NcclMessage& message) {
    const std::string line = nccl_message_line(message) + "\n";
    std::fputs(line.c_str(), to_);
    std::fflush(to_);
  }

  void refuse(std::size_t place, const Refusal& refusal, const std::string& ran) {
    NcclMeasurement measured;
    measured.arm = request_.arms[place];
    measured.outcome = refusal.outcome;
    measured.reason = refusal.reason;
    measured.ran = ran;
    say(NcclResult{request_.id, std::move(measured)});
  }

  [[nodiscard]] bool is_graph() const { return request_.cell.launch == Launch::kGraph; }

  // Returns std::nullopt where the arm has no right results of its own.
  core::Result<std::optional<ReadyArm>> make_ready(std::size_t place) {
    const NcclArm& arm = request_.arms[place];
    constexpr bool kWatch = true;
    tuner_.order(arm, kWatch);
    const double wrong = ASSAY_TRY(crew_.all([](NcclRank& rank) -> core::Result<double> {
      return static_cast<double>(ASSAY_TRY(rank.check()));
    }));
    const TunerSeen seen = tuner_.seen();
    auto refusal = refusal_of(arm, seen);
    if (!refusal && wrong > 0) refusal = Refusal{Outcome::kIncorrect, wrong_results_text(wrong)};
    if (refusal) {
      refuse(place, *refusal, ran_name(seen));
      return std::optional<ReadyArm>();
    }
    ReadyArm ready{.place = place, .ran = ran_name(seen)};
    ready.calls = ASSAY_TRY(calls_of(arm));
    if (!is_graph()) return std::optional(ready);
    return build(ready);
  }

  // The number of calls of a sample, from a few calls launched one by one.
  core::Result<std::int64_t> calls_of(const NcclArm& arm) {
    const double microseconds = ASSAY_TRY(sample_eager(arm, kTrialNcclCalls));
    const auto calls =
        static_cast<std::int64_t>(2 * kNcclSampleMicroseconds / std::max(microseconds, 1.0));
    return std::clamp(calls, kFewestNcclCalls, kMostNcclCalls);
  }

  // A graph keeps what NCCL chose while it was captured.
  core::Result<std::optional<ReadyArm>> build(ReadyArm ready) {
    constexpr bool kWatch = true;
    tuner_.order(request_.arms[ready.place], kWatch);
    ASSAY_TRY(crew_.all([&](NcclRank& rank) -> core::Result<double> {
      ASSAY_TRY(rank.build(ready.place, ready.calls));
      return 0.0;
    }));
    // Only now, because making a graph takes memory, for which CUDA may wait for other GPUs'
    // kernels.
    const double wrong = ASSAY_TRY(crew_.all([&](NcclRank& rank) -> core::Result<double> {
      return static_cast<double>(ASSAY_TRY(rank.check_graph(ready.place)));
    }));
    const TunerSeen seen = tuner_.seen();
    auto refusal = refusal_of(request_.arms[ready.place], seen);
    if (!refusal && wrong > 0) refusal = Refusal{Outcome::kIncorrect, wrong_results_text(wrong)};
    ready.ran = ran_name(seen);
    if (!refusal) return std::optional(ready);
    refuse(ready.place, *refusal, ready.ran);
    return std::optional<ReadyArm>();
  }

  core::Result<double> sample_eager(const NcclArm& arm, std::int64_t calls) {
    tuner_.order(arm, false);
    return crew_.all([calls](NcclRank& rank) { return rank.sample_eager(calls); });
  }

  core::Result<double> sample(const ReadyArm& arm) {
    if (!is_graph()) return sample_eager(request_.arms[arm.place], arm.calls);
    return crew_.all([&](NcclRank& rank) { return rank.sample_graph(arm.place, arm.calls); });
  }

  // Whether the results are still right after the timing.
  core::Result<double> wrong_after(const ReadyArm& arm) {
    tuner_.order(request_.arms[arm.place], false);
    return crew_.all([&](NcclRank& rank) -> core::Result<double> {
      const std::uint64_t wrong =
          is_graph() ? ASSAY_TRY(rank.check_graph(arm.place)) : ASSAY_TRY(rank.check());
      return static_cast<double>(wrong);
    });
  }

  core::Status time(const std::vector<ReadyArm>& arms) {
    const SamplerOptions options{.tie = request_.tie,
                                 .min_samples = request_.min_samples,
                                 .max_samples = request_.max_samples,
                                 .seed = request_.seed};
    const auto sampled = ASSAY_TRY(
        sample_arms(arms.size(), options, [&](std::size_t i) { return sample(arms[i]); }));
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const double wrong = ASSAY_TRY(wrong_after(arms[i]));
      if (wrong > 0) {
        refuse(arms[i].place, {Outcome::kIncorrect, wrong_results_text(wrong) + " after timing"},
               arms[i].ran);
        continue;
      }
      say(NcclResult{request_.id, measurement_of(arms[i], sampled[i])});
    }
    return {};
  }

  [[nodiscard]] NcclMeasurement measurement_of(const ReadyArm& arm,
                                               const ArmSamples& samples) const {
    // Events resolve half a microsecond, spread over the calls of a sample, so picoseconds are
    // noise.
    const auto to_ns = [](double microseconds) { return std::round(microseconds * 1e3) / 1e3; };
    NcclMeasurement measured;
    measured.arm = request_.arms[arm.place];
    measured.ran = arm.ran;
    measured.time_us = to_ns(samples.median_us);
    measured.low_us = to_ns(samples.low_us);
    measured.high_us = to_ns(samples.high_us);
    measured.min_us = to_ns(*std::min_element(samples.times_us.begin(), samples.times_us.end()));
    measured.samples = static_cast<std::int64_t>(samples.times_us.size());
    return measured;
  }

  Crew& crew_;
  const TunerControl& tuner_;
  std::FILE* to_;
  NcclRequest request_;
};

// Ranks of one process would reach each other's buffers directly, which the processes of a job with
// a GPU each do not, so that other settings would be the best.
void set_variables(const std::string& plugin) {
  constexpr int kReplace = 1;
  setenv("NCCL_TUNER_PLUGIN", plugin.c_str(), kReplace);
  setenv("NCCL_PROFILER_PLUGIN", plugin.c_str(), kReplace);
  setenv("NCCL_P2P_DIRECT_DISABLE", "1", 0);
}

core::Result<volatile unsigned*> shared_slots() {
  void* slots = nullptr;
  constexpr std::size_t kBytes = 4096;
  ASSAY_TRY(cuda_status(cudaHostAlloc(&slots, kBytes, cudaHostAllocPortable | cudaHostAllocMapped),
                        "host memory"));
  auto* const numbers = static_cast<volatile unsigned*>(slots);
  for (std::size_t i = 0; i < kBytes / sizeof(unsigned); ++i)
    numbers[i] = 0;
  return numbers;
}

core::Result<std::vector<NcclRankOptions>> nccl_ranks(const NcclWorkerOptions& options,
                                                      const NcclCalls& nccl) {
  NcclRankOptions common{.world_size = static_cast<int>(options.gpus.size()), .nccl = &nccl};
  ASSAY_TRY(cuda_status(cudaSetDevice(options.gpus.front()), "choosing the GPU"));
  ASSAY_TRY(nccl.check(nccl.get_unique_id(&common.id), "ncclGetUniqueId"));
  common.slots = ASSAY_TRY(shared_slots());
  std::vector<NcclRankOptions> ranks;
  for (const int gpu : options.gpus) {
    common.rank = static_cast<int>(ranks.size());
    common.device = gpu;
    ranks.push_back(common);
  }
  return ranks;
}

}  // namespace

core::Status serve_nccl_sweep(const NcclWorkerOptions& options, std::FILE* to) {
  set_variables(options.plugin);
  const TunerControl tuner = ASSAY_TRY(TunerControl::open(options.plugin));
  const NcclCalls nccl = ASSAY_TRY(NcclCalls::load());
  int version = 0;
  ASSAY_TRY(nccl.check(nccl.get_version(&version), "ncclGetVersion"));
  Crew crew(ASSAY_TRY(nccl_ranks(options, nccl)));
  const core::Status begun = crew.begin();
  const auto fail = [to](const core::Error& error) {
    std::fputs((nccl_message_line(WorkerFatal{error.message}) + "\n").c_str(), to);
    std::fflush(to);
    std::_Exit(1);
  };
  if (!begun.ok()) fail(begun.error());
  std::fputs((message_line(worker_facts(options.gpus.front(), version)) + "\n").c_str(), to);
  std::fflush(to);
  NcclLeader leader(crew, tuner, to);
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = parse_nccl_request(line);
    if (!request.ok()) fail(request.error());
    const core::Status done = leader.run(request.value());
    if (!done.ok()) fail(done.error());
  }
  return {};
}

}  // namespace assay::allreduce
