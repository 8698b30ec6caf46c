// How many instances of prompts keep up with how many that decode.
#pragma once

#include <cstdint>
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

// Copies that serve most on all the GPUs; of equal ones the smallest. Decoding bounds every copy
// and prompts keep up with it: where prompts bound, a smaller batch that decodes has the same rate,
// and is a pair of its own. std::nullopt: no copy fits.
std::optional<Ratio> best_ratio(const PoolRate& prefill, const PoolRate& decode, std::int64_t gpus);

// The time that a prompt waits for others, by Kingman's formula for even times of service. Prompts
// of a copy go to its instances in turn, so that the gaps at each are the more even the more
// instances there are. A prompt waits no longer than others decode, because those that wait do not.
// `prompt_ms`: of what an instance computes at once; `answer_ms`: from the first token to the last.
double waiting_ms(const PoolRate& prefill, const Ratio& ratio, double prompt_ms, double answer_ms);

}  // namespace assay::plan
