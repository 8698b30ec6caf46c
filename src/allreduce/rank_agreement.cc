#include "allreduce/rank_agreement.h"

#include <algorithm>
#include <map>
#include <vector>

namespace assay::allreduce {
namespace {

std::string nccl_text(std::uint32_t version) {
  if (version == 0) return "no NCCL";
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

// Returns how a rank differs from rank 0 where it must not; empty when it does not.
std::string difference(const RankFacts& one, const RankFacts& first) {
  if (one.library != first.library) return "runs another version of this library";
  if (one.workspace_bytes != first.workspace_bytes)
    return "has workspaces of " + std::to_string(one.workspace_bytes) + " bytes, not " +
           std::to_string(first.workspace_bytes) + ", by its options or reserve";
  if (one.is_deterministic != first.is_deterministic) return "has another option deterministic";
  if (one.deadline_seconds != first.deadline_seconds) return "has another option deadline_seconds";
  if (one.table != first.table) return "has loaded another table, or none";
  if (one.sm_version != first.sm_version)
    return "has a GPU of SM " + std::to_string(one.sm_version) + ", not " +
           std::to_string(first.sm_version);
  return "";
}

// Gives each rank a part of its GPU where ranks share some.
core::Status share_gpus(std::span<const RankFacts> facts, bool may_share, Agreement& agreement) {
  std::map<std::uint32_t, std::vector<std::size_t>> ranks_of;
  std::size_t most = 0;
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    auto& ranks = ranks_of[facts[rank].gpu];
    ranks.push_back(rank);
    most = std::max(most, ranks.size());
    if (most > 1 && !may_share)
      return core::Error{"ranks " + std::to_string(ranks[0]) + " and " + std::to_string(rank) +
                         " are on one GPU: each must be created with its own as the current one"};
  }
  agreement.shares_gpus = most > 1;
  if (!agreement.shares_gpus) return {};
  agreement.multiprocessors = std::max(1, agreement.multiprocessors / (static_cast<int>(most) + 1));
  agreement.no_nccl = "NCCL takes one rank on each GPU";
  return {};
}

}  // namespace

core::Result<Agreement> agree(std::span<const RankFacts> facts, bool may_share_gpus) {
  Agreement agreement{.multiprocessors = facts[0].multiprocessors};
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    const RankFacts& one = facts[rank];
    const std::string who = "rank " + std::to_string(rank);
    if (one.magic != kHandleMagic || one.rank != rank || one.world_size != facts.size())
      return core::Error{"the handle of " + who +
                         " is not that of this communicator: the order of the ranks, or their "
                         "number, is another"};
    const std::string differs = difference(one, facts[0]);
    if (!differs.empty()) return core::Error{who + " " + differs + ", unlike rank 0"};
    agreement.multiprocessors =
        std::min(agreement.multiprocessors, static_cast<int>(one.multiprocessors));
    if (one.nccl_version == facts[0].nccl_version && one.nccl_version != 0) continue;
    if (agreement.no_nccl.empty()) {
      agreement.no_nccl = who + " has " + nccl_text(one.nccl_version);
      if (one.nccl_version != 0)
        agreement.no_nccl += ", rank 0 " + nccl_text(facts[0].nccl_version);
    }
  }
  ASSAY_TRY(share_gpus(facts, may_share_gpus, agreement));
  return agreement;
}

}  // namespace assay::allreduce
