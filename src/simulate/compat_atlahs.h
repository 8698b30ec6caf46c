// The event loop of the LogGOPSim in ATLAHS as it is, for those who must compare with figures that
// were published with it. It differs from simulate.h in this:
//
// - Events at the same time have no order of their own: what a binary heap of times makes of the
//   order in which they were added decides. What has to wait for a CPU or a NIC is added again.
// - A receive whose message is there already begins at once, even on a busy CPU, which is then free
//   when this receive ends, earlier or later than before. It waits for the sending side of its NIC.
// - The message of a posted receive takes the NIC with the number that its sender used, and a
//   rendezvous frees the sender's CPU with the number that the receiver's had if the message came
//   first.
// - A message whose receive cannot begin yet lets the next one with its tag go ahead.
// - What follows a start is ready at time 0, which may be in the past.
// - Wildcards match nothing, there is one kind of link, and a deadlock is no failure.
#pragma once

#include "core/result.h"
#include "model/schedule.h"
#include "simulate/simulate.h"

namespace assay::simulate {

// The outcome has the ends of the ranks and the counts; its record and last operations are unused.
// Fails on bad parameters, for a schedule on which ATLAHS' program aborts, and when the schedule
// takes longer than kForeverNs.
core::Result<Outcome> simulate_atlahs(const model::Schedule& schedule, const LogGops& link);

}  // namespace assay::simulate
