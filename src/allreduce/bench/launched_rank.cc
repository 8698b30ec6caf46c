#include "allreduce/bench/launched_rank.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "core/interrupt.h"
#include "core/output_file.h"

namespace assay::allreduce {

core::Result<std::optional<LaunchedRank>> launched_rank(const core::Variables& variables) {
  auto rank = core::launched_rank(variables);
  if (!rank.ok() || !rank.value()) return rank;
  const LaunchedRank& launched = *rank.value();
  if (!launched.local_size || *launched.local_size == launched.size) return rank;
  return core::Error{fmt::format(
      "{} of the {} ranks are on this host: all GPUs of an all-reduce must be in one host",
      *launched.local_size, launched.size)};
}

std::filesystem::path default_rendezvous(const LaunchedRank& rank) {
  return fmt::format("/dev/shm/assay_allreduce.{}.{}", ::getuid(), rank.job);
}

// All ranks of one host map it into their memory. Rank 0 holds the lock of the file as long as it
// lives.
struct RankControl {
  // The generation of workers and the number of ranks that take part in it.
  std::atomic<std::uint64_t> orders{0};
  // The generation and rank of the last worker that failed.
  std::atomic<std::uint64_t> failure{0};
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr mode_t kControlFileMode = 0600;
constexpr std::uint64_t kMostRanks = 1024;
constexpr std::uint64_t kDone = ~std::uint64_t{0};

constexpr milliseconds kPollInterval{20};
constexpr milliseconds kTimeForLeader{30'000};

std::uint64_t packed(std::uint64_t generation, int rank_or_size) {
  return generation * kMostRanks + static_cast<std::uint64_t>(rank_or_size);
}

core::Error system_error(const fs::path& path, int error) {
  return core::Error{fmt::format("cannot use '{}' for the meeting of the ranks: {}", path.string(),
                                 std::strerror(error))};
}

// Returns true if the lock is held, which means that the leader is alive.
bool is_led(int descriptor) {
  if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0) return true;
  ::flock(descriptor, LOCK_UN);
  return false;
}

// The folder may be one that everybody writes into, so neither links nor files of others are used.
int open_own_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                         status.st_uid == ::geteuid()))
    return descriptor;
  ::close(descriptor);
  return -1;
}

core::Status check_may_meet_at(const fs::path& path) {
  std::error_code code;
  const auto type = fs::symlink_status(path, code).type();
  if (type == fs::file_type::not_found || type == fs::file_type::regular) return {};
  return core::Error{fmt::format(
      "cannot use '{}' for the meeting of the ranks: it is no regular file", path.string())};
}

bool is_used(const fs::path& path) {
  const int descriptor = open_own_file(path);
  if (descriptor < 0) return false;
  const bool used = is_led(descriptor);
  ::close(descriptor);
  return used;
}

