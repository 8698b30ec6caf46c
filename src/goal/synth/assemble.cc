#include "goal/synth/assemble.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "goal/synth/collective_choice.h"
#include "goal/synth/held_share.h"
#include "goal/topology.h"

namespace assay::goal {
namespace {

using model::NcclFunction;
using Kind = ProgramOp::Kind;

// When the operations of all stages begin and end.
struct Times {
  std::vector<std::vector<std::int64_t>> start_ns;  // by stage, op
  std::vector<std::vector<std::int64_t>> end_ns;
};

// The GPUs of a group in the whole job, and the nodes that they are on.
struct GroupSize {
  std::uint32_t ranks = 1;
  std::uint32_t nodes = 1;
};

class Sizes {
 public:
  explicit Sizes(const JobGrid& grid) : grid_(grid) {}

  [[nodiscard]] GroupSize of(Group group) const {
    switch (group) {
      case Group::kTensor:
        return {grid_.tp, nodes_of(grid_.tp)};
      case Group::kExpert:
        return {grid_.ep, nodes_of(grid_.ep * grid_.tp)};
      case Group::kData:
        return {grid_.dp, nodes_of(grid_.dp * grid_.tp)};
      case Group::kExpertData:
        return {grid_.dp / grid_.ep, nodes_of(grid_.dp * grid_.tp)};
      case Group::kServing:
        return {grid_.tp * grid_.dp, nodes_of(grid_.dp * grid_.tp)};
      case Group::kEmbedding:
        break;
    }
    return {2, grid_.gpus() > grid_.gpus_per_node ? 2U : 1U};
  }

  [[nodiscard]] CollectiveShape shape_of(const CollectiveCall& call) const {
    const GroupSize size = of(call.group);
    return {.function = call.function,
            .bytes = call.bytes,
            .ranks = size.ranks,
            .nodes = std::min(size.nodes, size.ranks)};
  }

 private:
  [[nodiscard]] std::uint32_t nodes_of(std::uint32_t consecutive) const {
    return (consecutive + grid_.gpus_per_node - 1) / grid_.gpus_per_node;
  }

  const JobGrid& grid_;
};

// Runs the programs of all stages as if nothing but what they wait for held an operation back.
class Estimate {
 public:
  Estimate(const std::vector<Program>& programs, const JobGrid& grid)
      : programs_(programs), sizes_(grid) {
    for (const Program& program : programs) {
      first_.push_back(num_nodes_);
      num_nodes_ += static_cast<std::uint32_t>(program.ops.size());
    }
  }

  core::Result<Times> run() {
    link();
    std::vector<std::uint32_t> ready;
    for (std::uint32_t node = 0; node < num_nodes_; ++node) {
      if (before_[node] == 0) ready.push_back(node);
    }
    std::uint32_t done = 0;
    for (; !ready.empty(); ++done) {
      const std::uint32_t node = ready.back();
      ready.pop_back();
      finish(node);
      for (const std::uint32_t next : next_[node]) {
        begin_ns_[next] =
            std::max(begin_ns_[next], is_pair(node, next) ? start_ns_[node] : end_ns_[node]);
        if (--before_[next] == 0) ready.push_back(next);
      }
    }
    if (done < num_nodes_) return core::Error{"the stages of the pipeline wait for each other"};
    return split();
  }

 private:
  void link() {
    next_.resize(num_nodes_);
    before_.assign(num_nodes_, 0);
    begin_ns_.assign(num_nodes_, 0);
    start_ns_.assign(num_nodes_, 0);
    end_ns_.assign(num_nodes_, 0);
    op_.resize(num_nodes_);
    for (std::uint32_t stage = 0; stage < programs_.size(); ++stage)
      link_stage(stage);
    for (const auto& [pair, sends] : sends_) {
      const std::vector<std::uint32_t>& receives = receives_[pair];
      ASSAY_CHECK(sends.size() == receives.size(), "a message between stages without a receiver");
      for (std::size_t i = 0; i < sends.size(); ++i)
        add(sends[i], receives[i]);
    }
  }

