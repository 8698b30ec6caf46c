// How many instances of prompts keep up with how many that decode.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace assay::plan {

// An instance of a pool.
struct PoolRate {
  std::int64_t gpus = 1;
  double requests_per_s = 0;
};

// The instances of one copy, and how many copies the GPUs have.
struct Ratio {
  std::int64_t prefill = 0;
  std::int64_t decode = 0;
  std::int64_t copies = 0;
  double requests_per_s = 0;  // of a copy

  // Requests per second of all copies.
  [[nodiscard]] double of_all() const { return static_cast<double>(copies) * requests_per_s; }
};

// Copies that serve most on all the GPUs; a larger copy only where it serves 2 % more. Decoding
// bounds every copy and prompts keep up with it: where prompts bound, a smaller batch that decodes
// has the same rate, and is a pair of its own. std::nullopt: no copy fits.
std::optional<Ratio> best_ratio(
    const PoolRate& prefill,
    const PoolRate& decode,
    std::int64_t gpus,
    std::int64_t most_copy_gpus = std::numeric_limits<std::int64_t>::max());

// The GPUs of the smallest copy: one instance that decodes, and those of prompts that keep up.
std::int64_t least_copy_gpus(const PoolRate& prefill, const PoolRate& decode);

// How long a request of a copy is where.
struct PoolTimes {
  double prompt_ms = 0;  // of what an instance of prompts computes at once
  double sent_ms = 0;    // of the cache
  double answer_ms = 0;  // from the first token to the last
};

struct MatchedRate {
  double requests_per_s = 0;  // of a copy
  double ttft_ms = 0;
};

// What a copy reaches while `concurrency` requests are in flight: these are the rate times the time
// that each stays. A prompt waits for others by Kingman's formula for even times of service.
// Prompts of a copy go to its instances in turn, so that the gaps at each are the more even the
// more instances there are.
MatchedRate matched_rate(const PoolRate& prefill,
                         const Ratio& ratio,
                         const PoolTimes& times,
                         double concurrency);

}  // namespace assay::plan
