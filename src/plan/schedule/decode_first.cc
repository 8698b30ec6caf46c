#include "plan/schedule/decode_first.h"

#include <algorithm>

namespace assay::plan {

std::int64_t schedule_running(Group& group, std::int64_t budget) {
  std::vector<Sequence>& running = group.running();
  for (std::size_t i = 0; i < running.size() && budget > 0; ++i) {
    const std::int64_t wanted =
        running[i].decodes() ? group.decode_tokens(running[i]) : running[i].prompt_left();
    const std::int64_t tokens = std::min(wanted, budget);
    while (!group.grow(running[i], tokens)) {
      const std::size_t newest = running.size() - 1;
      group.preempt(newest, Group::Queue::kFront, running[newest].cached);
      if (newest == i) return budget;
    }
    running[i].tokens_now = tokens;
    budget -= tokens;
  }
  return budget;
}

}  // namespace assay::plan