  void link_stage(std::uint32_t stage) {
    const Program& program = programs_[stage];
    std::array<std::uint32_t, kLanes> last = {};
    std::array<bool, kLanes> is_used = {};
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
      const ProgramOp& op = program.ops[i];
      const std::uint32_t node = first_[stage] + i;
      op_[node] = &op;
      const auto lane = static_cast<std::size_t>(op.lane);
      if (is_used[lane]) add(last[lane], node);
      is_used[lane] = true;
      last[lane] = node;
      for (std::uint32_t k = 0; k < op.num_waits; ++k)
        add(first_[stage] + program.waits[op.first_wait + k], node);
      const bool is_forward = op.lane == Lane::kForwardIn || op.lane == Lane::kForwardOut;
      if (op.kind == Kind::kSend) sends_[{is_forward, stage, op.message.stage}].push_back(node);
      if (op.kind == Kind::kReceive)
        receives_[{is_forward, op.message.stage, stage}].push_back(node);
    }
  }

  void add(std::uint32_t from, std::uint32_t to) {
    next_[from].push_back(to);
    ++before_[to];
  }

  [[nodiscard]] bool is_pair(std::uint32_t from, std::uint32_t to) const {
    return op_[from]->kind == Kind::kSend && op_[to]->kind == Kind::kReceive;
  }

  void finish(std::uint32_t node) {
    const ProgramOp& op = *op_[node];
    const auto compute_ns = static_cast<std::int64_t>(op.compute_ns);
    if (op.kind == Kind::kComputation) {
      start_ns_[node] = begin_ns_[node];
      end_ns_[node] = begin_ns_[node] + compute_ns;
      return;
    }
    start_ns_[node] = begin_ns_[node] + compute_ns;
    end_ns_[node] = start_ns_[node] + duration_ns(op);
  }

  [[nodiscard]] std::int64_t duration_ns(const ProgramOp& op) const {
    if (op.kind == Kind::kCollective) return estimated_ns(sizes_.shape_of(op.call));
    return estimated_ns({.function = NcclFunction::kSendRecv,
                         .bytes = op.message.bytes,
                         .ranks = 2,
                         .nodes = sizes_.of(Group::kEmbedding).nodes});
  }

  [[nodiscard]] Times split() const {
    Times times;
    for (std::size_t stage = 0; stage < programs_.size(); ++stage) {
      const auto count = static_cast<std::ptrdiff_t>(programs_[stage].ops.size());
      const auto of = [&](const std::vector<std::int64_t>& all) {
        return std::vector<std::int64_t>(all.begin() + first_[stage],
                                         all.begin() + first_[stage] + count);
      };
      times.start_ns.push_back(of(start_ns_));
      times.end_ns.push_back(of(end_ns_));
    }
    return times;
  }

  using Pair = std::tuple<bool, std::uint32_t, std::uint32_t>;  // forward, from, to

  const std::vector<Program>& programs_;
  Sizes sizes_;
  std::vector<std::uint32_t> first_;  // node of a stage's first op
  std::uint32_t num_nodes_ = 0;
  std::vector<const ProgramOp*> op_;
  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<std::uint32_t> before_;
  std::vector<std::int64_t> begin_ns_;
  std::vector<std::int64_t> start_ns_;
  std::vector<std::int64_t> end_ns_;
  std::map<Pair, std::vector<std::uint32_t>> sends_;
  std::map<Pair, std::vector<std::uint32_t>> receives_;
};

// A GPU of the block.
struct Seat {
  std::uint32_t stage = 0;
  std::uint32_t replica = 0;
  std::uint32_t shard = 0;
};

// The kinds of communicators; the first as Group has them.
enum class Kin : std::uint8_t {
  kTensor,
  kExpert,
  kData,
  kExpertData,
  kEmbedding,
  kServing,
  kForward,
  kBackward,
};

class Assembler {
 public:
  Assembler(const std::vector<Program>& programs, const JobGrid& grid, const Times& times)
      : programs_(programs), grid_(grid), times_(times), sizes_(grid), replicas_(grid.block_dp()) {}

  model::Job run() {
    const std::uint32_t gpus = grid_.tp * replicas_ * grid_.stages;
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
      job_.gpus.push_back(empty_gpu(gpu));
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
      fill(gpu);
    return std::move(job_);
  }

 private:
  [[nodiscard]] std::uint32_t gpu_of(const Seat& seat) const {
    return (seat.stage * replicas_ + seat.replica) * grid_.tp + seat.shard;
  }

