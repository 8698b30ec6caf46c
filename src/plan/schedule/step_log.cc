#include "plan/schedule/step_log.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay::plan {
namespace {

// Equal numbers up to 16, and those within an eighth of a doubling, have one class.
std::int64_t class_of(std::int64_t count) {
  constexpr int kPartBits = 3;
  if (count <= 2 << kPartBits) return count;
  const auto shift =
      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count))) - 1 - kPartBits;
  return (std::int64_t{shift} << (kPartBits + 1)) + (count >> shift) + (2 << kPartBits);
}

}  // namespace

Step AlikeSteps::step() const {
  return {.chunks = {&chunks, chunks.requests > 0 ? 1U : 0U},
          .finished_prompts = finished_prompts,
          .decodes = decodes,
          .decode_cached = decode_cached,
          .group_tokens = group_tokens};
}

void StepLog::add(const Step& step, std::int64_t steps) {
  std::int64_t prompts = 0;
  double cached = 0;
  for (const Chunks& chunk : step.chunks) {
    prompts += chunk.requests;
    cached += static_cast<double>(chunk.requests * chunk.cached_tokens);
  }
  const std::int64_t tokens = step.prompt_tokens();
  Sums& sums = sums_[{class_of(step.decodes), class_of(tokens), prompts, step.finished_prompts}];
  const auto times = static_cast<double>(steps);
  sums.steps += times;
  sums.new_tokens += times * static_cast<double>(tokens);
  sums.cached_tokens += times * cached;
  sums.decodes += times * static_cast<double>(step.decodes);
  sums.decode_cached += times * step.decode_cached;
  sums.group_tokens += times * step.group_tokens;
}

std::vector<AlikeSteps> StepLog::alike() const {
  std::vector<AlikeSteps> all;
  for (const auto& [key, sums] : sums_) {
    const std::int64_t prompts = std::get<2>(key);
    AlikeSteps one{.steps = sums.steps,
                   .finished_prompts = std::get<3>(key),
                   .decodes = std::llround(sums.decodes / sums.steps),
                   .decode_cached = sums.decode_cached / sums.steps,
                   .group_tokens = sums.group_tokens / sums.steps};
    if (prompts > 0) {
      const double of_each = 1 / (sums.steps * static_cast<double>(prompts));
      one.chunks = {
          .requests = prompts,
          .new_tokens = std::max<std::int64_t>(1, std::llround(of_each * sums.new_tokens)),
          .cached_tokens = std::llround(of_each * sums.cached_tokens)};
    }
    all.push_back(one);
  }
  return all;
}

}  // namespace assay::plan
