#include "allreduce/worker/team.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <thread>

namespace assay::allreduce {

struct Team::Shared {
  std::atomic<std::uint32_t> ready{0};  // 1 once rank 0 has made it
  std::atomic<std::uint32_t> orders{0};
  std::atomic<std::uint32_t> answers{0};
  Order order;
  Answer answer_of[kMaxRanks];
  unsigned char handles[kMaxRanks][256] = {};
};

namespace {

using namespace std::chrono_literals;

// The orders that this thread has seen: ranks that are threads share a Team.
thread_local std::uint32_t orders_seen = 0;  // NOLINT

// Spins, because orders come microseconds apart while a cell is timed; sleeps when no order has
// come for a while.
template <class Condition>
void wait_until(Condition is_so) {
  for (std::uint64_t i = 0; !is_so(); ++i) {
    if (i > 2'000'000) std::this_thread::sleep_for(100us);
  }
}

core::Error system_error(const std::string& doing) {
  return core::Error{doing + ": " + std::strerror(errno)};
}

core::Result<void*> map(const std::filesystem::path& path, std::size_t bytes, int flags) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
  if (file < 0) return system_error(path.string());
  const bool sized = (flags & O_CREAT) == 0 || ftruncate(file, static_cast<off_t>(bytes)) == 0;
  void* memory =
      sized ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const core::Error error = system_error(path.string());
  close(file);
  if (memory == MAP_FAILED) return error;
  return memory;
}

bool has_size(const std::filesystem::path& path, std::size_t bytes) {
  struct stat about {};

  return stat(path.c_str(), &about) == 0 && static_cast<std::size_t>(about.st_size) >= bytes;
}

}  // namespace

Answer Answer::error(const std::string& message) {
  Answer answer;
  answer.say(Kind::kError, message);
  return answer;
}

void Answer::say(Kind what, const std::string& text) {
  kind = what;
  const std::size_t length = std::min(text.size(), sizeof message - 1);
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
}

Team::Team(int world_size) : world_size_(world_size), shared_(new Shared) {}

core::Result<std::unique_ptr<Team>> Team::join(const std::filesystem::path& path,
                                               int rank,
                                               int world_size) {
  std::unique_ptr<Team> team(new Team);
  team->world_size_ = world_size;
  team->mapped_bytes_ = sizeof(Shared);
  if (rank == 0) {
    void* memory = ASSAY_TRY(map(path, sizeof(Shared), O_CREAT | O_EXCL));
    team->shared_ = new (memory) Shared;
    team->shared_->ready = 1;
    return team;
  }
  wait_until([&] { return has_size(path, sizeof(Shared)); });
  team->shared_ = static_cast<Shared*>(ASSAY_TRY(map(path, sizeof(Shared), 0)));
  wait_until([&] { return team->shared_->ready == 1; });
  return team;
}

Team::~Team() {
  if (mapped_bytes_ == 0) {
    delete shared_;
  } else if (shared_ != nullptr) {
    munmap(shared_, mapped_bytes_);
  }
}

void Team::give(const Order& order) {
  shared_->order = order;
  shared_->answers = 0;
  shared_->orders.fetch_add(1);
}

std::vector<Answer> Team::collect(const Answer& own) {
  shared_->answer_of[0] = own;
  wait_until([&] { return shared_->answers == static_cast<std::uint32_t>(world_size_ - 1); });
  return {shared_->answer_of, shared_->answer_of + world_size_};
}

Order Team::await() {
  wait_until([&] { return shared_->orders != orders_seen; });
  ++orders_seen;
  return shared_->order;
}

void Team::answer(int rank, const Answer& answer) {
  shared_->answer_of[rank] = answer;
  shared_->answers.fetch_add(1);
}

unsigned char (*Team::handles())[256] {
  return shared_->handles;
}

}  // namespace assay::allreduce
