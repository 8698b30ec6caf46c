#include "plan/schedule/clients.h"

#include <algorithm>

namespace assay::plan {

Clients::Clients(const Workload& workload, const Limits& limits)
    : workload_(&workload), request_ms_(limits.request_ms), client_ms_(limits.client_ms) {
  const std::size_t requests = workload.requests.size();
  leaving_.reserve(requests);
  if (workload.concurrency == 0) {
    for (std::size_t i = 0; i < requests; ++i)
      if (!workload.follows(i)) leaving_.push_back({i, workload.requests[i].arrival_ms});
  } else {
    const std::size_t first = std::min(static_cast<std::size_t>(workload.concurrency), requests);
    for (std::size_t i = 0; i < first; ++i)
      leaving_.push_back({i, 0});
  }
}

void Clients::ended(std::size_t request, double at_ms) {
  if (!workload_->turns.empty()) {
    const std::size_t next = workload_->turns[request].next;
    if (next != Turn::kNone) leaving_.push_back({next, at_ms + workload_->turns[next].delay_ms});
  } else if (workload_->concurrency > 0 && leaving_.size() < workload_->requests.size()) {
    leaving_.push_back({leaving_.size(), at_ms});
  }
}

std::optional<Sent> Clients::next() {
  if (sent_ == leaving_.size()) return std::nullopt;
  const Leaving& one = leaving_[sent_++];
  front_end_free_ms_ = std::max(front_end_free_ms_, one.at_ms) + request_ms_;
  // Without a front end requests need not leave in the order in which they are known.
  const double seen_ms = request_ms_ > 0 ? front_end_free_ms_ : one.at_ms;
  return Sent{one.request, one.at_ms, seen_ms + client_ms_};
}

}  // namespace assay::plan
