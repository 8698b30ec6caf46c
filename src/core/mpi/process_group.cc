#include "core/mpi/process_group.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "core/interrupt.h"

namespace assay::core::mpi {
namespace {

// MPI waits by asking again and again, without a pause, and so does its sender of a long message
// until the receiver is there. So the sender announces a message, the receiver calls for it when it
// is ready, and both sleep until they hear of each other.
enum Tag : std::uint8_t { kAnnounced = 1, kCalledFor, kContent };

constexpr std::chrono::microseconds kShortestPause{20};
constexpr std::chrono::microseconds kLongestPause{5'000};
constexpr std::size_t kMostBytesAtOnce = std::size_t{1} << 28;  // MPI counts in int

class JobGroup final : public ProcessGroup {
 public:
  explicit JobGroup(const Job& job) : job_(job) {}

  JobGroup(const JobGroup&) = delete;
  JobGroup& operator=(const JobGroup&) = delete;

  ~JobGroup() override { job_.functions->stop(); }

  [[nodiscard]] int rank() const override { return job_.rank; }

  [[nodiscard]] int size() const override { return job_.size; }

  Status send(int to, std::string_view message) override {
    const std::uint64_t bytes = message.size();
    ASSAY_TRY(status(job_.functions->send(&bytes, sizeof(bytes), to, kAnnounced)));
    // Nobody calls for an empty message, which has nothing more to say.
    if (bytes == 0) return {};
    if (ASSAY_TRY(wait_for(to, kCalledFor, kAnnounced)) != kCalledFor)
      return Error{"another process does not take what this one read"};
    ASSAY_TRY(status(job_.functions->receive(nullptr, 0, to, kCalledFor)));
    while (!message.empty()) {
      const std::string_view piece = message.substr(0, kMostBytesAtOnce);
      ASSAY_TRY(status(job_.functions->send(piece.data(), piece.size(), to, kContent)));
      message.remove_prefix(piece.size());
    }
    return {};
  }

  Result<std::string> receive(int from) override {
    static_cast<void>(ASSAY_TRY(wait_for(from, kAnnounced, kAnnounced)));
    std::uint64_t bytes = 0;
    ASSAY_TRY(status(job_.functions->receive(&bytes, sizeof(bytes), from, kAnnounced)));
    if (bytes == 0) return std::string();
    ASSAY_TRY(status(job_.functions->send(nullptr, 0, from, kCalledFor)));
    std::string message(bytes, '\0');
    for (std::size_t at = 0; at < bytes; at += kMostBytesAtOnce) {
      const std::size_t piece = std::min(kMostBytesAtOnce, static_cast<std::size_t>(bytes) - at);
      ASSAY_TRY(status(job_.functions->receive(message.data() + at, piece, from, kContent)));
    }
    return message;
  }

  bool has_message(int from) override {
    const std::scoped_lock lock(mutex_);
    int yes = 0;
    return job_.functions->arrived(from, kAnnounced, &yes) == 0 && yes != 0;
  }

 private:
  [[nodiscard]] Status status(int error) const { return status_of(job_, error); }

  // Returns which of the two has arrived.
  [[nodiscard]] Result<Tag> wait_for(int from, Tag tag, Tag other) const {
    for (auto pause = kShortestPause;; pause = std::min(2 * pause, kLongestPause)) {
      for (const Tag wanted : {tag, other}) {
        int yes = 0;
        ASSAY_TRY(status(job_.functions->arrived(from, wanted, &yes)));
        if (yes != 0) return wanted;
      }
      ASSAY_TRY(check_interrupt());
      std::this_thread::sleep_for(pause);
    }
  }

  Job job_;
  std::mutex mutex_;  // of has_message(), which any thread may call while no other call is made
};

}  // namespace

std::unique_ptr<ProcessGroup> make_process_group(const Job& job) {
  return std::make_unique<JobGroup>(job);
}

}  // namespace assay::core::mpi
