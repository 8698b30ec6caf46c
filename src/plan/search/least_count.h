// The least count that is enough, where more is never worse.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace assay::plan {

// The least of [1, most] of which `is_enough` holds, which holds of all larger ones, too; asked
// first near `guess`, so that a good guess costs two questions. std::nullopt: of none.
std::optional<std::int64_t> least_count(std::int64_t guess,
                                        std::int64_t most,
                                        const std::function<bool(std::int64_t count)>& is_enough);

}  // namespace assay::plan
