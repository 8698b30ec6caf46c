#include "recorder/plugin/block_file.h"

#include <fcntl.h>
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
constexpr std::uint8_t kSettledRounds = 250;  // calls of save(), about 50 s
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
  // Keeps addresses for all that may ever be needed, so that nothing moves later. Without access
  // they count for nothing where memory is promised to the last byte.
  const std::uint64_t max_blocks = limit_bytes / kBlockBytes;
  void* base = ::mmap(nullptr, mapped_bytes(max_blocks), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    reason = failure("no memory for file", path);
    ::close(descriptor);
    ::unlink(path.c_str());
    return nullptr;
  }
  ::madvise(base, mapped_bytes(max_blocks), MADV_DONTFORK);
  ::madvise(base, mapped_bytes(max_blocks), MADV_DONTDUMP);
  std::unique_ptr<BlockFile> file(
      new BlockFile(path, descriptor, static_cast<std::byte*>(base), max_blocks));
  if (file->grow(0)) {
    new (base) model::recording::Header();
    file->save();
  }
  if (file->error() != 0) {
    errno = file->error();
    reason = failure("no space for file", path);
    ::unlink(path.c_str());
    return nullptr;
  }
  return file;
}

BlockFile::BlockFile(std::string path, int descriptor, std::byte* base, std::uint64_t max_blocks)
    : path_(std::move(path)),
      descriptor_(descriptor),
      base_(base),
      states_(reinterpret_cast<BlockState*>(base + max_blocks * kBlockBytes)),
      max_blocks_(max_blocks) {
  struct stat status {};

  if (::fstat(descriptor, &status) != 0) return;
  if (::mprotect(states_, max_blocks * sizeof(BlockState), PROT_READ | PROT_WRITE) != 0) {
    error_.store(errno);
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

// Destroys only a file that never came into use; others live as long as the process.
BlockFile::~BlockFile() {
  ::munmap(base_, mapped_bytes(max_blocks_));
  ::close(descriptor_);
}

std::uint64_t BlockFile::mapped_bytes(std::uint64_t max_blocks) {
  return max_blocks * (kBlockBytes + sizeof(BlockState));
}

bool BlockFile::grow(std::uint64_t block) {
  const std::lock_guard<std::mutex> lock(growing_);
  std::uint64_t ready = ready_.load(std::memory_order_relaxed);
  while (error() == 0 && ready <= block) {
    const std::uint64_t blocks = std::min(kChunkBlocks, max_blocks_ - ready);
    std::byte* begin = base_ + ready * kBlockBytes;
    if (::mprotect(begin, blocks * kBlockBytes, PROT_READ | PROT_WRITE) != 0) {
      error_.store(errno, std::memory_order_relaxed);
      return false;
    }
    ::madvise(begin, blocks * kBlockBytes, kPopulateWrite);
    ready += blocks;
    ready_.store(ready, std::memory_order_release);
  }
  return error() == 0;
}

std::byte* BlockFile::take_block() {
  if (error() != 0) return nullptr;
  const std::uint64_t block = next_.fetch_add(1, std::memory_order_relaxed);
  if (block >= max_blocks_) {
    if (block < kClosed) error_.store(kFull, std::memory_order_relaxed);
    return nullptr;
  }
  if (block >= ready_.load(std::memory_order_acquire) && !grow(block)) return nullptr;
  return base_ + block * kBlockBytes;
}

void BlockFile::prepare() {
  const std::uint64_t ahead = next_.load(std::memory_order_relaxed) + kReadyAhead;
  if (ahead < max_blocks_) grow(ahead);
}

void BlockFile::save() {
  const HeldSignals held;
  const std::lock_guard<std::mutex> lock(saving_);
  // A program may close all its files and use the number for another.
  if (!still_ours()) error_.store(EBADF, std::memory_order_relaxed);
  if (error() == EBADF) return;
  const std::uint64_t next = closed_ ? taken_ : next_.load(std::memory_order_relaxed);
  const std::uint64_t end = std::min(next, ready_.load(std::memory_order_acquire));
  for (std::uint64_t block = first_kept_; block < end && error() <= 0; ++block)
    save_block(block);
  if (!write(0, sizeof(model::recording::Header)) && error() <= 0) {
    error_.store(errno, std::memory_order_relaxed);
  }
}

void BlockFile::save_block(std::uint64_t block) {
  BlockState& state = states_[block];
  if (state.unchanged_rounds == kSettledRounds) {
    if (block == first_kept_) ++first_kept_;
    return;
  }
  if (!state.changed.load(std::memory_order_relaxed)) {
    if (state.complete.load(std::memory_order_relaxed)) ++state.unchanged_rounds;
    if (state.unchanged_rounds == kSettledRounds) {
      ::madvise(base_ + block * kBlockBytes, kBlockBytes, MADV_DONTNEED);
    }
    return;
  }
  state.unchanged_rounds = 0;
  state.changed.exchange(false, std::memory_order_acquire);
  if (!write(block * kBlockBytes, kBlockBytes)) {
    error_.store(errno, std::memory_order_relaxed);
    return;
  }
  header().saved_blocks = std::max(header().saved_blocks, block + 1);
}

bool BlockFile::write(std::uint64_t offset, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written =
        ::pwrite(descriptor_, base_ + offset, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool BlockFile::still_ours() const {
  struct stat status {};

  return ::fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void BlockFile::close() {
  {
    const std::lock_guard<std::mutex> lock(saving_);
    if (closed_) return;
    taken_ = next_.exchange(kClosed);
    closed_ = true;
  }
  save();
}

void BlockFile::forget() {
  if (still_ours()) ::close(descriptor_);
}

}  // namespace assay::recorder
