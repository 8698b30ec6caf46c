#include "goal/synth/training.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "goal/generate.h"
#include "goal/synth/serving_step.h"
#include "model/serving/family.h"

namespace assay::goal {
namespace {

// A product takes 1 ns for each billion of operations, attention 1 us, all else nothing.
class SimpleTimes final : public OperatorTimes {
 public:
  core::Result<LaunchTime> time(const serving::OperatorUse& use,
                                const LaunchAmounts& amounts) override {
    LaunchTime time{.source = "test"};
    if (use.op == "context_attention") time.ns = 1000;
    if (use.op != "gemm") return time;
    const auto number = [&](const char* column) {
      return static_cast<double>(std::get<std::int64_t>(*serving::find_key(use, column)));
    };
    const double rows = use.role == "logits" ? amounts.requests : amounts.tokens;
    time.flops = 2 * rows * number("n") * number("k");
    time.ns = time.flops / 1e9;
    return time;
  }
};

const serving::Model& llama() {
  static const serving::Model model = serving::read_model("llama-3.1-8b").value();
  return model;
}

TrainingPlan plan_of(const JobGrid& grid) {
  TrainingPlan plan;
  plan.grid = grid;
  plan.micro_batches = 4;
  plan.sequence = 1024;
  return plan;
}

MadeJob made_of(const TrainingPlan& plan, const serving::Model& model = llama()) {
  SimpleTimes times;
  auto made = make_training_job(model, plan, times);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return std::move(made).value();
}

std::string refusal(const TrainingPlan& plan, const serving::Model& model = llama()) {
  SimpleTimes times;
  const auto made = make_training_job(model, plan, times);
  return made.ok() ? "" : made.error().message;
}

// By function and the beginning of the communicator's name: how often, and bytes.
struct Traffic {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string, Traffic> traffic_of(const model::Job& job, std::uint32_t gpu) {
  std::map<std::string, Traffic> traffic;
  for (const model::Operation& operation : job.gpus[gpu].operations) {
    if (operation.communicator == model::kNoCommunicator) continue;
    const std::string& name = job.communicators[operation.communicator].name;
    Traffic& at = traffic[fmt::format("{} {}", name.substr(0, name.find(" of")),
                                      name_of(operation.function))];
    ++at.count;
    at.bytes += operation.bytes;
  }
  return traffic;
}

// The schedule of the whole job, proven to match by make_ranks().
Generated schedule_of_made(const MadeJob& made) {
  const auto job = scale(made.job, {.replicas = made.repeats});
  EXPECT_TRUE(job.ok()) << job.error().message;
  const Costs costs = costs_from_lines(default_costs(), "test");
  GenerateOptions options;
  options.misfits = Misfits::kFail;
  const auto plan = plan_schedule(job.value(), costs, options);
  EXPECT_TRUE(plan.ok()) << plan.error().message;

  struct Nothing final : model::RankSink {
    core::Status append(const model::RankImage& /*rank*/) override { return {}; }
  } sink;

  auto generated = make_ranks(plan.value(), sink);
  EXPECT_TRUE(generated.ok()) << generated.error().message;
  EXPECT_TRUE(generated.value().warnings.empty());
  return std::move(generated).value();
}

TEST(TrainingJob, EveryMessageOfEveryKindOfJobHasItsReceive) {
  std::vector<TrainingPlan> plans;
  for (const Pipeline pipeline :
       {Pipeline::kOneForwardOneBackward, Pipeline::kInterleaved, Pipeline::kZeroBubble}) {
    for (const bool sequence_parallel : {false, true}) {
      TrainingPlan plan = plan_of({.tp = 2, .stages = 2, .dp = 2});
      plan.pipeline = pipeline;
      plan.chunks = pipeline == Pipeline::kInterleaved ? 2 : 1;
      plan.sequence_parallel = sequence_parallel;
      plans.push_back(plan);
    }
  }
  plans.push_back(plan_of({.tp = 1, .stages = 1, .dp = 4}));
  plans.back().data_parallel = DataParallel::kFullySharded;
  plans.push_back(plan_of({.tp = 2, .stages = 1, .dp = 4, .ep = 1, .gpus_per_node = 4}));
  plans.back().data_parallel = DataParallel::kAllReduce;
  for (const TrainingPlan& plan : plans)
    EXPECT_GT(schedule_of_made(made_of(plan)).num_messages, 0U);
}

// 32 layers on 5 stages: 7, 7, 6, 6 and 6.
TEST(TrainingJob, TheFirstOfUnequalStagesHaveALayerMore) {
  const MadeJob made = made_of(plan_of({.tp = 2, .stages = 5}));
  EXPECT_GT(schedule_of_made(made).num_messages, 0U);
  const auto reduced = [&](std::uint32_t stage) {
    return traffic_of(made.job, 2 * stage).at("tensor AllReduce").count;
  };
  EXPECT_EQ(reduced(1) * 6, reduced(2) * 7);
  EXPECT_EQ(reduced(3), reduced(2));
}

TEST(TrainingJob, TensorsAreReducedTwiceALayerInEitherPass) {
  TrainingPlan plan = plan_of({.tp = 2});
  const auto traffic = traffic_of(made_of(plan).job, 0);
  ASSERT_EQ(traffic.size(), 1U);
  // And the embedding, the loss's three, and the head's gradient.
  const Traffic& reduced = traffic.at("tensor AllReduce");
  EXPECT_EQ(reduced.count, 4U * (32 * 4 + 1 + 3 + 1));
  const std::uint64_t activation = 1024 * 4096 * 2;
  EXPECT_EQ(reduced.bytes, 4U * ((32 * 4 + 2) * activation + 3 * 1024 * 4));
}

TEST(TrainingJob, SequencesAreGatheredAndScattered) {
  TrainingPlan plan = plan_of({.tp = 2});
  plan.sequence_parallel = true;
  const auto traffic = traffic_of(made_of(plan).job, 0);
  // Of a layer: two blocks, gathered forward and twice backward, scattered once in either pass.
  EXPECT_EQ(traffic.at("tensor AllGather").count, 4U * (32 * 2 * 3 + 1 + 1 + 1));
  EXPECT_EQ(traffic.at("tensor ReduceScatter").count, 4U * (32 * 2 * 2 + 1 + 1));
  EXPECT_EQ(traffic.at("tensor AllGather").bytes,
            traffic.at("tensor AllGather").count * 1024 * 4096 * 2 / 2);
}

TEST(TrainingJob, RecomputedLayersCommunicateOnceMore) {
  TrainingPlan plan = plan_of({.tp = 2});
  plan.recompute = Recompute::kLayers;
  EXPECT_EQ(traffic_of(made_of(plan).job, 0).at("tensor AllReduce").count,
            4U * (32 * 6 + 1 + 3 + 1));
}

TEST(TrainingJob, GradientsOfAllParametersAreSynchronisedOnce) {
  const std::uint64_t parameters = 8'030'261'248;  // of llama-3.1-8b
  for (const DataParallel how : {DataParallel::kAllReduce, DataParallel::kDistributedOptimizer}) {
    TrainingPlan plan = plan_of({.tp = 1, .stages = 1, .dp = 4});
    plan.data_parallel = how;
    const auto traffic = traffic_of(made_of(plan).job, 3);
    const bool reduces = how == DataParallel::kAllReduce;
    const Traffic& gradients = traffic.at(reduces ? "data AllReduce" : "data ReduceScatter");
    EXPECT_EQ(gradients.bytes, parameters * 4 / (reduces ? 1 : 4));
    EXPECT_EQ(gradients.count, 32U + 2);  // a layer has more parameters than a bucket needs
    EXPECT_EQ(traffic.contains("data AllGather"), !reduces);
    if (!reduces) {
      EXPECT_EQ(traffic.at("data AllGather").count, 32U + 2);
      EXPECT_EQ(traffic.at("data AllGather").bytes, parameters * 2 / 4);
    }
  }
}

TEST(TrainingJob, ShardedLayersAreGatheredForEachPass) {
  TrainingPlan plan = plan_of({.tp = 1, .stages = 1, .dp = 4});
  plan.data_parallel = DataParallel::kFullySharded;
  const auto traffic = traffic_of(made_of(plan).job, 1);
  EXPECT_EQ(traffic.at("data AllGather").count, 1 + 4U * 2 * 32);
  EXPECT_EQ(traffic.at("data ReduceScatter").count, 1 + 4U * 32);
}

TEST(TrainingJob, StagesSendEveryMicroBatchBothWays) {
  TrainingPlan plan = plan_of({.tp = 1, .stages = 4});
  const model::Job job = made_of(plan).job;
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const auto traffic = traffic_of(job, stage);
    const auto count = [&](const char* what) {
      const auto found = traffic.find(what);
      return found == traffic.end() ? 0 : found->second.count;
    };
    EXPECT_EQ(count("forward Send"), stage < 3 ? 4U : 0U);
    EXPECT_EQ(count("forward Recv"), stage > 0 ? 4U : 0U);
    EXPECT_EQ(count("backward Send"), stage > 0 ? 4U : 0U);
    EXPECT_EQ(count("backward Recv"), stage < 3 ? 4U : 0U);
  }
}

TEST(TrainingJob, IsOneBlockOfReplicasThatTheOthersRepeat) {
  TrainingPlan plan = plan_of({.tp = 8, .stages = 8, .dp = 160});
  plan.micro_batches = 32;
  const serving::Model model = serving::read_model("llama-3.1-70b").value();
  const MadeJob made = made_of(plan, model);
  EXPECT_EQ(made.repeats, 160U);
  ASSERT_EQ(made.job.gpus.size(), 64U);
  std::set<std::string> nodes;
  for (const model::JobGpu& gpu : made.job.gpus)
    nodes.insert(gpu.node);
  EXPECT_EQ(nodes.size(), 8U);
  const auto spans = [](const model::Communicator& communicator) {
    return communicator.spans_replicas();
  };
  const auto& communicators = made.job.communicators;
  EXPECT_EQ(std::count_if(communicators.begin(), communicators.end(), spans), 64);
  // Gradients of the stage with most parameters, of 4 bytes, over 8 shards and 160 replicas. Each
  // block has all of them, of which scale() leaves a 160th part.
  const auto traffic = traffic_of(made.job, 0);
  EXPECT_NEAR(
      static_cast<double>(traffic.at("data ReduceScatter").bytes),
      (70.553e9 - 8192 * 128256.0) * 4 / 64 + 8192 * 128256.0 * 4 / 8 - 8192 * 128256.0 * 4 / 64,
      3e7);
}

TEST(TrainingJob, BlocksFillNodesAndGroupsOfExperts) {
  EXPECT_EQ((JobGrid{.tp = 8, .stages = 8, .dp = 160}).block_dp(), 1U);
  EXPECT_EQ((JobGrid{.tp = 2, .stages = 1, .dp = 64}).block_dp(), 4U);
  EXPECT_EQ((JobGrid{.tp = 1, .stages = 4, .dp = 64, .ep = 16}).block_dp(), 16U);
  EXPECT_EQ((JobGrid{.tp = 2, .stages = 2, .dp = 2}).block_dp(), 2U);
  EXPECT_EQ((JobGrid{.tp = 3, .stages = 1, .dp = 5}).block_dp(), 5U);
}

TEST(TrainingJob, ExpertsExchangeTheirTokensWithinTheirGroup) {
  const serving::Model model = serving::read_model("qwen3-30b-a3b").value();
  TrainingPlan plan = plan_of({.tp = 1, .stages = 1, .dp = 8, .ep = 4, .gpus_per_node = 4});
  const MadeJob made = made_of(plan, model);
  EXPECT_EQ(made.job.gpus.size(), 4U);
  EXPECT_EQ(made.repeats, 2U);
  const auto traffic = traffic_of(made.job, 2);
  // To three others, there and back, forward and backward, of 48 layers and 4 micro-batches; 8
  // experts for each of 1024 tokens, a quarter of which are on each GPU.
  EXPECT_EQ(traffic.at("expert Send").count, 3U * 2 * 2 * 48 * 4);
  EXPECT_EQ(traffic.at("expert Send").bytes,
            traffic.at("expert Send").count * 1024 * 8 / 4 * 2048 * 2);
  EXPECT_EQ(traffic.at("expert Recv").count, traffic.at("expert Send").count);
  const std::uint64_t experts = 48ULL * 128 / 4 * 3 * 2048 * 768;
  EXPECT_EQ(traffic.at("expert data ReduceScatter").bytes, experts * 4 / 2 * 2);
  EXPECT_GT(schedule_of_made(made).num_messages, 0U);
}

TEST(TrainingJob, WhatCannotBeIsRefused) {
  EXPECT_EQ(refusal(plan_of({.tp = 1, .stages = 33})),
            "the 32 layers of llama-3.1-8b are too few for 33 stages");
  EXPECT_EQ(refusal(plan_of({.tp = 1, .stages = 1, .dp = 4, .ep = 2})),
            "llama-3.1-8b has no experts to spread over 2 GPUs");
  EXPECT_EQ(refusal(plan_of({.tp = 5})), "32 heads cannot be shared by 5 GPUs");
  EXPECT_EQ(
      refusal(plan_of({.tp = 1, .stages = 1, .dp = 16'777'215})),
      "16777215 GPUs do not repeat a smaller block: choose replicas of which whole nodes hold "
      "a divisor");
  TrainingPlan endless = plan_of({.tp = 8});
  endless.micro_batches = 16'777'216;
  EXPECT_EQ(refusal(endless),
            "4.29e+09 passes of layers in a block of replicas are more than fit: fewer "
            "micro-batches, or a number of replicas that whole nodes divide");
  TrainingPlan sharded = plan_of({.tp = 1, .stages = 2, .dp = 4});
  sharded.data_parallel = DataParallel::kFullySharded;
  EXPECT_EQ(refusal(sharded), "fully sharded layers have one pipeline stage");
}

// With one stage and one GPU a step is its computation: three products for each of the forward
// pass, and attention 1 + 3.3 times.
TEST(TrainingJob, ComputesWhatItsProductsSay) {
  const MadeJob made = made_of(plan_of({.tp = 1}));
  ASSERT_EQ(made.job.gpus.size(), 1U);
  std::uint64_t compute_ns = 0;
  for (const model::Operation& operation : made.job.gpus[0].operations)
    compute_ns += operation.compute_ns;
  const double flops = 2 * 1024 * (8'030'261'248.0 - 4096 * 128256.0 - 65 * 4096);
  EXPECT_NEAR(static_cast<double>(compute_ns), 4 * (3 * flops / 1e9 + 32 * 4300), 5);
}

// A copy takes 1 ns for each byte that it reads or writes, all else nothing.
class CopyTimes final : public OperatorTimes {
 public:
  core::Result<LaunchTime> time(const serving::OperatorUse& use,
                                const LaunchAmounts& amounts) override {
    LaunchTime time{.source = "test"};
    if (use.op != "copy") return time;
    const auto columns =
        static_cast<double>(std::get<std::int64_t>(*serving::find_key(use, "columns")));
    time.ns = 4 * amounts.tokens * columns;
    return time;
  }
};

double copied_bytes(const TrainingPlan& plan) {
  CopyTimes times;
  const auto made = make_training_job(llama(), plan, times);
  EXPECT_TRUE(made.ok()) << made.error().message;
  double compute_ns = 0;
  for (const model::Operation& operation : made.value().job.gpus[0].operations)
    compute_ns += static_cast<double>(operation.compute_ns);
  return compute_ns;
}

// Of all steps: rotary positions of 32 + 8 heads, read and written in either pass, 6 bytes of each
// logit in either pass, and the embedding's gradient, filled with zeros.
constexpr double kLogits = 1024 * 128256.0;
constexpr double kEmbedding = 4096 * 128256.0;
constexpr double kCopiedOfMicroBatch =
    32 * 2 * 4 * 1024 * (32 + 8) * 128.0 + 2 * 6 * kLogits + 2 * kEmbedding;
constexpr double kParameters = 8'030'261'248;

TEST(TrainingJob, CopiesRotaryPositionsLogitsAndTheOptimizersBytes) {
  EXPECT_NEAR(copied_bytes(plan_of({.tp = 1})), 4 * kCopiedOfMicroBatch + 30 * kParameters, 100);
}

// Of each gather, 10 bytes for a parameter of the shard and 4 for each of the whole; of each
// scatter, 6, which take 2.2 times as long; the optimizer's 28 take 1.3 times as long. Collectives
// beside it make it longer by less than a thousandth.
TEST(TrainingJob, ShardedLayersAreCopiedIntoAndOutOfTheBuffersOfCollectives) {
  TrainingPlan plan = plan_of({.tp = 1, .stages = 1, .dp = 4});
  plan.data_parallel = DataParallel::kFullySharded;
  const double ends = 2 * kEmbedding + 4096;
  const double layers = kParameters - ends;
  const double gathered = ends + 4 * 2 * layers;
  const double scattered = ends + 4 * layers;
  const double closed = 4 * kCopiedOfMicroBatch + (10.0 / 4 + 4) * gathered + 2.2 * 6 * scattered +
                        1.3 * 28 * kParameters / 4;
  const double bytes = copied_bytes(plan);
  EXPECT_GT(bytes, closed);
  EXPECT_LT(bytes, 1.001 * closed);
}

TEST(ServingJob, ReducesBehindEachBlock) {
  SimpleTimes times;
  const ServingStep step{.tp = 4, .requests = 8};
  const auto made = make_serving_job(llama(), step, times);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto traffic = traffic_of(made.value().job, 3);
  EXPECT_EQ(traffic.at("tensor AllReduce").count, 2U * 32 + 1);
  EXPECT_EQ(traffic.at("tensor AllReduce").bytes, (2U * 32 + 1) * 8 * 4096 * 2);
  EXPECT_GT(schedule_of_made(made.value()).num_messages, 0U);
}

// The kernel moves as many bytes as 32 heads, 8 of keys and 8 of values of 8 tokens, read and
// written. The feed-forward layer's own activation is beside it: 6 bytes for each element that
// either writes.
TEST(ServingJob, WritesKeysAndValuesInEachLayer) {
  class ActivationTimes final : public OperatorTimes {
   public:
    core::Result<LaunchTime> time(const serving::OperatorUse& use,
                                  const LaunchAmounts& amounts) override {
      LaunchTime time{.source = "test"};
      if (use.op == "silu_mul")
        time.ns = 6 * amounts.tokens *
                  static_cast<double>(std::get<std::int64_t>(*serving::find_key(use, "columns")));
      return time;
    }
  };

  ActivationTimes times;
  const auto made = make_serving_job(llama(), {.tp = 1, .requests = 8}, times);
  ASSERT_TRUE(made.ok()) << made.error().message;
  double compute_ns = 0;
  for (const model::Operation& operation : made.value().job.gpus[0].operations)
    compute_ns += static_cast<double>(operation.compute_ns);
  EXPECT_NEAR(compute_ns, 32 * 8 * (4 * (32 + 2 * 8) * 128.0 + 6 * 14336.0), 32 * 8 * 6.0);
}

// Attention takes 1 ns for each pair of a new token and one before it, all else nothing.
class PairTimes final : public OperatorTimes {
 public:
  core::Result<LaunchTime> time(const serving::OperatorUse& use,
                                const LaunchAmounts& amounts) override {
    LaunchTime time{.source = "test"};
    if (use.chunk == 0) return time;
    const double keys = amounts.cached_tokens + amounts.new_tokens / 2;
    time.ns = amounts.requests * amounts.new_tokens * keys;
    time.flops = time.ns;
    return time;
  }
};

double compute_ns_of(const model::Job& job) {
  double sum = 0;
  for (const model::Operation& operation : job.gpus[0].operations)
    sum += static_cast<double>(operation.compute_ns);
  return sum;
}

// 36 of 48 layers attend to chunks of 8192 tokens.
TEST(ServingJob, AttendsToChunks) {
  PairTimes times;
  const serving::Model model = serving::read_model("llama-4-scout").value();
  const auto compute_ns = [&](const ServingStep& step) {
    const auto made = make_serving_job(model, step, times);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return compute_ns_of(made.value().job);
  };
  const ServingStep prompt{
      .tp = 8, .phase = serving::Phase::kContext, .requests = 1, .new_tokens = 32000};
  EXPECT_NEAR(compute_ns(prompt), 36 * (3 * 8192.0 * 4096 + 7424.0 * 3712), 1);
  const ServingStep decode{.tp = 8, .requests = 16, .cached_tokens = 32000};
  EXPECT_NEAR(compute_ns(decode), 36 * 16 * 7424.5, 1);
}

TEST(TrainingJob, AttendsToChunksInEitherPass) {
  PairTimes times;
  TrainingPlan plan = plan_of({.tp = 1});
  plan.micro_batches = 1;
  plan.sequence = 32000;
  const auto made = make_training_job(serving::read_model("llama-4-scout").value(), plan, times);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_NEAR(compute_ns_of(made.value().job), 36 * (1 + 3.3) * (3 * 8192.0 * 4096 + 7424.0 * 3712),
              1);
}

// A sum is a number of 32 bits, of queries and of keys: 8 bytes a token, in each of 62 layers.
TEST(ServingJob, SumsOfSquaresAreTwoNumbersOfEachToken) {
  SimpleTimes times;
  const ServingStep step{.tp = 4, .requests = 8};
  const auto made = make_serving_job(serving::read_model("minimax-m2").value(), step, times);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto traffic = traffic_of(made.value().job, 3);
  EXPECT_EQ(traffic.at("tensor AllReduce").count, 3U * 62 + 1);
  EXPECT_EQ(traffic.at("tensor AllReduce").bytes, (2U * 62 + 1) * 8 * 3072 * 2 + 62U * 8 * 8);
}

// The gradients of sums are summed as they are; layers that are computed again sum once more.
TEST(TrainingJob, SumsOfSquaresAreReducedInEitherPass) {
  const serving::Model model = serving::read_model("minimax-m2").value();
  const auto reduced = [&](Recompute recompute) {
    TrainingPlan plan = plan_of({.tp = 2});
    plan.sequence_parallel = true;
    plan.recompute = recompute;
    const auto traffic = traffic_of(made_of(plan, model).job, 0);
    return traffic.at("tensor AllReduce");
  };
  const Traffic kept = reduced(Recompute::kNone);
  EXPECT_EQ(kept.count, 4U * (62 * 2 + 3));
  EXPECT_EQ(kept.bytes, 4U * (62 * 2 * 1024 * 8 + 3 * 1024 * 4));
  EXPECT_EQ(reduced(Recompute::kLayers).count, 4U * (62 * 3 + 3));
}

TEST(ServingJob, GroupsSendTokensToTheirExperts) {
  SimpleTimes times;
  const serving::Model model = serving::read_model("qwen3-30b-a3b").value();
  const ServingStep step{.tp = 1, .groups = 4, .ep = 4, .requests = 8};
  const auto made = make_serving_job(model, step, times);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto traffic = traffic_of(made.value().job, 3);
  EXPECT_EQ(traffic.at("serving AllGather").count, 48U);
  EXPECT_EQ(traffic.at("serving AllGather").bytes, 48U * 8 * 2048 * 2);
  EXPECT_EQ(traffic.at("serving ReduceScatter").count, 48U);
  EXPECT_GT(schedule_of_made(made.value()).num_messages, 0U);
}

}  // namespace
}  // namespace assay::goal