void* mapped(int descriptor) {
  return ::mmap(nullptr, sizeof(RankControl), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
}

// The leader as the other ranks see it.
class Follower {
 public:
  static core::Result<Follower> join(const fs::path& path) {
    const Clock::time_point give_up_at = Clock::now() + kTimeForLeader;
    while (Clock::now() < give_up_at) {
      ASSAY_TRY(core::check_interrupt());
      const int descriptor = open_own_file(path);
      // A file without a leader is left over from another run.
      if (descriptor >= 0 && is_led(descriptor)) {
        void* const memory = mapped(descriptor);
        if (memory == MAP_FAILED) return system_error(path, errno);
        return Follower(descriptor, static_cast<RankControl*>(memory));
      }
      if (descriptor >= 0) ::close(descriptor);
      std::this_thread::sleep_for(kPollInterval);
    }
    return core::Error{
        fmt::format("rank 0 does not appear at '{}': name a file that all ranks see with "
                    "--rendezvous",
                    path.string())};
  }

  Follower(Follower&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        control_(std::exchange(other.control_, nullptr)) {}

  Follower& operator=(Follower&&) = delete;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  ~Follower() {
    if (control_ != nullptr) ::munmap(control_, sizeof(RankControl));
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // Also returns kDone when the leader is gone.
  [[nodiscard]] std::uint64_t orders() const {
    return is_led(descriptor_) ? control_->orders.load() : kDone;
  }

  void tell_failure(std::uint64_t orders, int rank) const {
    control_->failure.store(packed(orders / kMostRanks, rank));
  }

 private:
  Follower(int descriptor, RankControl* control) : descriptor_(descriptor), control_(control) {}

  int descriptor_;
  RankControl* control_;
};

fs::path meeting_place(const fs::path& path, std::uint64_t generation) {
  fs::path place = path;
  place += fmt::format(".{}", generation);
  return place;
}

enum class Health { kWell, kFinished, kFailed };

// Only checks the state of the worker; its messages reach rank 0 through the workers themselves.
Health look_at(Worker& worker) {
  const auto got = worker.receive(Clock::now() + kPollInterval);
  if (const auto* message = std::get_if<WorkerMessage>(&got)) {
    return std::holds_alternative<WorkerFatal>(*message) ? Health::kFailed : Health::kWell;
  }
  const auto& none = std::get<NoMessage>(got);
  if (none.why == NoMessage::Why::kNotYet) return Health::kWell;
  const bool finished = none.end && none.end->signal == 0 && none.end->exit_code == 0;
  return finished ? Health::kFinished : Health::kFailed;
}

// Returns std::nullopt when the worker cannot be started.
std::optional<Worker> started_worker(const WorkerLaunch& launch,
                                     const WorkerRank& rank,
                                     int world_size) {
  WorkerLaunch mine = launch;
  mine.world_size = world_size;
  mine.rank = rank;
  auto started = Worker::start(mine);
  if (!started.ok()) return std::nullopt;
  return std::move(started).value();
}

// Returns std::nullopt when the orders are for other ranks, and when the worker does not start,
// which is reported to the leader.
std::optional<Worker> worker_for(const Follower& follower,
                                 std::uint64_t orders,
                                 int rank,
                                 const fs::path& rendezvous,
                                 const WorkerLaunch& launch) {
  const auto world_size = static_cast<int>(orders % kMostRanks);
  if (rank >= world_size) return std::nullopt;
  auto started =
      started_worker(launch, {rank, meeting_place(rendezvous, orders / kMostRanks)}, world_size);
  if (!started) follower.tell_failure(orders, rank);
  return started;
}

}  // namespace

core::Result<RankLeader> RankLeader::create(const fs::path& rendezvous) {
  if (is_used(rendezvous)) {
    return core::Error{fmt::format("another run meets at '{}': name another file with --rendezvous",
                                   rendezvous.string())};
  }
  ASSAY_TRY(check_may_meet_at(rendezvous));
  core::TemporaryFile temporary = ASSAY_TRY(core::TemporaryFile::beside(rendezvous));
  // The other ranks see the file only after the rename, when it is complete and locked. The copy
  // of the descriptor keeps the lock.
  const int descriptor = ::fcntl(temporary.descriptor(), F_DUPFD_CLOEXEC, 0);
  const bool ready = descriptor >= 0 && ::fchmod(descriptor, kControlFileMode) == 0 &&
                     ::ftruncate(descriptor, sizeof(RankControl)) == 0;
  void* const memory = ready ? mapped(descriptor) : MAP_FAILED;
  if (memory == MAP_FAILED || ::rename(temporary.path().c_str(), rendezvous.c_str()) != 0) {
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    return system_error(rendezvous, error);
  }
  temporary.release();
  return RankLeader(rendezvous, descriptor, new (memory) RankControl);
}

RankLeader::RankLeader(fs::path path, int descriptor, RankControl* control)
    : path_(std::move(path)), descriptor_(descriptor), control_(control) {}

RankLeader::RankLeader(RankLeader&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      control_(std::exchange(other.control_, nullptr)),
      generation_(other.generation_) {}

RankLeader::~RankLeader() {
  if (control_ == nullptr) return;
  control_->orders.store(kDone);
  remove_meeting_place();
  ::unlink(path_.c_str());
  ::munmap(control_, sizeof(RankControl));
  ::close(descriptor_);
}

fs::path RankLeader::begin(int world_size) {
  remove_meeting_place();
  ++generation_;
  remove_meeting_place();  // of a leader that was killed
  control_->orders.store(packed(generation_, world_size));
  return meeting_place(path_, generation_);
}

void RankLeader::rest() {
  remove_meeting_place();
  ++generation_;
  control_->orders.store(packed(generation_, 0));
}

void RankLeader::remove_meeting_place() {
  ::unlink(meeting_place(path_, generation_).c_str());
}

std::optional<std::string> RankLeader::problem() const {
  const std::uint64_t failure = control_->failure.load();
  if (failure / kMostRanks != generation_ || failure == 0) return std::nullopt;
  return fmt::format("the worker of rank {} ended or cannot start (see its log)",
                     failure % kMostRanks);
}

core::Status follow_leader(const fs::path& rendezvous, int rank, const WorkerLaunch& launch) {
  const Follower follower = ASSAY_TRY(Follower::join(rendezvous));
  std::optional<Worker> worker;
  std::uint64_t current = 0;
  for (;;) {
    ASSAY_TRY(core::check_interrupt());
    const std::uint64_t orders = follower.orders();
    if (orders == kDone) return {};
    if (orders != current) {
      worker.reset();
      current = orders;
      auto started = worker_for(follower, orders, rank, rendezvous, launch);
      if (started) worker.emplace(std::move(*started));
    }
    const Health health = worker ? look_at(*worker) : Health::kWell;
    if (health == Health::kFailed) follower.tell_failure(current, rank);
    if (health != Health::kWell) worker.reset();
    if (!worker) std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace assay::allreduce
