// Finds settings whose limit on the channels of collectives was not kept, which no environment of a
// process shows: a program may set the variable itself, and ranks of other hosts are not seen.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sweep/setting.h"
#include "trace/compare/bandwidth.h"

namespace assay::cli {

struct ChannelLimit {
  std::string variable;
  int most = 0;
};

// Returns the least of NCCL_MAX_CTAS and NCCL_MAX_NCHANNELS, std::nullopt where neither is set.
std::optional<ChannelLimit> channel_limit(const sweep::Variables& variables);

// Returns "NCCL_MAX_CTAS=4 limited no collective, which had 24 to 32 channels" where every
// collective of the setting had more, and "" otherwise. Sends and receives have limits of their
// own.
std::string unkept_in_words(const ChannelLimit& limit,
                            std::span<const trace::BandwidthPoint> points,
                            std::size_t setting);

}  // namespace assay::cli
