#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "core/counted.h"
#include "goal/lowering.h"
#include "goal/resolve.h"

namespace assay::goal {
namespace {

using model::Job;
using model::JobGpu;
using model::kNoGpu;
using model::NcclFunction;
using model::Operation;

// This number of small chunks holds 4 TiB, far more than any operation ever moved.
constexpr std::uint64_t kMostChunks = 1ULL << 28;
constexpr std::uint64_t kSmallChunkBytes = 16ULL << 10;

// NCCL buffers no more of a channel's message, and the clocks of a node's GPUs are no further
// apart.
constexpr std::uint64_t kBufferBytes = 4ULL << 20;
constexpr std::int64_t kClockErrorNs = 100'000;

struct Key {
  std::uint32_t communicator;
  NcclFunction function;
  std::int32_t source;
  std::int32_t destination;
  std::uint64_t sequence;

  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = key.communicator;
    const auto mix = [&](std::uint64_t value) {
      hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29;
    };
    mix(static_cast<std::uint64_t>(key.function));
    mix(static_cast<std::uint64_t>(key.source) << 32 | static_cast<std::uint32_t>(key.destination));
    mix(key.sequence);
    return hash;
  }
};

class Joiner {
 public:
  Joiner(const Job& job, Misfits misfits, model::Warnings& warnings)
      : job_(job), misfits_(misfits), warnings_(warnings) {
    find_ranks();
  }

  core::Result<Joined> run() {
    ASSAY_TRY(check_members());
    join_operations();
    ASSAY_TRY(leave_out_misfits());
    return std::move(joined_);
  }

 private:
  struct Members {
    std::uint32_t seen = 0;
    std::uint32_t last_gpu = kNoGpu;
    std::uint32_t last_operation = 0;
    std::string problem;  // empty when its operations fit together
  };

  struct Side {
    std::uint32_t gpu;
    Operation operation;
  };

  void find_ranks() {
    ranks_.resize(job_.communicators.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const auto& gpus = job_.communicators[i].gpus;
      for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
        if (gpus[rank] != kNoGpu) ranks_[i][gpus[rank]] = static_cast<std::int32_t>(rank);
      }
    }
  }

  std::int32_t rank_of(std::uint32_t gpu, std::uint32_t communicator) const {
    const auto found = ranks_[communicator].find(gpu);
    return found == ranks_[communicator].end() ? -1 : found->second;
  }

  std::string gpu_name(std::uint32_t gpu) const {
    const JobGpu& who = job_.gpus[gpu];
    return fmt::format("process {} of node {}", who.process_id, who.node);
  }

  // A communicator of which not all ranks were recorded has no complete exchange.
  core::Status check_members() {
    std::size_t usable = 0;
    std::string missing;
    for (const model::Communicator& communicator : job_.communicators) {
      const auto absent = std::count(communicator.gpus.begin(), communicator.gpus.end(), kNoGpu);
      if (absent == 0) {
        ++usable;
        continue;
      }
      const auto first = std::find(communicator.gpus.begin(), communicator.gpus.end(), kNoGpu);
      missing =
          fmt::format("communicator {}: {} of its {} {} not recorded, first rank {}",
                      communicator.name, absent, core::counted(communicator.gpus.size(), "rank"),
                      absent == 1 ? "was" : "were", first - communicator.gpus.begin());
      if (misfits_ == Misfits::kFail) return core::Error{missing};
      warnings_.add("ranks of a communicator were not recorded", "its operations are left out",
                    missing);
    }
    if (usable > 0 || computes_only()) return {};
    return core::Error{missing.empty() ? "the recording has no communicator"
                                       : missing + "; add the missing recordings"};
  }

  // A made job of one GPU, or one whose GPUs are alone in their groups, has nobody to communicate
  // with.
  [[nodiscard]] bool computes_only() const {
    const auto computes = [](const Operation& operation) {
      return operation.communicator == model::kNoCommunicator;
    };
    return std::any_of(job_.gpus.begin(), job_.gpus.end(),
                       [](const JobGpu& gpu) { return gpu.states_waits; }) &&
           std::all_of(job_.gpus.begin(), job_.gpus.end(), [&](const JobGpu& gpu) {
             return std::all_of(gpu.operations.begin(), gpu.operations.end(), computes);
           });
  }

  std::optional<Key> key_of(std::uint32_t gpu, const Operation& operation) {
    const std::int32_t rank = rank_of(gpu, operation.communicator);
    if (rank < 0) return std::nullopt;
    Key key{operation.communicator, operation.function, -1, -1, operation.sequence};
    if (is_point_to_point(operation.function)) {
      const bool sends = operation.function == NcclFunction::kSend;
      key.function = NcclFunction::kSendRecv;
      key.source = sends ? rank : operation.peer;
      key.destination = sends ? operation.peer : rank;
    }
    return key;
  }

