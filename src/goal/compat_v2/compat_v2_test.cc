#include "goal/compat_v2/compat_v2.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "goal/compat_v2/script_for_test.h"
#include "model/goal_text.h"

namespace assay::goal {
namespace {

using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;
using model::Operation;
using testing::HasSubstr;

class Collect final : public model::RankSink {
 public:
  core::Status append(const model::RankImage& rank) override {
    ranks.push_back(rank);
    return {};
  }

  std::vector<model::RankImage> ranks;
};

// The measurements with which the expected texts were made: lines between powers of two.
Costs costs() {
  const auto curve = [](double base, double step) {
    std::vector<CostCurve::Point> points;
    for (int i = 0; i < 19; ++i)
      points.push_back({static_cast<double>(4 << i), base + step * i});
    return CostCurve(std::move(points));
  };
  Costs costs;
  costs.curves[2] = {curve(1000, 11), curve(2000, 37), curve(0, 0)};
  costs.curves[0] = {curve(100, 11), curve(200, 37), curve(0, 0)};
  costs.curves[1] = costs.curves[0];
  return costs;
}

std::string text_of(const std::vector<model::RankImage>& ranks) {
  std::string text;
  const auto all = [&](model::RankSink& sink) -> core::Status {
    for (const model::RankImage& rank : ranks)
      ASSAY_TRY(sink.append(rank));
    return {};
  };
  const core::Status status = model::write_goal_text(static_cast<std::uint32_t>(ranks.size()), all,
                                                     [&](std::string_view piece) -> core::Status {
                                                       text += piece;
                                                       return {};
                                                     });
  EXPECT_TRUE(status.ok());
  return text;
}

core::Result<Generated> make_with_warnings(const model::Job& job,
                                           model::RankSink& sink,
                                           const CompatOptions& options = {}) {
  const Costs measured = costs();
  return make_ranks(ASSAY_TRY(plan_compat_v2(job, measured, options)), sink);
}

core::Result<std::vector<model::RankImage>> generate(const model::Job& job,
                                                     const CompatOptions& options = {}) {
  Collect collect;
  const Costs measured = costs();
  const auto made = make_ranks(ASSAY_TRY(plan_compat_v2(job, measured, options)), collect);
  if (!made.ok()) return made.error();
  return std::move(collect.ranks);
}

// `expected` is the text that the public generator's rules make of the same calls.
void expect_graph(const model::Job& job, std::string expected, const CompatOptions& options = {}) {
  const auto made = generate(job, options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  auto text = model::GoalText::from_text(std::move(expected), "expected");
  ASSERT_TRUE(text.ok()) << text.error().message;
  Collect collect;
  const core::Status read = text.value().read(collect);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(text_of(made.value()), text_of(collect.ranks));
  ASSERT_EQ(made.value().size(), collect.ranks.size());
  for (std::size_t rank = 0; rank < collect.ranks.size(); ++rank) {
    EXPECT_TRUE(made.value()[rank].bytes == collect.ranks[rank].bytes) << "rank " << rank;
  }
}

std::string golden(const std::string& name) {
  const auto text =
      core::read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/goal/compat_v2/" + name);
  EXPECT_TRUE(text.ok());
  return text.ok() ? text.value() : std::string();
}

TEST(CompatV2, AgreesOnRingsAndExchangesBetweenNodes) {
  Script script({"a", "b"}, {{0, 1}});
  Operation gather =
      collective(NcclFunction::kAllGather, NcclAlgorithm::kRing, NcclProtocol::kSimple);
  gather.in_place = true;
  script.launch(9074).grouped().all(gather, {part(3000, 16384, 3000)});
  script.launch(9073).grouped().all(
      collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kSimple),
      {part(5001, 4096, 2501)});
  script.launch(9025).alone().all(
      collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kLl),
      {part(333, 4096, 167)});
  script.launch(9075).grouped().all(
      collective(NcclFunction::kReduceScatter, NcclAlgorithm::kRing, NcclProtocol::kSimple),
      {part(2000, 12345, 2000)});
  Operation broadcast =
      collective(NcclFunction::kBroadcast, NcclAlgorithm::kRing, NcclProtocol::kLl128);
  broadcast.root = 1;
  script.launch(9023).alone().all(broadcast, {part(100, 16384, 100)});
  script.launch(7777).alone();
  script.send(0, 1, NcclProtocol::kSimple, transfer({4500, 4501}));
  script.receive(1, 0, NcclProtocol::kSimple, transfer({4500, 4501}));
  script.launch(7777).grouped();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    script.send(rank, 1 - rank, NcclProtocol::kSimple, transfer({5000}));
    script.receive(rank, 1 - rank, NcclProtocol::kSimple, transfer({5000}));
  }
  script.launch(9074).grouped().all(
      collective(NcclFunction::kAllReduce, NcclAlgorithm::kTree, NcclProtocol::kSimple),
      {part(3000, 16384, 1500)});
  expect_graph(script.job(), golden("two_nodes.goal"));
}

