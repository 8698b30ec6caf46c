// Runs a body for each index on a few threads.
#pragma once

#include <cstddef>
#include <functional>

namespace assay::core {

// Calls body(0) … body(count-1), at most `threads` at a time (0: one per processor). Returns when
// all are done. The body must not throw and must not touch what another index writes.
void parallel_for(std::size_t count,
                  unsigned threads,
                  const std::function<void(std::size_t)>& body);

}  // namespace assay::core
