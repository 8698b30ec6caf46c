// From what each GPU did to what the job did: the operations of all GPUs joined into exchanges, so
// that everything decided about one (its tag, its cut into messages) is decided once for all who
// take part. An exchange that somebody is missing from, or disagrees about, is left out and
// counted: a schedule with a part of it would never end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/chunking.h"
#include "goal/join.h"
#include "goal/topology.h"
#include "model/job.h"

namespace assay::goal {

// What exchanges have in common that expand alike.
struct Shape {
  model::NcclProtocol protocol = model::NcclProtocol::kSimple;
  Cut cut;
};

// One GPU's part of an exchange.
struct Call {
  std::uint32_t exchange = 0;
  std::uint32_t operation = 0;  // index into JobGpu::operations
};

// What one kernel of a GPU did.
struct Launch {
  std::uint32_t stream = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t first_call = 0;  // GpuCalls::calls[first_call … +num_calls)
  std::uint32_t num_calls = 0;
};

struct GpuCalls {
  std::vector<Call> calls;
  std::vector<Launch> launches;  // by stream, in each by start
};

struct Resolved {
  const model::Job* job = nullptr;
  std::vector<Exchange> exchanges;
  std::vector<Shape> shapes;
  std::vector<Topology> topologies;  // by communicator
  std::vector<GpuCalls> gpus;
  model::Warnings warnings;
};

// Borrows the job. Fails when nothing can be joined at all, or with kFail at the first misfit.
core::Result<Resolved> resolve(const model::Job& job, Misfits misfits);

}  // namespace assay::goal