TEST(CompatV2, AgreesOnTreesAndGroupsWithinANode) {
  Script script({"a", "a", "a"}, {{0, 2, 1}, {0, 1, 2}});
  script.launch(9074).grouped().all(
      collective(NcclFunction::kAllReduce, NcclAlgorithm::kTree, NcclProtocol::kLl),
      {part(1500, 16384, 500), part(1500, 16384, 500)});
  script.launch(9073).alone().all(
      collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing, NcclProtocol::kSimple),
      {part(2500, 4096, 834), part(2501, 4096, 834)});
  script.launch(7777).grouped();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    for (std::size_t peer = 0; peer < 3; ++peer) {
      if (peer == rank) continue;
      script.send(rank, peer, NcclProtocol::kLl, transfer({2500, 2501}));
      script.receive(rank, peer, NcclProtocol::kLl, transfer({2500, 2501}));
    }
  }
  Operation broadcast =
      collective(NcclFunction::kBroadcast, NcclAlgorithm::kRing, NcclProtocol::kSimple);
  broadcast.root = 2;
  script.launch(9074).grouped().all(broadcast, {part(1500, 16384, 1500), part(1500, 16384, 1500)});
  script.launch(9007).alone().all(
      collective(NcclFunction::kAllReduce, NcclAlgorithm::kTree, NcclProtocol::kSimple),
      {part(350, 16384, 117), part(350, 16384, 117)});
  expect_graph(script.job(), golden("one_node.goal"));
}

// Rank 0 sends twice and rank 1 receives twice, each on both of its streams in turn.
Script two_streams() {
  Script script({"a", "b"}, {{0, 1}});
  script.launch(1000).alone();
  script.send(0, 1, NcclProtocol::kSimple, transfer({600}));
  script.receive(1, 0, NcclProtocol::kSimple, transfer({600}));
  script.launch(1000).alone();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Operation same = script.job().gpus[rank].operations[0];
    same.stream = kCollectives;
    script.one(rank, same, transfer({600}));
  }
  return script;
}

TEST(CompatV2, GivesStreamsTheirOwnChainsAndCpus) {
  const auto made = generate(two_streams().job());
  ASSERT_TRUE(made.ok());
  const std::string text = text_of(made.value());
  EXPECT_THAT(text, HasSubstr("cpu 0"));
  EXPECT_THAT(text, HasSubstr("cpu 1"));
  EXPECT_THAT(text, testing::Not(HasSubstr("requires")));
}

TEST(CompatV2, MergesDisjointStreamsIntoOneChain) {
  const auto made = generate(two_streams().job(), {.streams = Streams::kMergedWhenDisjoint});
  ASSERT_TRUE(made.ok());
  const std::string text = text_of(made.value());
  EXPECT_THAT(text, HasSubstr("l1: calc 5000 cpu 0"));
  EXPECT_THAT(text, HasSubstr("l1 requires l0"));
  EXPECT_THAT(text, HasSubstr("l2 requires l1"));
  EXPECT_THAT(text, testing::Not(HasSubstr("cpu 1")));
}

TEST(CompatV2, LeavesAllStreamsApartWhenThoseOfOneGpuOverlap) {
  Script script = two_streams();
  script.job().gpus[1].operations[0].end_ns += 5500;
  EXPECT_EQ(text_of(generate(script.job(), {.streams = Streams::kMergedWhenDisjoint}).value()),
            text_of(generate(script.job()).value()));
}

