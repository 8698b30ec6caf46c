#include "core/file_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "core/interrupt.h"

namespace assay::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr mode_t kMode = 0666;
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& path,
                                   std::chrono::milliseconds patience) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor < 0) {
    return Error{fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno))};
  }
  FileLock lock(descriptor);
  const Clock::time_point give_up_at = Clock::now() + patience;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ASSAY_TRY(check_interrupt());
    if (Clock::now() >= give_up_at) {
      return Error{fmt::format("'{}' is locked by another process", path.string())};
    }
    std::this_thread::sleep_for(kPause);
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace assay::core
