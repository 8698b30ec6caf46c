#include "trace/pipelines/packed_part.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "report/book.h"
#include "trace/collectives/report.h"
#include "trace/collectives/run_test_util.h"
#include "trace/reader/reader.h"

namespace assay::trace {
namespace {

constexpr Keep kAllButIndividual{
    .timelines = true, .overview = true, .communication = true, .works = true};

std::string packed(const RankPart& part) {
  core::Packer packer;
  pack(part, packer);
  return packer.take();
}

RankPart part_of_sample() {
  const std::string path = std::string(ASSAY_SOURCE_DIR) +
                           "/samples/traces-2gpu/ctas_default/torch_profiler/rank1/trace.json.gz";
  const auto trace = read_trace(path);
  return part_of(analyze_rank(trace.value(), {}, 1), kAllButIndividual);
}

TEST(PackedPart, TheReportsOfAPartThatWasSentAreTheSame) {
  const RankPart part = part_of_sample();
  const std::string bytes = packed(part);
  core::Unpacker unpacker(bytes);
  const auto unpacked = unpack_part(unpacker);
  ASSERT_TRUE(unpacked.ok());
  EXPECT_TRUE(unpacker.done());
  const RankPart& other = unpacked.value();
  EXPECT_EQ(packed(other), bytes);
  EXPECT_EQ(report::json(other.timelines), report::json(part.timelines));
  EXPECT_EQ(other.overview, part.overview);
  EXPECT_EQ(report::json(collective_report(std::span(&*other.communication, 1)).book),
            report::json(collective_report(std::span(&*part.communication, 1)).book));
  EXPECT_EQ(other.communication->world_size, 2);
  ASSERT_EQ(other.works->works.size(), part.works->works.size());
  EXPECT_GT(other.works->works.size(), 100U);
  EXPECT_EQ(other.works->works.back().end_ns, part.works->works.back().end_ns);
  EXPECT_EQ(other.facts.warnings.all().size(), part.facts.warnings.all().size());
}

TEST(PackedPart, WhyAFileIsNotWholeIsTold) {
  RankPart part = part_of_sample();
  part.facts.truncated = true;
  part.facts.damage = "cut off after 7 events";
  const std::string bytes = packed(part);
  core::Unpacker unpacker(bytes);
  const auto unpacked = unpack_part(unpacker);
  ASSERT_TRUE(unpacked.ok());
  EXPECT_EQ(unpacked.value().facts.damage, part.facts.damage);
}

// Fuzzing begins with this one, so it must have all that a part can have.
TEST(PackedPart, TheCorpusHasAPart) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/fuzz/corpus/trace/packed_part",
                     std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  core::Unpacker unpacker(bytes);
  const auto part = unpack_part(unpacker);
  ASSERT_TRUE(part.ok());
  EXPECT_TRUE(unpacker.done());
  EXPECT_EQ(part.value().facts.rank, 3);
  EXPECT_EQ(part.value().timelines.tables.size(), 2U);
  EXPECT_EQ(part.value().communication->world_size, 4);
  EXPECT_EQ(part.value().communication->events.size(), 2U);
  EXPECT_EQ(part.value().works->works.size(), 2U);
}

TEST(PackedPart, BytesThatAreCutOffAreAnError) {
  collectives::testing::TestRun run(1);
  run.add(0, {.start_us = 1, .duration_us = 2}).add(0, {.start_us = 4, .duration_us = 2});
  RankPart part = part_of(run.ranks().front(), {.timelines = true, .communication = true});
  part.overview = {std::int64_t{1}, 2.5, "text", true, {}};
  const std::string bytes = packed(part);
  core::Unpacker whole(bytes);
  ASSERT_TRUE(unpack_part(whole).ok());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    core::Unpacker unpacker(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(unpack_part(unpacker).ok()) << size;
  }
}

}  // namespace
}  // namespace assay::trace