  [[nodiscard]] Seat seat_of(std::uint32_t gpu) const {
    return {.stage = gpu / grid_.tp / replicas_,
            .replica = gpu / grid_.tp % replicas_,
            .shard = gpu % grid_.tp};
  }

  [[nodiscard]] model::JobGpu empty_gpu(std::uint32_t gpu) const {
    model::JobGpu made{.node = fmt::format("node{}", gpu / grid_.gpus_per_node),
                       .process_id = gpu,
                       .device = static_cast<std::int32_t>(gpu % grid_.gpus_per_node),
                       .states_waits = true};
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      made.streams.emplace_back(name_of(static_cast<Lane>(lane)));
    return made;
  }

  // The GPUs that share a communicator of this kind with a seat, in the order of their ranks.
  [[nodiscard]] std::vector<Seat> members(Kin kin, const Seat& seat) const {
    std::vector<Seat> all;
    const auto add = [&](auto member, std::uint32_t first, std::uint32_t end, std::uint32_t step) {
      for (std::uint32_t i = first; i < end; i += step) {
        all.push_back(seat);
        all.back().*member = i;
      }
    };
    const std::uint32_t experts = seat.replica / grid_.ep * grid_.ep;
    if (kin == Kin::kTensor) add(&Seat::shard, 0, grid_.tp, 1);
    if (kin == Kin::kExpert) add(&Seat::replica, experts, experts + grid_.ep, 1);
    if (kin == Kin::kData) add(&Seat::replica, 0, replicas_, 1);
    if (kin == Kin::kExpertData) add(&Seat::replica, seat.replica % grid_.ep, replicas_, grid_.ep);
    if (kin == Kin::kServing) return all_seats();
    if (kin == Kin::kEmbedding) add(&Seat::stage, 0, grid_.stages, grid_.stages - 1);
    if (kin == Kin::kForward || kin == Kin::kBackward) add(&Seat::stage, 0, grid_.stages, 1);
    return all;
  }

  [[nodiscard]] std::vector<Seat> all_seats() const {
    std::vector<Seat> all;
    for (std::uint32_t gpu = 0; gpu < job_.gpus.size(); ++gpu)
      all.push_back(seat_of(gpu));
    return all;
  }

  static const char* name_of_kin(Kin kin) {
    constexpr std::array<const char*, 8> kNames = {"tensor",    "expert",  "data",    "expert data",
                                                   "embedding", "serving", "forward", "backward"};
    return kNames[static_cast<std::size_t>(kin)];
  }

  static std::optional<model::Parallelism> parallelism_of(Kin kin) {
    switch (kin) {
      case Kin::kTensor:
        return model::Parallelism::kTensor;
      case Kin::kExpert:
        return model::Parallelism::kExpert;
      case Kin::kData:
      case Kin::kExpertData:
        return model::Parallelism::kData;
      case Kin::kEmbedding:
      case Kin::kForward:
      case Kin::kBackward:
        return model::Parallelism::kPipeline;
      case Kin::kServing:
        break;
    }
    return std::nullopt;
  }

  std::uint32_t communicator(Kin kin, const Seat& seat) {
    const std::vector<Seat> all = members(kin, seat);
    const auto [known, is_new] = communicators_.try_emplace(
        {kin, gpu_of(all.front())}, static_cast<std::uint32_t>(job_.communicators.size()));
    if (!is_new) return known->second;
    model::Communicator made{.name = fmt::format("{} of {}", name_of_kin(kin), gpu_of(all.front())),
                             .gpus = {},
                             .channels = {},
                             .parallelism = parallelism_of(kin)};
    for (const Seat& member : all)
      made.gpus.push_back(gpu_of(member));
    link(made);
    job_.communicators.push_back(std::move(made));
    return known->second;
  }

  // A communicator that grows with the replicas comes to have other nodes.
  void link(model::Communicator& made) const {
    std::vector<std::string> nodes;
    for (const std::uint32_t gpu : made.gpus)
      nodes.push_back(job_.gpus[gpu].node);
    const NodeLayout layout = make_layout(nodes);
    made.channels =
        link_channels(nodes, made.spans_replicas() ? static_cast<std::size_t>(layout.num_heads())
                                                   : rings_over(layout));
  }

  static Kin kin_of(const ProgramOp& op) {
    if (op.kind == Kind::kCollective) return static_cast<Kin>(op.call.group);
    const bool is_forward = op.lane == Lane::kForwardIn || op.lane == Lane::kForwardOut;
    return is_forward ? Kin::kForward : Kin::kBackward;
  }

