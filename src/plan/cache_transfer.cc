#include "plan/cache_transfer.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::plan {
namespace {

// Bytes per second in one direction, of all GPUs of the instance.
core::Result<double> rate_of_links(const CacheEnd& end, CachePath path) {
  const bool is_within = path == CachePath::kWithinNode;
  const double of_gpu =
      is_within ? end.facts->sending_rate(1).bytes_per_s : end.facts->between_nodes_bytes_per_s;
  if (!(of_gpu > 0)) {
    return core::Error{fmt::format("the file of {} has no {}, over which caches are sent",
                                   end.facts->name,
                                   is_within ? "node.intra_node_bw" : "node.inter_node_bw")};
  }
  return of_gpu * static_cast<double>(end.gpus);
}

}  // namespace

double sent_bytes_per_token(const serving::Model& model,
                            const ServedWorker& decode,
                            std::int64_t prompt_tokens) {
  const MemoryUse held = memory_of_worker(
      model, decode,
      {.concurrency = decode.groups, .prompt_tokens = prompt_tokens, .output_tokens = 0});
  return static_cast<double>(decode.deployment.tp) *
         (held.bytes_per_token + held.bytes_per_request / static_cast<double>(prompt_tokens));
}

core::Result<CacheTransfer> cache_transfer(double bytes_per_token,
                                           const CacheEnd& prefill,
                                           const CacheEnd& decode,
                                           CachePath path) {
  constexpr double kBytesPerGb = 1e9;
  constexpr double kMsPerS = 1e3;
  const double slower =
      std::min(ASSAY_TRY(rate_of_links(prefill, path)), ASSAY_TRY(rate_of_links(decode, path)));
  return CacheTransfer{.bytes_per_token = bytes_per_token,
                       .gbps = slower / kBytesPerGb,
                       .latency_ms = kMsPerS * std::max(prefill.facts->peer_latency_s,
                                                        decode.facts->peer_latency_s)};
}

std::string transfer_source(const store::SystemFacts& facts, CachePath path) {
  if (path == CachePath::kWithinNode && facts.sending_rate(1).is_measured) {
    return fmt::format(
        "links within a node have the rate that a message between 2 GPUs reached "
        "(measured.intra_node_bw of {}); no transfer of caches was measured",
        facts.name);
  }
  return "links have their own figures; no transfer of caches was measured";
}

double transfer_ms(const CacheTransfer& transfer, std::int64_t prompt_tokens) {
  constexpr double kBytesPerMsPerGbps = 1e6;
  return transfer.latency_ms + transfer.bytes_per_token * static_cast<double>(prompt_tokens) /
                                   (transfer.gbps * kBytesPerMsPerGbps);
}

}  // namespace assay::plan
