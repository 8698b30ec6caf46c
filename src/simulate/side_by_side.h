// Divides a schedule's ranks among engines on several threads.
//
// A message takes at least a certain time. So an engine may run ahead of the others, whose next
// message can only come that much after where they are: ranks of different engines cannot change
// each other within that time. The order of events of a rank, and with it every result, is then
// that of one engine that runs all.
#pragma once

#include <memory>
#include <vector>

#include "simulate/engine.h"

namespace assay::simulate {

// Runs until nothing more can happen, the program is interrupted, or the time exceeds kForeverNs.
// Writes into the outcome how many threads ran, and why not more. `threads`: as simulate().
std::vector<std::unique_ptr<Engine>> run_engines(Common& common, unsigned threads);

}  // namespace assay::simulate