  void join_operations() {
    joined_.exchange_of.resize(job_.gpus.size());
    for (std::uint32_t gpu = 0; gpu < job_.gpus.size(); ++gpu) {
      const auto& operations = job_.gpus[gpu].operations;
      joined_.exchange_of[gpu].assign(operations.size(), kNoExchange);
      for (std::uint32_t i = 0; i < operations.size(); ++i)
        join(gpu, i);
    }
  }

  void join(std::uint32_t gpu, std::uint32_t index) {
    const Operation& operation = job_.gpus[gpu].operations[index];
    if (operation.communicator == model::kNoCommunicator) return;
    const auto key = key_of(gpu, operation);
    if (!key) {
      warnings_.add("an operation on a communicator that its GPU is no rank of", "left out",
                    describe(gpu, operation));
      return;
    }
    const auto number = static_cast<std::uint32_t>(joined_.exchanges.size());
    const auto [found, is_new] = numbers_.emplace(*key, number);
    if (is_new) {
      joined_.exchanges.push_back({key->function, key->communicator, key->source, key->destination,
                                   key->sequence, 0, gpu, index});
      members_.emplace_back();
    } else {
      compare(found->second, gpu, operation);
    }
    Members& members = members_[found->second];
    const bool to_itself = key->source >= 0 && key->source == key->destination;
    if (members.last_gpu == gpu && !to_itself && members.problem.empty()) {
      members.problem = describe(gpu, operation) + ", twice";
    }
    members.last_gpu = gpu;
    members.last_operation = index;
    ++members.seen;
    joined_.exchange_of[gpu][index] = found->second;
  }

  void compare(std::uint32_t number, std::uint32_t gpu, const Operation& operation) {
    const Exchange& exchange = joined_.exchanges[number];
    const Operation& first = job_.gpus[exchange.gpu].operations[exchange.operation];
    const bool agree = std::tie(first.bytes, first.algorithm, first.protocol, first.root,
                                first.num_channels, first.num_parts) ==
                       std::tie(operation.bytes, operation.algorithm, operation.protocol,
                                operation.root, operation.num_channels, operation.num_parts);
    if (agree || !members_[number].problem.empty()) return;
    members_[number].problem =
        fmt::format("{}, but {}", describe(exchange.gpu, first), describe(gpu, operation));
  }

  std::string describe(std::uint32_t gpu, const Operation& operation) const {
    return fmt::format(
        "{}: {} #{} on {} of {}, {} {}, {}", gpu_name(gpu), name_of(operation.function),
        operation.sequence, job_.communicators[operation.communicator].name,
        core::counted(operation.bytes, "byte"), name_of(operation.algorithm),
        name_of(operation.protocol),
        core::counted(std::max(operation.num_channels, operation.num_parts), "channel"));
  }

  std::int32_t communicator_size(const Exchange& exchange) const {
    return static_cast<std::int32_t>(job_.communicators[exchange.communicator].gpus.size());
  }

  std::uint32_t expected_members(const Exchange& exchange) const {
    if (exchange.function == NcclFunction::kSendRecv) return 2;
    return static_cast<std::uint32_t>(job_.communicators[exchange.communicator].gpus.size());
  }

