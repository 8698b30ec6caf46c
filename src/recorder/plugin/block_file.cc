#include "recorder/plugin/block_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "recorder/plugin/held_signals.h"
#include "recorder/plugin/settings.h"

namespace assay::recorder {
namespace {

using model::recording::kBlockBytes;

constexpr std::uint64_t kChunkBlocks = 64;
constexpr std::uint64_t kReadyAhead = 32;
constexpr std::uint64_t kClosed = std::uint64_t{1} << 62;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE of Linux 5.14
constexpr int kSameNames = 100;

std::string failure(const std::string& what, const std::string& path) {
  return what + " " + path + ": " + std::strerror(errno);
}

bool make_folder(const std::string& folder) {
  for (std::size_t slash = folder.find('/', 1);; slash = folder.find('/', slash + 1)) {
    if (::mkdir(folder.substr(0, slash).c_str(), 0777) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) return true;
  }
}

// The system reuses process numbers: then the file gets _1, _2 and so on.
int create_file(const std::string& folder, std::string& path) {
  const std::string stem = folder + "/assay_" + host_name() + "_" + std::to_string(::getpid());
  int descriptor = -1;
  errno = EEXIST;
  for (int i = 0; descriptor < 0 && errno == EEXIST && i < kSameNames; ++i) {
    path = stem + (i == 0 ? "" : "_" + std::to_string(i)) + model::recording::kFileSuffix;
    descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  return descriptor;
}

}  // namespace

std::unique_ptr<BlockFile> BlockFile::create(const std::string& folder,
                                             std::uint64_t limit_bytes,
                                             std::string& reason) {
  if (!make_folder(folder)) {
    reason = failure("cannot make folder", folder);
    return nullptr;
  }
  std::string path;
  const int descriptor = create_file(folder, path);
  if (descriptor < 0) {
    reason = failure("cannot make file", path);
    return nullptr;
  }
  // The lock is held as long as the process lives and tells that the file may still grow.
  ::flock(descriptor, LOCK_EX | LOCK_NB);
  // Maps all that may ever be needed, so that nothing moves later; a page costs nothing until it is
  // used.
  void* base = ::mmap(nullptr, limit_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      descriptor, 0);
  if (base == MAP_FAILED) {
    reason = failure("cannot map file", path);
    ::close(descriptor);
    return nullptr;
  }
  ::madvise(base, limit_bytes, MADV_DONTFORK);
  std::unique_ptr<BlockFile> file(
      new BlockFile(path, descriptor, static_cast<std::byte*>(base), limit_bytes / kBlockBytes));
  if (!file->grow(0)) {
    errno = file->error();
    reason = failure("no space for file", path);
    return nullptr;
  }
  new (base) model::recording::Header();
  return file;
}

BlockFile::BlockFile(std::string path, int descriptor, std::byte* base, std::uint64_t max_blocks)
    : path_(std::move(path)), descriptor_(descriptor), base_(base), max_blocks_(max_blocks) {}

// Destroys only a file that never came into use; others live as long as the process.
BlockFile::~BlockFile() {
  ::munmap(base_, max_blocks_ * kBlockBytes);
  ::close(descriptor_);
}

bool BlockFile::reserve_chunk() {
  const std::uint64_t ready = ready_.load(std::memory_order_relaxed);
  const std::uint64_t blocks = std::min(kChunkBlocks, max_blocks_ - ready);
  const HeldSignals held;
  // Reserves disk space, because a write to a page that the disk has no room for raises SIGBUS.
  const int error = blocks == 0
                        ? EFBIG
                        : ::posix_fallocate(descriptor_, static_cast<off_t>(ready * kBlockBytes),
                                            static_cast<off_t>(blocks * kBlockBytes));
  if (error != 0) {
    error_.store(error, std::memory_order_relaxed);
    return false;
  }
  ::madvise(base_ + ready * kBlockBytes, blocks * kBlockBytes, kPopulateWrite);
  ready_.store(ready + blocks, std::memory_order_release);
  return true;
}

bool BlockFile::grow(std::uint64_t block) {
  const std::lock_guard<std::mutex> lock(growing_);
  while (!closed_ && ready_.load(std::memory_order_relaxed) <= block) {
    if (!reserve_chunk()) return false;
  }
  return !closed_;
}

std::byte* BlockFile::take_block() {
  if (error() != 0) return nullptr;
  const std::uint64_t block = next_.fetch_add(1, std::memory_order_relaxed);
  if (block >= ready_.load(std::memory_order_acquire) && !grow(block)) return nullptr;
  return base_ + block * kBlockBytes;
}

void BlockFile::prepare() {
  const std::uint64_t ahead = next_.load(std::memory_order_relaxed) + kReadyAhead;
  if (error() == 0 && ahead < max_blocks_) grow(ahead);
}

void BlockFile::close() {
  const std::uint64_t next = next_.exchange(kClosed);
  const std::lock_guard<std::mutex> lock(growing_);
  if (closed_) return;
  closed_ = true;
  const std::uint64_t used = std::min(next, ready_.load());
  if (::ftruncate(descriptor_, static_cast<off_t>(used * kBlockBytes)) != 0) return;
}

void BlockFile::forget() {
  ::close(descriptor_);
}

}  // namespace assay::recorder
