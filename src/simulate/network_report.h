// What a network that contends did: its links over time, and what messages lost to each other. The
// outcome of all functions has transfers().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/schedule_notes.h"
#include "model/table.h"
#include "report/page.h"
#include "simulate/critical_path.h"
#include "simulate/simulate.h"

namespace assay::simulate {

// The links that carried something, busiest first: those with the most of their time full, then
// those with the highest load.
std::vector<std::uint32_t> busiest_links(const Outcome& outcome);

// A link's load over time, in percent, in stretches of bin_ns.
struct LinkLoad {
  std::string name;
  std::vector<double> load;
};

// Those of the `most` busiest links.
std::vector<LinkLoad> link_loads(const Outcome& outcome, std::size_t most);

// One row: how much messages took in the network, and how much of it they lost to others.
model::Table network_table(const Outcome& outcome, const CriticalPath& path);

model::Table busiest_table(const Outcome& outcome, std::size_t most);

// What the messages of NCCL's operations lost, by function and algorithm, most first. `notes` must
// be those of the schedule.
model::Table contention_table(const Outcome& outcome, const model::ScheduleNotes& notes);

// A row for each link and stretch of time in which it carried something.
model::Table link_table(const Outcome& outcome);

// A page with the busiest links over time and these tables, which must outlive it.
report::Page network_page(const Outcome& outcome,
                          const CriticalPath& path,
                          const std::string& title,
                          const std::vector<model::Table>& tables);

}  // namespace assay::simulate
