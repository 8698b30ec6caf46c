// Summarizes a simulation in tables.
#pragma once

#include <cstddef>
#include <string>

#include "model/table.h"
#include "simulate/critical_path.h"
#include "simulate/launches.h"
#include "simulate/simulate.h"

namespace assay::simulate {

// What a simulation says of all ranks.
struct Totals {
  const std::vector<std::int64_t>& finish_ns;  // by rank
  std::uint64_t operations = 0;
  std::uint64_t messages = 0;
};

// One row: the amount of work, and when the ranks were done.
model::Table overview(const Totals& totals);

// The same without the work, for simulations that have no operations.
model::Table ends_table(const std::vector<std::int64_t>& finish_ns);

// The `most` ranks that end last, last first; all ranks by number when there are no more.
model::Table rank_table(const std::vector<std::int64_t>& finish_ns, std::size_t most);

// Returns the parameters in force between nodes, if there are several, and within one where ranks
// share one. `fabric` is the
// network that contends; null without one.
model::Table parameters_table(const Options& options, const Fabric* fabric);

// Says how many receives name another size than the message that they got, with an example; "" if
// none does. Those from any rank or with any tag do not count: their size is a limit.
std::string unequal_sizes(const Outcome& outcome);

// Says that ranks receive more than their NICs let pass until they end, with the worst one; "" if
// none does. It cannot be so in a network that contends.
std::string overfull_receivers(const Outcome& outcome);
std::string overfull_receivers(const LaunchOutcome& outcome);

// Says that one processor ran the simulation, and why.
std::string describe(Alone alone);

// The parts of the critical path's time.
model::Table critical_path_table(const Outcome& outcome, const CriticalPath& path);

// The longest segments of the critical path.
model::Table segment_table(const Outcome& outcome, const CriticalPath& path, std::size_t most);

}  // namespace assay::simulate