  void fill(std::uint32_t gpu) {
    const Seat seat = seat_of(gpu);
    const Program& program = programs_[seat.stage];
    model::JobGpu& made = job_.gpus[gpu];
    sequences_.clear();
    std::vector<std::uint32_t> place;  // of an op's last operation
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
      const ProgramOp& op = program.ops[i];
      model::Operation operation{.communicator = op.kind == Kind::kComputation
                                                     ? model::kNoCommunicator
                                                     : communicator(kin_of(op), seat),
                                 .stream = static_cast<std::uint32_t>(op.lane),
                                 .group = i,
                                 .start_ns = times_.start_ns[seat.stage][i],
                                 .end_ns = times_.end_ns[seat.stage][i],
                                 .first_wait = static_cast<std::uint32_t>(made.waits.size()),
                                 .num_waits = op.num_waits,
                                 .compute_ns = op.compute_ns};
      for (std::uint32_t k = 0; k < op.num_waits; ++k)
        made.waits.push_back(place[program.waits[op.first_wait + k]]);
      add(op, seat, operation, made);
      place.push_back(static_cast<std::uint32_t>(made.operations.size() - 1));
    }
  }

  void add(const ProgramOp& op, const Seat& seat, model::Operation operation, model::JobGpu& made) {
    if (op.kind == Kind::kCollective) {
      add_collective(op.call, seat, operation, made);
    } else if (op.kind == Kind::kComputation) {
      made.operations.push_back(operation);
    } else {
      operation.peer = static_cast<std::int32_t>(op.message.stage);
      operation.bytes = op.message.bytes;
      add_pair(op.kind == Kind::kSend, operation, made);
    }
  }

  void add_pair(bool sends, model::Operation operation, model::JobGpu& made) {
    operation.function = sends ? NcclFunction::kSend : NcclFunction::kRecv;
    operation.sequence = sequence_of(operation);
    made.operations.push_back(operation);
  }

  void add_collective(const CollectiveCall& call,
                      const Seat& seat,
                      model::Operation operation,
                      model::JobGpu& made) {
    if (call.function == NcclFunction::kAllToAll) {
      for (std::uint32_t i = 1; i < grid_.ep; ++i) {
        const std::uint32_t rank = seat.replica % grid_.ep;
        operation.bytes = call.bytes;
        operation.peer = static_cast<std::int32_t>((rank + i) % grid_.ep);
        add_pair(true, operation, made);
        operation.peer = static_cast<std::int32_t>((rank + grid_.ep - i) % grid_.ep);
        add_pair(false, operation, made);
      }
      return;
    }
    const CollectiveChoice choice = choose_collective(sizes_.shape_of(call));
    const bool shares =
        call.function == NcclFunction::kAllGather || call.function == NcclFunction::kReduceScatter;
    const bool spans = call.group == Group::kData || call.group == Group::kExpertData;
    operation.function = call.function;
    operation.algorithm = choice.algorithm;
    operation.protocol = choice.protocol;
    operation.num_channels = choice.channels;
    operation.element_bytes = call.element_bytes;
    // scale() divides it among the repeated blocks again.
    operation.bytes = shares && spans ? call.bytes * grid_.repeats() : call.bytes;
    operation.sequence = sequence_of(operation);
    made.operations.push_back(operation);
  }

  std::uint64_t sequence_of(const model::Operation& operation) {
    return sequences_[{operation.communicator, operation.function, operation.peer}]++;
  }

  const std::vector<Program>& programs_;
  const JobGrid& grid_;
  const Times& times_;
  Sizes sizes_;
  std::uint32_t replicas_;
  model::Job job_;
  std::map<std::pair<Kin, std::uint32_t>, std::uint32_t> communicators_;  // by the first member
  std::map<std::tuple<std::uint32_t, NcclFunction, std::int32_t>, std::uint64_t> sequences_;
};

// Makes computation as long as it is beside the collectives that run meanwhile.
class Lengthening {
 public:
  Lengthening(const std::vector<Program>& programs, const JobGrid& grid)
      : programs_(programs), grid_(grid), sizes_(grid), made_(programs) {}

