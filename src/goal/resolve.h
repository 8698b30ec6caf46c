// Finds out what a job did from what each of its GPUs did. The operations of all GPUs are joined
// into exchanges, so that everything about an exchange (its tag, its cut into messages) is decided
// once for all who take part. An exchange is left out and counted when a rank is missing from it or
// disagrees about it, because a schedule with only a part of it would never end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/chunking.h"
#include "goal/topology.h"
#include "model/job.h"

namespace assay::goal {

// An operation of all its ranks: one AllReduce of a whole communicator, or one Send with its Recv.
struct Exchange {
  // KSendRecv for a Send with its Recv.
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  std::uint32_t communicator = 0;
  std::int32_t source = -1;  // ranks in the communicator of a Send and its Recv, otherwise -1
  std::int32_t destination = -1;
  std::uint64_t sequence = 0;
  std::uint32_t shape = 0;  // index into Resolved::shapes
  // One of its operations, which represents all of them.
  std::uint32_t gpu = 0;
  std::uint32_t operation = 0;
};

// The treatment of exchanges whose operations do not fit together.
enum class Misfits { kLeaveOut, kFail };

inline constexpr std::uint32_t kNoExchange = 0xFFFFFFFF;

struct Joined {
  std::vector<Exchange> exchanges;                      // their shapes are not set
  std::vector<bool> keep;                               // by exchange; false: left out
  std::vector<std::vector<std::uint32_t>> exchange_of;  // by GPU, operation; or kNoExchange
};

// The first stage of resolve(). Counts in `warnings` what is left out. Fails when nothing can be
// joined at all; with kFail also at the first misfit.
core::Result<Joined> join_operations(const model::Job& job,
                                     Misfits misfits,
                                     model::Warnings& warnings);

// The properties that exchanges with equal graphs share.
struct Shape {
  model::NcclProtocol protocol = model::NcclProtocol::kSimple;
  Cut cut;
};

// The part of one GPU in an exchange.
struct Call {
  std::uint32_t exchange = 0;
  std::uint32_t operation = 0;  // index into JobGpu::operations
};

// The calls that one kernel of a GPU carried out; none: a computation.
struct Launch {
  std::uint32_t stream = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t first_call = 0;  // GpuCalls::calls[first_call … +num_calls)
  std::uint32_t num_calls = 0;
  std::uint32_t first_operation = 0;  // index into JobGpu::operations
};

struct GpuCalls {
  std::vector<Call> calls;
  std::vector<Launch> launches;  // sorted by stream, then by start or, if the job states what
                                 // operations wait for, by operation
};

struct Resolved {
  const model::Job* job = nullptr;
  std::vector<Exchange> exchanges;
  std::vector<Shape> shapes;
  std::vector<Topology> topologies;  // by communicator
  std::vector<GpuCalls> gpus;
  model::Warnings warnings;
};

// Refers to the job. Fails when nothing can be joined at all; with kFail also at the first misfit.
core::Result<Resolved> resolve(const model::Job& job, Misfits misfits);

}  // namespace assay::goal
