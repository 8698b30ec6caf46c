// What a GPU of one pipeline stage does in a step: launches of collectives and messages, and
// computation, each with what it waits for. All GPUs of a stage do the same; assemble() makes a job
// of the programs of all stages.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "goal/synth/layer_passes.h"

namespace assay::goal {

// Streams of a GPU. Messages between stages have one for each kind and direction, so that none
// waits for another that its receiver is not ready for.
enum class Lane : std::uint8_t {
  kComputation,
  kTensor,
  kExpert,
  kData,        // gradients
  kParameters,  // of sharded layers
  kForwardIn,
  kForwardOut,
  kBackwardIn,
  kBackwardOut,
};

inline constexpr std::size_t kLanes = 9;

std::string_view name_of(Lane lane);

// A message to or from another stage. The n-th that is sent in a direction is the n-th received.
struct StageMessage {
  std::uint32_t stage = 0;
  std::uint64_t bytes = 0;
};

struct ProgramOp {
  enum class Kind : std::uint8_t { kComputation, kCollective, kSend, kReceive };
  Kind kind = Kind::kComputation;
  Lane lane = Lane::kComputation;
  CollectiveCall call = {};      // kCollective
  StageMessage message = {};     // kSend, kReceive
  std::uint64_t compute_ns = 0;  // as model::Operation::compute_ns
  std::uint32_t first_wait = 0;  // Program::waits[first_wait … +num_waits)
  std::uint32_t num_waits = 0;
};

struct Program {
  std::vector<ProgramOp> ops;
  std::vector<std::uint32_t> waits;  // indices of earlier ops
};

// Writes a program as a GPU's host does: computation goes on in one chain; collectives and messages
// begin behind what was computed so far, and the chain goes on with or without waiting for them.
class ProgramWriter {
 public:
  // Takes its times to the nearest nanosecond in sum.
  void compute(double ns);

  // Begins after the computation so far. Nothing waits for it until join().
  std::uint32_t launch(ProgramOp op);

  // The computation from here on waits for an op.
  void join(std::uint32_t op);

  // launch() and join().
  void call(ProgramOp op);

  void run(const Stretches& stretches);

  Program finish();

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void wait_for_chain(ProgramOp& op);
  std::uint32_t add(const ProgramOp& op);
  std::uint64_t take_pending();
  void end_computation();

  Program program_;
  double pending_ns_ = 0;
  std::vector<std::uint32_t> chain_;  // what the next computation waits for
  std::array<std::uint32_t, kLanes> last_ = {kNone, kNone, kNone, kNone, kNone,
                                             kNone, kNone, kNone, kNone};
  std::array<std::uint32_t, kLanes> joined_ = last_;
};

ProgramOp collective_op(const CollectiveCall& call, Lane lane);
ProgramOp message_op(ProgramOp::Kind kind, Lane lane, const StageMessage& message);

}  // namespace assay::goal
