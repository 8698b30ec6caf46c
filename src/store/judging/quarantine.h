// Rows of tables that cannot be what a GPU needs, decided by physics and by tables of the same
// system, so that callers can take them from another table and say so.
//
// Nothing here is fitted to known cases: each rule states its limit and why it lies there.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "store/answers/work_rows.h"
#include "store/judging/roofline.h"
#include "store/judging/sibling_tables.h"

namespace assay::store {

// Families of products (gemm_perf) whose time is that of the host, which launches kernels one by
// one where an engine replays a graph. Such a family
//
// - takes more than 10 launches for products that need no time on the GPU (its first rows: 1 token,
//   the smallest weight). A launch is what the fastest family of a table takes for the same, in the
//   median of the table and its siblings; an engine's product is one kernel, or a few where it
//   quantises its input;
// - is flat: of its rows that need 1/20 to 1/3 of that time by their roofline, at least half take
//   less than one and a half times of it.
//
// Its rows of large products are the GPU's time all the same. The whole family is quarantined,
// because half of it would be answered for by what lies beside it. The fallback is the first
// sibling that has the family's data types and is not as slow. Empty if the binder is null, and for
// tables of other operators, which are chains of kernels.
std::vector<Quarantined> launch_bound_families(const WorkRows& rows,
                                               const RooflineBinder& binder,
                                               std::span<const SiblingTable> siblings = {});

// Families of which more than a tenth of the rows are impossible (see below), by a few hundred rows
// of each. What was timed there is not the work that the rows name, so that the others are not to
// be trusted either. The fallback is the first sibling that has the family and no such share.
std::vector<Quarantined> impossible_families(const WorkRows& rows,
                                             const Rooflines& rooflines,
                                             std::span<const SiblingTable> siblings = {});

// Both of the above: what callers leave out with without_families(). Without siblings it takes
// about a millisecond for a table that is mapped and was not read yet.
std::vector<Quarantined> quarantined_families(const WorkRows& rows,
                                              const Rooflines& rooflines,
                                              std::span<const SiblingTable> siblings = {});

// Runs of rows that take no time, or are faster than their roofline by more than 5 % of it (than
// that of the L2 cache, where their data fit into it). It asks the roofline of every row, which
// takes milliseconds for 100,000 rows. Empty for tables without rooflines, and for
// those of experts: their roofline is that of the number of distinct experts to expect, and routing
// may have met fewer.
std::vector<Quarantined> impossible_rows(const WorkRows& rows, const Rooflines& rooflines);

// The families that have such rows, ascending.
std::vector<std::size_t> quarantined_numbers(std::span<const Quarantined> quarantined);

}  // namespace assay::store
