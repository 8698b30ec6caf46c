#include "goal/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "goal/check.h"
#include "goal/goal_test_util.h"
#include "goal/reshape_job.h"

namespace assay::goal {
namespace {

using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;

class Kept final : public model::RankSink {
 public:
  core::Status append(const model::RankImage& rank) override {
    ranks_.push_back(rank);
    return {};
  }

  [[nodiscard]] const std::vector<model::RankImage>& ranks() const { return ranks_; }

 private:
  std::vector<model::RankImage> ranks_;
};

struct Made {
  model::Schedule schedule;
  Generated generated;
};

core::Result<Made> make(const Job& job, const GenerateOptions& options = {}) {
  Kept kept;
  Costs costs = costs_from_lines(default_costs(), "defaults");
  costs.launch_ns = {};
  Generated generated = ASSAY_TRY(make_ranks(ASSAY_TRY(plan_schedule(job, costs, options)), kept));
  auto schedule =
      ASSAY_TRY(model::Schedule::from_bytes(model::binary_schedule(kept.ranks()), "test"));
  return Made{std::move(schedule), std::move(generated)};
}

// A mix: all collectives, a pipeline, an all-to-all with parts to itself, a group.
Job mixed_job(std::uint32_t num_gpus) {
  Job job = make_test_job({num_gpus, 4});
  const auto add = [&](NcclFunction function, NcclAlgorithm algorithm, NcclProtocol protocol,
                       std::uint64_t bytes, std::uint32_t channels) {
    add_collective(job, test_collective(function, algorithm, protocol, bytes, channels));
  };
  using F = NcclFunction;
  using A = NcclAlgorithm;
  using P = NcclProtocol;
  add(F::kAllReduce, A::kRing, P::kSimple, 10'000'000, 4);
  add(F::kAllReduce, A::kRing, P::kLl, 1024, 1);
  add(F::kAllReduce, A::kRing, P::kLl128, 1'000'000, 2);
  add(F::kAllReduce, A::kTree, P::kSimple, 3'000'004, 2);
  add(F::kAllReduce, A::kTree, P::kLl, 40'000, 2);
  add(F::kAllGather, A::kRing, P::kSimple, 1'000'000, 3);
  add(F::kAllGather, A::kPat, P::kSimple, 100'000, 1);
  add(F::kReduceScatter, A::kRing, P::kLl128, 700'000, 3);
  add(F::kReduceScatter, A::kPat, P::kSimple, 100'000, 1);
  add(F::kBroadcast, A::kRing, P::kSimple, 100'000, 2);
  add(F::kReduce, A::kRing, P::kLl, 50'000, 2);
  for (std::uint32_t rank = 0; rank < num_gpus; ++rank) {
    std::uint32_t group = 0;
    for (std::uint32_t peer = 0; peer < num_gpus; ++peer) {
      for (const F function : {F::kSend, F::kRecv}) {
        Operation pair = test_collective(function, A::kNone, P::kSimple, 1'000'000, 2);
        pair.peer = static_cast<std::int32_t>(peer);
        Operation& added = add_operation(job.gpus[rank], pair);
        if (peer == 0 && function == F::kSend) group = added.group;
        added.group = group;
        added.start_ns = 2'000'000;
        added.end_ns = 2'100'000;
      }
    }
  }
  return job;
}

std::string problems(const CheckResult& result) {
  std::string text;
  for (const Finding& finding : result.findings) {
    if (finding.weight != Weight::kProblem) continue;
    text += finding.name + ": " + (finding.examples.empty() ? "" : finding.examples[0]) + "\n";
  }
  return text;
}

TEST(Generate, EveryFunctionMatchesOnAnyNumberOfGpus) {
  for (const std::uint32_t num_gpus : {2U, 3U, 4U, 8U, 13U}) {
    for (const IntraNode mode : {IntraNode::kMessages, IntraNode::kCalc}) {
      GenerateOptions options;
      options.expand.intra_node = mode;
      const auto made = make(mixed_job(num_gpus), options);
      ASSERT_TRUE(made.ok()) << made.error().message;
      const CheckResult result = check(made.value().schedule, &made.value().generated.notes);
      EXPECT_TRUE(result.passed()) << num_gpus << " GPUs: " << problems(result);
      EXPECT_EQ(result.operations(), made.value().generated.num_ops);
      EXPECT_EQ(result.sends, made.value().generated.num_messages);
      EXPECT_GT(result.sends, 50U);
    }
  }
}

TEST(Generate, ThreadsDoNotChangeTheSchedule) {
  GenerateOptions one;
  one.threads = 1;
  GenerateOptions many;
  many.threads = 7;
  const auto a = make(mixed_job(8), one);
  const auto b = make(mixed_job(8), many);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a.value().schedule.ranks().size(), b.value().schedule.ranks().size());
  for (std::size_t rank = 0; rank < 8; ++rank) {
    const auto& left = a.value().schedule.ranks()[rank].ops;
    const auto& right = b.value().schedule.ranks()[rank].ops;
    ASSERT_EQ(left.size_bytes(), right.size_bytes());
    EXPECT_EQ(std::memcmp(left.data(), right.data(), left.size_bytes()), 0);
  }
}

TEST(Generate, KeepsGapsSkewAndTail) {
  Job job = make_test_job({2, 2});
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kLl, 64, 1));
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kLl, 64, 1));
  for (model::JobGpu& gpu : job.gpus) {
    gpu.window_start_ns = 1000;
    gpu.window_end_ns = 999'000;
  }
  job.gpus[1].operations[0].start_ns += 30'000;  // GPU 1 is late
  const auto made = make(job);
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::vector<std::vector<std::uint64_t>> calcs(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (const auto& op : made.value().schedule.ranks()[rank].ops) {
      if (op.kind == model::OpKind::kCalc && op.size > 20'000) calcs[rank].push_back(+op.size);
    }
  }
  // Operations begin at 100 us and 250 us and last 50 us; the recording lasts from 1 to 999 us.
  EXPECT_EQ(calcs[0], (std::vector<std::uint64_t>{99'000, 100'000, 699'000}));
  EXPECT_EQ(calcs[1], (std::vector<std::uint64_t>{129'000, 100'000, 699'000}));
}

TEST(Generate, LeavesOutWhatARankLacksAndCountsIt) {
  Job job = mixed_job(4);
  job.gpus[2].operations.erase(job.gpus[2].operations.begin());  // the first AllReduce
  // Its later AllReduces keep their numbers, because NCCL numbers them so.
  const auto made = make(job);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const CheckResult result = check(made.value().schedule, &made.value().generated.notes);
  EXPECT_TRUE(result.passed()) << problems(result);
  ASSERT_EQ(made.value().generated.warnings.all().size(), 2U);
  EXPECT_EQ(made.value().generated.warnings.all()[0].reason,
            "an operation was not recorded once on each of its ranks");
  EXPECT_EQ(made.value().generated.warnings.all()[0].count, 1);

  GenerateOptions strict;
  strict.misfits = Misfits::kFail;
  const auto failed = make(job, strict);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("AllReduce #0 on 0xabc"), std::string::npos)
      << failed.error().message;
}

TEST(Generate, LeavesOutWhatRanksDisagreeAbout) {
  Job job = mixed_job(4);
  job.gpus[3].operations[5].bytes += 4;
  const auto made = make(job);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(check(made.value().schedule, nullptr).passed());
  EXPECT_EQ(made.value().generated.warnings.all()[0].reason, "ranks disagree about an operation");
}

TEST(Generate, ARankThatWasNotRecordedIsAnError) {
  Job job = mixed_job(4);
  job.communicators[0].gpus[1] = model::kNoGpu;
  const auto made = make(job);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("1 of its 4 ranks was not recorded, first rank 1"),
            std::string::npos)
      << made.error().message;
}

TEST(Generate, ManySendsOfAPairNeverRunOutOfTags) {
  // The public generator fails here: 200 sends of 8 MiB in 64 slices between one pair of ranks.
  Job job = make_test_job({2, 1});
  for (int i = 0; i < 200; ++i) {
    Operation send = test_collective(NcclFunction::kSend, NcclAlgorithm::kNone,
                                     NcclProtocol::kSimple, 8 << 20, 2);
    send.peer = 1;
    add_operation(job.gpus[0], send);
    send.function = NcclFunction::kRecv;
    send.peer = 0;
    add_operation(job.gpus[1], send);
  }
  const auto made = make(job);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().generated.num_messages, 12800U);
  const CheckResult result = check(made.value().schedule, &made.value().generated.notes);
  EXPECT_TRUE(result.passed());
  for (const Finding& finding : result.findings)
    EXPECT_NE(finding.name, "repeated tag");

  GenerateOptions legacy;
  legacy.tags.layout = "legacy";
  legacy.tags.label = "parallelism + 100 * (communicator % 1000)";
  const auto failed = make(job, legacy);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message,
            "tag layout 'legacy' is too narrow: rank 0 sends 12800 messages to rank 1 with "
            "label 1, which takes 5 digits for the number, and labels go up to 1, which takes 1; "
            "decimal:8/1 would do");
  legacy.tags.layout = "decimal:8/1";
  EXPECT_TRUE(make(job, legacy).ok());
}

TEST(Generate, TagsCarryTheLabelAskedFor) {
  GenerateOptions options;
  options.tags.layout = "decimal:5/4";
  options.tags.label = "operation * 100 + sequence";
  const auto made = make(mixed_job(4), options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const model::ScheduleNotes& notes = made.value().generated.notes;
  EXPECT_TRUE(check(made.value().schedule, &notes).passed());
  const model::OperationSpan& third = notes.spans[1][2];
  const auto ops = made.value().schedule.ranks()[1].ops.subspan(third.first_op, third.num_ops);
  std::size_t sends = 0;
  for (const model::ScheduleOp& op : ops) {
    if (op.kind != model::OpKind::kSend) continue;
    EXPECT_EQ(op.tag / 100'000, 402U);  // AllReduce is function 4; this is the third
    ++sends;
  }
  EXPECT_GT(sends, 0U);
}

TEST(Generate, AutomaticTagsDropFieldsBeforeTheyOverflow) {
  Job job = make_test_job({2, 1});
  // One send of very many slices and many operations need too many bits together, so that the label
  // cannot hold the sequence.
  Operation send = test_collective(NcclFunction::kSend, NcclAlgorithm::kNone, NcclProtocol::kSimple,
                                   1ULL << 40, 1);
  send.peer = 1;
  add_operation(job.gpus[0], send);
  send.function = NcclFunction::kRecv;
  send.peer = 0;
  add_operation(job.gpus[1], send);
  const Operation small =
      test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kLl, 4, 1);
  for (std::uint64_t i = 0; i < 600; ++i) {
    for (model::JobGpu& gpu : job.gpus) {
      Operation operation = small;
      operation.sequence = i;
      operation.group = 10 + static_cast<std::uint32_t>(i);
      operation.start_ns = operation.end_ns = 1'000'000;
      gpu.operations.push_back(operation);
    }
  }
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok()) << resolved.error().message;
  const auto plan = plan_tags(resolved.value(), {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.value().layout.label_fields,
            (std::vector<std::string>{"parallelism", "communicator", "operation"}));
  EXPECT_EQ(plan.value().layout.label_width, 1U);
}

TEST(Generate, NamesWhatIsNotSupported) {
  Job job = make_test_job({2, 1});
  for (auto& gpu : job.gpus) {
    add_operation(gpu, test_collective(NcclFunction::kBroadcast, NcclAlgorithm::kNvls,
                                       NcclProtocol::kSimple, 4096, 1));
  }
  const auto made = make(job);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("NVLS"), std::string::npos) << made.error().message;
  const auto strict = resolve(job, Misfits::kFail);
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().message.find("Broadcast with algorithm NVLS is not supported: "), 0U)
      << strict.error().message;
}

// Every send of a schedule is proven to have its receive before it is written.
TEST(Generate, SwitchesThatReduceGiveSchedulesThatHold) {
  for (const TestJobShape& shape : {TestJobShape{8, 8}, TestJobShape{8, 4}, TestJobShape{6, 4}}) {
    Job job = make_test_job(shape);
    std::size_t operations = 0;
    for (const NcclAlgorithm algorithm :
         {NcclAlgorithm::kNvls, NcclAlgorithm::kNvlsTree, NcclAlgorithm::kCollnetDirect,
          NcclAlgorithm::kCollnetChain}) {
      for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{3 << 20}}) {
        add_collective(job, test_collective(NcclFunction::kAllReduce, algorithm,
                                            NcclProtocol::kSimple, bytes, 4));
        ++operations;
      }
    }
    for (const NcclFunction function : {NcclFunction::kAllGather, NcclFunction::kReduceScatter}) {
      for (const NcclAlgorithm algorithm : {NcclAlgorithm::kNvls, NcclAlgorithm::kCollnetDirect}) {
        add_collective(job,
                       test_collective(function, algorithm, NcclProtocol::kSimple, 1 << 20, 4));
        ++operations;
      }
    }
    const auto made = make(job);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const auto resolved = resolve(job, Misfits::kFail);
    ASSERT_TRUE(resolved.ok()) << resolved.error().message;
    EXPECT_EQ(resolved.value().exchanges.size(), operations);
  }
}

TEST(Generate, ReceivesWaitForTheirBuffers) {
  Job job = make_test_job({2, 1});
  Operation send = test_collective(NcclFunction::kSend, NcclAlgorithm::kNone, NcclProtocol::kSimple,
                                   20 * (128 << 10), 1);
  send.peer = 1;
  add_operation(job.gpus[0], send);
  send.function = NcclFunction::kRecv;
  send.peer = 0;
  add_operation(job.gpus[1], send);
  const auto made = make(job);
  ASSERT_TRUE(made.ok());
  // 2.5 MiB between nodes travel in chunks of 128 KiB: 20 receives, each of which waits for the
  // work 8 slices earlier.
  const model::RankView& rank = made.value().schedule.ranks()[1];
  std::vector<std::uint32_t> receives;
  for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
    if (rank.ops[i].kind == model::OpKind::kReceive) receives.push_back(i);
  }
  ASSERT_EQ(receives.size(), 20U);
  const std::uint32_t work_of_first = receives[0] + 1;
  const auto dependents = rank.after_finish(rank.ops[work_of_first]);
  std::vector<std::uint32_t> after;
  for (const model::PackedIndex& index : dependents)
    after.push_back(+index.value);
  EXPECT_NE(std::find(after.begin(), after.end(), receives[8]), after.end());
}

TEST(Scale, ReplicasMatchAndKeepTheWhole) {
  const Job job = mixed_job(4);
  const auto scaled = scale(job, {.replicas = 16});
  ASSERT_TRUE(scaled.ok()) << scaled.error().message;
  EXPECT_EQ(scaled.value().gpus.size(), 64U);
  EXPECT_EQ(scaled.value().communicators[0].gpus.size(), 64U);
  EXPECT_EQ(scaled.value().gpus[63].operations[5].bytes, 62'500U);  // AllGather of 1 MB per rank
  EXPECT_EQ(scaled.value().gpus[63].operations[0].bytes, 10'000'000U);
  const auto made = make(scaled.value());
  ASSERT_TRUE(made.ok()) << made.error().message;
  const CheckResult result = check(made.value().schedule, &made.value().generated.notes);
  EXPECT_TRUE(result.passed()) << problems(result);
  EXPECT_TRUE(made.value().generated.warnings.empty() ||
              made.value().generated.warnings.all()[0].count == 1);
}

TEST(Scale, RecordedRingsRunThroughAllReplicas) {
  Job job = mixed_job(3);
  std::vector<model::ChannelLinks> links(3);
  const std::vector<std::int32_t> order = {0, 2, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    links[static_cast<std::size_t>(order[i])].ring_next = order[(i + 1) % 3];
    links[static_cast<std::size_t>(order[i])].ring_previous = order[(i + 2) % 3];
  }
  link_trees(links, {"0", "0", "0"}, BinaryTree::kFirst);
  job.communicators[0].channels = {links};
  const auto scaled = scale(job, {.replicas = 2});
  ASSERT_TRUE(scaled.ok());
  std::vector<std::int32_t> ring;
  std::int32_t at = 0;
  for (int i = 0; i < 6; ++i) {
    ring.push_back(at);
    at = scaled.value().communicators[0].channels[0][static_cast<std::size_t>(at)].ring_next;
  }
  EXPECT_EQ(ring, (std::vector<std::int32_t>{0, 2, 1, 3, 5, 4}));
  EXPECT_EQ(at, 0);
  model::Warnings warnings;
  make_topology(scaled.value().communicators[0], {"0", "0", "0", "0.1", "0.1", "0.1"}, {},
                warnings);
  EXPECT_TRUE(warnings.empty());
}

}  // namespace
}  // namespace assay::goal
