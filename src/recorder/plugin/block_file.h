// The blocks of a recording, which threads fill in memory, and the file that they are saved in.
// Saved blocks survive the process, whatever ends that. Memory that maps the file would save at
// once, but a file that is cut by others, or whose disk fails, then ends the process by SIGBUS.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "model/recording.h"

namespace assay::recorder {

class BlockFile {
 public:
  // Creates a file in the folder, which is made when missing. Returns null and a reason on failure.
  static std::unique_ptr<BlockFile> create(const std::string& folder,
                                           std::uint64_t limit_bytes,
                                           std::string& reason);

  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;
  ~BlockFile();

  model::recording::Header& header() { return *reinterpret_cast<model::recording::Header*>(base_); }

  // Returns an empty block; null when the file is full or closed. Takes no lock unless the blocks
  // that prepare() made ready are used up.
  std::byte* take_block();

  // Makes memory ready for the next blocks.
  void prepare();

  // Says that the bytes at this place, in a block that was taken, have changed.
  void touch(const void* place) { state_of(place).changed.store(true, std::memory_order_release); }

  // Says that a block gets no more records.
  void complete(const void* place) {
    state_of(place).complete.store(true, std::memory_order_relaxed);
  }

  // Writes what has changed into the file. The memory of complete blocks that have not changed for
  // long is given back: events that end later stay without an end.
  void save();

  // This value of error() says that the file has reached its limit.
  static constexpr int kFull = -1;

  // Returns 0, kFull, or the errno that ended the file, such as ENOSPC.
  [[nodiscard]] int error() const { return error_.load(std::memory_order_relaxed); }

  // Returns whether the pointer is in a block that has memory.
  [[nodiscard]] bool owns(const void* place) const {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(place) - base_);
    return offset >= model::recording::kBlockBytes &&
           offset < ready_.load(std::memory_order_relaxed) * model::recording::kBlockBytes;
  }

  // Returns the number of a record; 0 for a pointer to anything else.
  [[nodiscard]] std::uint32_t number_of(const void* record) const {
    if (!owns(record)) return 0;
    return static_cast<std::uint32_t>((static_cast<const std::byte*>(record) - base_) / 8);
  }

  // Saves for the last time. Threads may go on writing into blocks that they have.
  void close();

  // Drops the file in a forked child without changing it.
  void forget();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  // Each has its own line of the cache, because each block has its own thread.
  struct alignas(64) BlockState {
    std::atomic<bool> changed{false};
    std::atomic<bool> complete{false};
    std::uint8_t unchanged_rounds = 0;  // of save(), at most kSettledRounds
  };

  BlockFile(std::string path, int descriptor, std::byte* base, std::uint64_t max_blocks);
  static std::uint64_t mapped_bytes(std::uint64_t max_blocks);

  BlockState& state_of(const void* place) {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(place) - base_);
    return states_[offset / model::recording::kBlockBytes];
  }

  bool grow(std::uint64_t block);
  void save_block(std::uint64_t block);
  [[nodiscard]] bool write(std::uint64_t offset, std::size_t bytes);
  [[nodiscard]] bool still_ours() const;

  std::string path_;
  int descriptor_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::byte* base_;
  BlockState* states_;  // behind the blocks
  std::uint64_t max_blocks_;
  std::atomic<std::uint64_t> next_{1};
  std::atomic<std::uint64_t> ready_{0};  // blocks that have memory
  std::atomic<int> error_{0};
  std::mutex growing_;
  std::mutex saving_;
  std::uint64_t first_kept_ = 1;  // no block before it has memory
  std::uint64_t taken_ = 1;       // next_ when the file was closed
  bool closed_ = false;
};

}  // namespace assay::recorder
