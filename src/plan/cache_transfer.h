// How a prompt's cache goes from the instance that computed it to the one that decodes.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/schedule/disaggregated.h"
#include "plan/serve.h"
#include "store/systems/system_facts.h"

namespace assay::plan {

// kWithinNode: over the links that join the GPUs of a node. kBetweenNodes: over the network.
enum class CachePath : std::uint8_t { kWithinNode, kBetweenNodes };

// One end of a transfer.
struct CacheEnd {
  const ServedWorker* worker = nullptr;
  const store::SystemFacts* facts = nullptr;
};

// Every GPU that decodes gets what it holds of the cache: a share of the heads, heads that GPUs
// repeat once for each, latents once for each. All links of both instances are used; the slower
// side bounds. Rates and the latency are those of the systems' files; between systems that differ
// the slower network counts. Error: a system's file names no rate for this path.
core::Result<CacheTransfer> cache_transfer(const serving::Model& model,
                                           const CacheEnd& prefill,
                                           const CacheEnd& decode,
                                           CachePath path,
                                           std::int64_t prompt_tokens);

// From the end of a prompt to the arrival of its cache, where no other is being sent.
double transfer_ms(const CacheTransfer& transfer, std::int64_t prompt_tokens);

}  // namespace assay::plan
