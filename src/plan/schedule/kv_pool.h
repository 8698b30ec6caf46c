// The blocks of a cache of keys and values: free, held by requests, or left by them for others
// that begin with the same tokens.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace assay::plan {

class KvPool {
 public:
  KvPool(std::int64_t blocks, std::int64_t block_tokens)
      : blocks_(blocks), block_tokens_(block_tokens), free_(blocks) {}

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }

  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }

  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_tokens_ - 1) / block_tokens_;
  }

  // Blocks that can be taken: those that nobody filled, and those that nobody uses now.
  [[nodiscard]] std::int64_t available() const { return free_ + idle_; }

  // Blocks of requests that run.
  [[nodiscard]] std::int64_t held() const { return blocks_ - free_ - idle_; }

  // Takes blocks, for which it empties what was left unused for longest; false where there are not
  // so many.
  bool take(std::int64_t blocks);

  void give(std::int64_t blocks) { free_ += blocks; }

  // Shared contents, by name.
  struct Entry {
    std::int64_t blocks = 0;
    std::int64_t users = 0;
    bool divisible = false;  // it may lose its last blocks and keep the first
    std::list<std::uint64_t>::iterator place = {};  // among the idle, where it has no users
  };

  [[nodiscard]] const Entry* find(std::uint64_t name) const;
  // One more request uses an entry that is there, and one fewer.
  void use(std::uint64_t name);
  void leave(std::uint64_t name);
  // Blocks that the caller holds become an entry with one user: the caller. Where it is there
  // already, the caller's copy is given back.
  void share(std::uint64_t name, std::int64_t blocks);
  // Blocks that the caller holds become an entry without users, which may shrink.
  void keep(std::uint64_t name, std::int64_t blocks);
  // The caller takes over what is left of an entry without users. 0 where nothing is.
  std::int64_t take_over(std::uint64_t name);

 private:
  void empty_oldest(std::int64_t wanted);

  std::int64_t blocks_;
  std::int64_t block_tokens_;
  std::int64_t free_;
  std::int64_t idle_ = 0;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::list<std::uint64_t> idle_order_;  // the one that was left first is first
};

}  // namespace assay::plan
