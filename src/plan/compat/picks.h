// Which deployments the public planner recommends of those that it priced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::plan::compat {

// What picking looks at, rounded to three places; of one unit that is copied as a whole.
struct Offer {
  std::size_t place = 0;  // among the points that were priced
  std::string parallel;   // of one group the best is picked: that of the worker that decodes
  std::int64_t gpus = 1;
  std::int64_t concurrency = 1;
  double ttft_ms = 0;
  double tpot_ms = 0;
  double requests_per_s = 0;
  double tokens_per_s_per_gpu = 0;
  double tokens_per_s_per_user = 0;
};

struct Pick {
  Offer offer;
  std::int64_t copies = 1;
  double cluster_tokens_per_s_per_gpu = 0;  // of all GPUs, used or not

  [[nodiscard]] std::int64_t gpus() const { return copies * offer.gpus; }
};

// The most tokens on these GPUs with a TPOT within the limit, one of each group. Where none keeps
// the limit, those that come closest.
std::vector<Pick> pick_for_gpus(const std::vector<Offer>& offers,
                                std::int64_t gpus,
                                double tpot_limit_ms,
                                std::size_t most);

// What all copies together must carry; 0 of one of them.
struct Load {
  double requests_per_s = 0;
  std::int64_t concurrency = 0;
};

// The fewest GPUs for a load, likewise.
std::vector<Pick> pick_for_load(const std::vector<Offer>& offers,
                                const Load& load,
                                double tpot_limit_ms,
                                std::size_t most);

// Those that no other reaches in both tokens per user and tokens on `gpus` GPUs (0: on those of the
// unit), by tokens per user.
std::vector<Pick> frontier_of(const std::vector<Offer>& offers, std::int64_t gpus);

}  // namespace assay::plan::compat