  core::Status leave_out_misfits() {
    joined_.keep.assign(joined_.exchanges.size(), true);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < joined_.exchanges.size(); ++i) {
      ASSAY_TRY(judge(i));
      if (joined_.keep[i]) ++kept;
    }
    if (kept > 0 || computes_only()) return {};
    if (joined_.exchanges.empty()) return core::Error{"the recording has no operation of NCCL"};
    return core::Error{fmt::format(
        "none of the {} was recorded on all of its ranks alike; first: {}",
        core::counted(joined_.exchanges.size(), "operation"), warnings_.all().back().example)};
  }

  // Operations in the copy engines and kernels on symmetric memory have none of NCCL's algorithms.
  static std::string unsupported(const Operation& operation) {
    const auto function = name_of(operation.function);
    if (operation.algorithm == model::NcclAlgorithm::kNone) {
      return fmt::format("{} whose algorithm was not recorded is not supported", function);
    }
    return fmt::format("{} with algorithm {} is not supported", function,
                       name_of(operation.algorithm));
  }

  // Returns a lower bound of the chunks that its channels move; damaged recordings claim enormous
  // numbers.
  std::uint64_t num_chunks(const Exchange& exchange) const {
    const JobGpu& gpu = job_.gpus[exchange.gpu];
    const Operation& operation = gpu.operations[exchange.operation];
    if (operation.num_parts == 0) return operation.bytes / kSmallChunkBytes;
    std::uint64_t chunks = 0;
    for (std::uint32_t i = 0; i < operation.num_parts; ++i) {
      const model::ChannelPart& part = gpu.parts[operation.first_part + i];
      chunks += part.count / std::max<std::uint64_t>(part.chunk_count, 1);
    }
    return chunks;
  }

  // Sends and receives are joined in their order, which is wrong from where a recording lacks one.
  // Then a receive may end before its send begins, or a send whose bytes no buffer holds before its
  // receive begins. Says which; recorded times of one clock are compared.
  std::string impossible_times(const Exchange& exchange, const Members& members) const {
    if (exchange.function != NcclFunction::kSendRecv || members.last_gpu == exchange.gpu) return {};
    const JobGpu& first = job_.gpus[exchange.gpu];
    if (first.states_waits || first.clock != job_.gpus[members.last_gpu].clock) return {};
    Side send = {exchange.gpu, first.operations[exchange.operation]};
    Side receive = {members.last_gpu,
                    job_.gpus[members.last_gpu].operations[members.last_operation]};
    if (send.operation.function != NcclFunction::kSend) std::swap(send, receive);
    const Operation& sent = send.operation;
    const Operation& received = receive.operation;
    if (sent.end_ns == sent.start_ns || received.end_ns == received.start_ns) return {};
    const auto told = [&](const Side& side, std::int64_t apart_ns, const char* other) {
      return fmt::format("{} ended {:.3f} ms before its {} began",
                         describe(side.gpu, side.operation), static_cast<double>(apart_ns) * 1e-6,
                         other);
    };
    const std::int64_t early_ns = sent.start_ns - received.end_ns;
    if (early_ns > kClockErrorNs) return told(receive, early_ns, "send");
    const std::int64_t late_ns = received.start_ns - sent.end_ns;
    const std::uint64_t channels = std::max({sent.num_channels, sent.num_parts, 1U});
    if (late_ns <= kClockErrorNs || sent.bytes <= channels * kBufferBytes) return {};
    return told(send, late_ns, "receive");
  }

  core::Status judge(std::size_t i) {
    const Exchange& exchange = joined_.exchanges[i];
    const Operation& operation = job_.gpus[exchange.gpu].operations[exchange.operation];
    std::string reason;
    std::string example;
    if (!members_[i].problem.empty()) {
      reason = "ranks disagree about an operation";
      example = members_[i].problem;
    } else if (members_[i].seen != expected_members(exchange)) {
      reason = "an operation was not recorded once on each of its ranks";
      example = fmt::format("{}: seen {}, {}", describe(exchange.gpu, operation),
                            core::counted(members_[i].seen, "time"),
                            core::counted(expected_members(exchange), "rank"));
    } else if (std::string times = impossible_times(exchange, members_[i]); !times.empty()) {
      reason = "a send and a receive that are not of one message by their times";
      example = std::move(times);
    } else if (num_chunks(exchange) > kMostChunks) {
      reason = "an operation of more chunks than any schedule could hold";
      example = describe(exchange.gpu, operation);
    } else if (operation.root >= communicator_size(exchange)) {
      reason = "an operation with a root that is no rank of its communicator";
      example = fmt::format("{}: root {}", describe(exchange.gpu, operation), operation.root);
    } else if (find_lowering(operation.function, operation.algorithm) == nullptr &&
               expected_members(exchange) > 1) {
      reason = unsupported(operation);
      example = describe(exchange.gpu, operation);
    } else {
      return {};
    }
    if (misfits_ == Misfits::kFail) return core::Error{reason + ": " + example};
    warnings_.add(reason, "left out of the schedule", example);
    joined_.keep[i] = false;
    return {};
  }

  const Job& job_;
  Misfits misfits_;
  model::Warnings& warnings_;
  Joined joined_;
  std::vector<std::unordered_map<std::uint32_t, std::int32_t>> ranks_;  // by communicator, GPU
  std::unordered_map<Key, std::uint32_t, KeyHash> numbers_;
  std::vector<Members> members_;  // by exchange
};

}  // namespace

core::Result<Joined> join_operations(const Job& job, Misfits misfits, model::Warnings& warnings) {
  return Joiner(job, misfits, warnings).run();
}

}  // namespace assay::goal