  // What is beside what follows from the lengths, and they from it: each round errs by the held
  // share of the error before, less than a fifth for each collective that runs at once.
  core::Result<Times> run() {
    constexpr int kRounds = 6;
    Times times = ASSAY_TRY(Estimate(made_, grid_).run());
    for (int round = 0; round < kRounds && lengthen(times); ++round)
      times = ASSAY_TRY(Estimate(made_, grid_).run());
    return times;
  }

  [[nodiscard]] const std::vector<Program>& made() const { return made_; }

 private:
  // Whether something became longer.
  bool lengthen(const Times& times) {
    bool is_longer = false;
    for (std::size_t stage = 0; stage < made_.size(); ++stage) {
      const std::vector<std::int64_t>& start_ns = times.start_ns[stage];
      const HeldShare held(holdings(made_[stage], start_ns, times.end_ns[stage]));
      for (std::size_t i = 0; i < start_ns.size(); ++i) {
        ProgramOp& op = made_[stage].ops[i];
        const auto length_ns = static_cast<std::int64_t>(op.compute_ns);
        const bool computes = op.kind == Kind::kComputation;
        const std::int64_t end_ns = start_ns[i] + (computes ? length_ns : 0);
        const double held_ns = held.held_ns(end_ns - length_ns, end_ns);
        const std::uint64_t longer =
            programs_[stage].ops[i].compute_ns + static_cast<std::uint64_t>(std::llround(held_ns));
        is_longer = is_longer || longer != op.compute_ns;
        op.compute_ns = longer;
      }
    }
    return is_longer;
  }

  // Messages, of which an all-to-all is made, are left out: nobody told their channels.
  [[nodiscard]] std::vector<Holding> holdings(const Program& program,
                                              const std::vector<std::int64_t>& start_ns,
                                              const std::vector<std::int64_t>& end_ns) const {
    std::vector<Holding> all;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const ProgramOp& op = program.ops[i];
      if (op.kind != Kind::kCollective || op.call.function == NcclFunction::kAllToAll) continue;
      all.push_back({start_ns[i], end_ns[i], held_share(sizes_.shape_of(op.call))});
    }
    return all;
  }

  const std::vector<Program>& programs_;
  const JobGrid& grid_;
  Sizes sizes_;
  std::vector<Program> made_;
};

std::int64_t computation_of(const Program& program) {
  return std::accumulate(program.ops.begin(), program.ops.end(), std::int64_t{0},
                         [](std::int64_t sum, const ProgramOp& op) {
                           return sum + static_cast<std::int64_t>(op.compute_ns);
                         });
}

}  // namespace

std::uint32_t JobGrid::block_dp() const {
  for (std::uint32_t replicas = ep; replicas < dp; replicas += ep) {
    if (dp % replicas == 0 && tp * replicas % gpus_per_node == 0) return replicas;
  }
  return dp;
}

core::Status check_grid(const JobGrid& grid) {
  constexpr double kMostGpus = 1 << 24;
  constexpr double kMostOfBlock = 1 << 16;
  const double of_replica = static_cast<double>(grid.tp) * grid.stages;
  if (of_replica * grid.dp > kMostGpus)
    return core::Error{
        fmt::format("{:.0f} GPUs are more than a schedule has", of_replica * grid.dp)};
  const double of_block = of_replica * grid.block_dp();
  if (of_block <= kMostOfBlock) return {};
  return core::Error{fmt::format(
      "{:.0f} GPUs do not repeat a smaller block: choose replicas of which whole nodes hold a "
      "divisor",
      of_block)};
}

core::Result<AssembledJob> assemble(const std::vector<Program>& programs, const JobGrid& grid) {
  Lengthening lengthening(programs, grid);
  const Times times = ASSAY_TRY(lengthening.run());
  AssembledJob made;
  made.job = Assembler(lengthening.made(), grid, times).run();
  for (std::size_t stage = 0; stage < programs.size(); ++stage) {
    for (const std::int64_t end_ns : times.end_ns[stage])
      made.estimated_ns = std::max(made.estimated_ns, end_ns);
    const std::int64_t busy_ns = computation_of(lengthening.made()[stage]);
    if (busy_ns <= made.busiest_ns) continue;
    made.busiest_ns = busy_ns;
    made.busiest_held_ns = busy_ns - computation_of(programs[stage]);
  }
  return made;
}

}  // namespace assay::goal
