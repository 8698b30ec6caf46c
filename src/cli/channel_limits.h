// Finds settings whose limit on the channels of collectives was not kept, which no environment of a
// process shows: a program may set the variable itself, and ranks of other hosts are not seen.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "sweep/setting.h"
#include "trace/compare/bandwidth.h"

namespace assay::cli {

// Returns NCCL_MAX_CTAS, which all algorithms keep, unlike NCCL_MAX_NCHANNELS, which NVLS does not;
// std::nullopt where it is not set.
std::optional<int> channel_limit(const sweep::Variables& variables);

// Returns "NCCL_MAX_CTAS=4 limited no collective, which had 24 to 32 channels" where every
// collective of the setting had more, and "" otherwise. Exchanges do not count: they are made of
// sends and receives, which choose their channels otherwise.
std::string unkept_in_words(int limit,
                            std::span<const trace::BandwidthPoint> points,
                            std::size_t setting);

}  // namespace assay::cli
