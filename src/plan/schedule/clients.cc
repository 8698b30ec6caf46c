#include "plan/schedule/clients.h"

#include <algorithm>

namespace assay::plan {

Clients::Clients(const Workload& workload, const Limits& limits)
    : workload_(&workload), request_ms_(limits.request_ms), client_ms_(limits.client_ms) {
  leave_ms_.reserve(workload.requests.size());
  if (workload.concurrency == 0) {
    for (const Request& request : workload.requests)
      leave_ms_.push_back(request.arrival_ms);
  } else {
    leave_ms_.assign(
        std::min(static_cast<std::size_t>(workload.concurrency), workload.requests.size()), 0);
  }
}

void Clients::ended(double at_ms) {
  if (workload_->concurrency > 0 && leave_ms_.size() < workload_->requests.size())
    leave_ms_.push_back(at_ms);
}

std::optional<Sent> Clients::next() {
  if (sent_ == leave_ms_.size()) return std::nullopt;
  const double leave_ms = leave_ms_[sent_];
  front_end_free_ms_ = std::max(front_end_free_ms_, leave_ms) + request_ms_;
  return Sent{sent_++, leave_ms, front_end_free_ms_ + client_ms_};
}

}  // namespace assay::plan
