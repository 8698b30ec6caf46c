// How a prompt's cache goes from the instance that computed it to the one that decodes.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/schedule/disaggregated.h"
#include "plan/serve.h"
#include "store/systems/system_facts.h"

namespace assay::plan {

// kWithinNode: over the links that join the GPUs of a node. kBetweenNodes: over the network.
enum class CachePath : std::uint8_t { kWithinNode, kBetweenNodes };

// An instance at one end of a transfer.
struct CacheEnd {
  std::int64_t gpus = 1;
  const store::SystemFacts* facts = nullptr;
};

// What is sent for each token of a prompt. Every GPU of the group that decodes it gets what it
// holds: a share of the heads, heads that GPUs repeat once for each, latents once for each.
double sent_bytes_per_token(const serving::Model& model,
                            const ServedWorker& decode,
                            std::int64_t prompt_tokens);

// All links of both instances are used; the slower side bounds. Rates and the latency are those of
// the systems' files, within a node what was measured, if the file has it. Error: a file names no
// rate for this path.
core::Result<CacheTransfer> cache_transfer(double bytes_per_token,
                                           const CacheEnd& prefill,
                                           const CacheEnd& decode,
                                           CachePath path);

// What the rate of links stands on, in a sentence.
std::string transfer_source(const store::SystemFacts& facts, CachePath path);

// From the end of a prompt to the arrival of its cache, where no other is being sent.
double transfer_ms(const CacheTransfer& transfer, std::int64_t prompt_tokens);

}  // namespace assay::plan