TEST(CompatV2, CountsNegativeGapsAsNone) {
  Script script = two_streams();
  for (model::JobGpu& gpu : script.job().gpus) {
    gpu.operations[1].stream = kExchanges;
    gpu.operations[0].end_ns += 5500;
  }
  Collect collect;
  const auto made = make_with_warnings(script.job(), collect);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(made.value().warnings.all().size(), 1U);
  EXPECT_EQ(made.value().warnings.all()[0].count, 2);
  EXPECT_THAT(text_of(collect.ranks), HasSubstr("calc 0 cpu 0"));
}

TEST(CompatV2, NamesThePairThatATagCannotNumber) {
  Script script({"a", "b"}, {{0, 1}});
  for (int i = 0; i < 200; ++i) {
    script.launch(1000).alone();
    script.send(0, 1, NcclProtocol::kSimple, transfer({64 * 4096}));
    script.receive(1, 0, NcclProtocol::kSimple, transfer({64 * 4096}));
  }
  const auto made = generate(script.job());
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("rank 0 (process 5000 of a) sends 12800 messages to "
                                              "rank 1"));
  EXPECT_THAT(made.error().message, HasSubstr("leave out --compat"));
}

TEST(CompatV2, TellsWidthsThatWouldDo) {
  const auto made = generate(two_streams().job(), {.number_digits = 1, .name_digits = 2});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("--tag-layout decimal:1/5 would do"));
  EXPECT_FALSE(generate(two_streams().job(), {.number_digits = 5, .name_digits = 5}).ok());
}

TEST(CompatV2, NumbersUpToTheLastTag) {
  Script script({"a", "b"}, {{0, 1}});
  script.launch(1000).alone();
  script.send(0, 1, NcclProtocol::kSimple, transfer({10000 * 4096}));
  script.receive(1, 0, NcclProtocol::kSimple, transfer({10000 * 4096}));
  const auto made = generate(script.job());
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(text_of(made.value()), HasSubstr(" tag 9999"));
}

TEST(CompatV2, RefusesWhatThePublicGeneratorCannotLower) {
  Script script({"a", "b"}, {{0, 1}});
  script.launch(1000).alone().all(
      collective(NcclFunction::kAllReduce, NcclAlgorithm::kNvls, NcclProtocol::kSimple),
      {part(1000, 1000)});
  const auto made = generate(script.job());
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("AllReduce with algorithm NVLS"));
}

// A send that assay recorded has no protocol and no parts; NCCL's are those of the marks.
TEST(CompatV2, SendsWithoutAProtocolHaveNccls) {
  const auto sent = [](NcclProtocol protocol, const std::vector<model::ChannelPart>& parts) {
    Script script({"a", "b"}, {{0, 1}});
    script.launch(1000).alone();
    script.send(0, 1, protocol, parts);
    script.receive(1, 0, protocol, parts);
    model::Job job = script.job();
    for (model::JobGpu& gpu : job.gpus) {
      for (Operation& operation : gpu.operations)
        operation.bytes = 4096;
    }
    return text_of(generate(job).value());
  };
  EXPECT_EQ(sent(NcclProtocol::kNone, {}), sent(NcclProtocol::kSimple, transfer({4096})));
}

TEST(CompatV2, LeavesOutCollectivesWithoutAPlan) {
  Script script = two_streams();
  script.launch(1000).alone().all(
      collective(NcclFunction::kAllReduce, NcclAlgorithm::kNone, NcclProtocol::kNone), {});
  Collect collect;
  const auto made = make_with_warnings(script.job(), collect);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value().warnings.all()[0].count, 2);
}

TEST(CompatV2, RefusesMoreCpusThanAScheduleHas) {
  Script script({"a", "b"}, {{0, 1}});
  script.launch(1000).grouped();
  for (int i = 0; i < 256; ++i) {
    script.send(0, 1, NcclProtocol::kSimple, transfer({100}));
    script.receive(1, 0, NcclProtocol::kSimple, transfer({100}));
  }
  const auto made = generate(script.job());
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("needs 256 cpus"));
}

TEST(CompatV2, IsTheSameWithAnyNumberOfThreads) {
  const model::Job job = two_streams().job();
  EXPECT_EQ(text_of(generate(job, {.threads = 1}).value()),
            text_of(generate(job, {.threads = 3}).value()));
}

}  // namespace
}  // namespace assay::goal
