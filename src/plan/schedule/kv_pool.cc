#include "plan/schedule/kv_pool.h"

#include <algorithm>

#include "core/check.h"

namespace assay::plan {

bool KvPool::take(std::int64_t blocks) {
  if (blocks > available()) return false;
  while (free_ < blocks)
    empty_oldest(blocks - free_);
  free_ -= blocks;
  return true;
}

void KvPool::empty_oldest(std::int64_t wanted) {
  const auto found = entries_.find(idle_order_.front());
  Entry& entry = found->second;
  const std::int64_t lost = entry.divisible ? std::min(wanted, entry.blocks) : entry.blocks;
  entry.blocks -= lost;
  idle_ -= lost;
  free_ += lost;
  if (entry.blocks > 0) return;
  idle_order_.pop_front();
  entries_.erase(found);
}

const KvPool::Entry* KvPool::find(std::uint64_t name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

void KvPool::use(std::uint64_t name) {
  Entry& entry = entries_.at(name);
  if (entry.users++ > 0) return;
  idle_ -= entry.blocks;
  idle_order_.erase(entry.place);
}

void KvPool::leave(std::uint64_t name) {
  Entry& entry = entries_.at(name);
  ASSAY_CHECK(entry.users > 0, "nobody uses what is left");
  if (--entry.users > 0) return;
  idle_ += entry.blocks;
  entry.place = idle_order_.insert(idle_order_.end(), name);
}

void KvPool::share(std::uint64_t name, std::int64_t blocks) {
  const auto [place, fresh] = entries_.try_emplace(name, Entry{.blocks = blocks, .users = 1});
  if (fresh) return;
  use(name);
  give(blocks);
}

void KvPool::keep(std::uint64_t name, std::int64_t blocks) {
  const auto [place, fresh] =
      entries_.try_emplace(name, Entry{.blocks = blocks, .divisible = true});
  ASSAY_CHECK(fresh, "a request leaves its blocks once");
  idle_ += blocks;
  place->second.place = idle_order_.insert(idle_order_.end(), name);
}

std::int64_t KvPool::take_over(std::uint64_t name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return 0;
  const std::int64_t blocks = found->second.blocks;
  idle_ -= blocks;
  idle_order_.erase(found->second.place);
  entries_.erase(found);
  return blocks;
}

}  // namespace assay::plan
