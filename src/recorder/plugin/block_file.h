// The recording's file, mapped: blocks for threads to fill. What is stored in it survives the
// process, however that ends.
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
  // A new file in the folder, which is made if need be. Null with a reason when that fails.
  static std::unique_ptr<BlockFile> create(const std::string& folder,
                                           std::uint64_t limit_bytes,
                                           std::string& reason);

  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;
  ~BlockFile();

  model::recording::Header& header() { return *reinterpret_cast<model::recording::Header*>(base_); }

  // An empty block; null when the file is full or closed. Takes no lock unless the blocks that
  // prepare() made ready are used up.
  std::byte* take_block();

  // Reserves disk and memory for the blocks to come.
  void prepare();

  // 0, or errno of what ended the file: EFBIG for its limit, ENOSPC.
  [[nodiscard]] int error() const { return error_.load(std::memory_order_relaxed); }

  // Whether the pointer is a place in a block that was taken.
  [[nodiscard]] bool owns(const void* place) const {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(place) - base_);
    return offset >= model::recording::kBlockBytes &&
           offset < ready_.load(std::memory_order_relaxed) * model::recording::kBlockBytes;
  }

  // Of a record; 0 for a pointer that is none.
  [[nodiscard]] std::uint32_t number_of(const void* record) const {
    if (!owns(record)) return 0;
    return static_cast<std::uint32_t>((static_cast<const std::byte*>(record) - base_) / 8);
  }

  // Cuts off what no block uses. Threads may go on writing into blocks that they have.
  void close();

  // A forked child: drops the file without touching it.
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
  std::atomic<std::uint64_t> ready_{0};  // blocks of the file with disk space
  std::atomic<int> error_{0};
  std::mutex growing_;
  bool closed_ = false;
};

}  // namespace assay::recorder
