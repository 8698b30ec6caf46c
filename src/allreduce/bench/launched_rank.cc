#include "allreduce/bench/launched_rank.h"

#include <fmt/core.h>
#include <unistd.h>

namespace assay::allreduce {

core::Result<std::optional<LaunchedRank>> launched_rank(const core::Variables& variables) {
  auto rank = core::launched_rank(variables);
  if (!rank.ok() || !rank.value()) return rank;
  const LaunchedRank& launched = *rank.value();
  if (!launched.local_size || *launched.local_size == launched.size) return rank;
  return core::Error{fmt::format(
      "{} of the {} ranks are on this host: all GPUs of an all-reduce must be in one host",
      *launched.local_size, launched.size)};
}

std::filesystem::path default_rendezvous(const LaunchedRank& rank) {
  return fmt::format("/dev/shm/assay_allreduce.{}.{}", ::getuid(), rank.job);
}

}  // namespace assay::allreduce
