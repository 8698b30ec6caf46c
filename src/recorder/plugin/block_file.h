// The file of a recording, mapped into memory as blocks that threads fill. What is stored in it
// survives the process, whatever ends that.
#pragma once

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

  // Reserves disk space and memory for the next blocks.
  void prepare();

  // Returns 0, or the errno that ended the file: ENOSPC for a full disk.
  [[nodiscard]] int error() const { return error_.load(std::memory_order_relaxed); }

  // Returns whether the file has all the blocks that its limit allows.
  [[nodiscard]] bool full() const { return ready_.load(std::memory_order_relaxed) == max_blocks_; }

  // Returns whether the pointer is in a block that was taken.
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

  // Truncates the file after the last used block. Threads may go on writing into blocks that they
  // have.
  void close();

  // Drops the file in a forked child without changing it.
  void forget();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  BlockFile(std::string path, int descriptor, std::byte* base, std::uint64_t max_blocks);
  bool grow(std::uint64_t block);
  bool reserve_chunk();

  std::string path_;
  int descriptor_;
  std::byte* base_;
  std::uint64_t max_blocks_;
  std::atomic<std::uint64_t> next_{1};
  std::atomic<std::uint64_t> ready_{0};  // blocks of the file that have disk space
  std::atomic<int> error_{0};
  std::mutex growing_;
  bool closed_ = false;
};

}  // namespace assay::recorder
