// When requests leave their clients, and when a scheduler sees them.
#pragma once

#include <optional>
#include <vector>

#include "plan/schedule/limits.h"
#include "plan/schedule/workload.h"

namespace assay::plan {

struct Sent {
  std::size_t request = 0;
  double sent_ms = 0;
  double at_ms = 0;  // when the scheduler sees it
};

class Clients {
 public:
  // The front end takes limits.request_ms for each request, one after the other, and all take
  // limits.client_ms besides.
  Clients(const Workload& workload, const Limits& limits);

  // A request ended, so that in a closed loop the next one leaves, and so does the next turn of its
  // conversation when its user has thought.
  void ended(std::size_t request, double at_ms);
  // The next request that has a time.
  std::optional<Sent> next();

 private:
  struct Leaving {
    std::size_t request = 0;
    double at_ms = 0;
  };

  const Workload* workload_;
  double request_ms_;
  double client_ms_;
  std::vector<Leaving> leaving_;  // the requests that have a time
  std::size_t sent_ = 0;
  double front_end_free_ms_ = 0;
};

}  // namespace assay::plan
