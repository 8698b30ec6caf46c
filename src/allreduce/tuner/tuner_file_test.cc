#include "allreduce/tuner/tuner_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace assay::allreduce {
namespace {

using testing::HasSubstr;

TEST(TunerFile, ReadsRowsOf8To10Fields) {
  const TunerFile file = parse_tuner_file(
      "# a comment, with commas\n"
      "\n"
      "#! gpu NVIDIA H200 NVL\n"
      "#!nccl 2.28\r\n"
      "allreduce,0,1023,ring,ll,4,1,8\n"
      " broadcast , 1024 , 4294967295 , tree , ll128 , -1 , -1 , 4 , 1\r\n"
      "reducescatter,0,18446744073709551615,nvls,simple,16,1,2,-1,1");
  EXPECT_EQ(file.problem, "");
  EXPECT_EQ(file.gpu, "NVIDIA H200 NVL");
  EXPECT_EQ(file.nccl, "2.28");
  ASSERT_EQ(file.rows.size(), 3U);
  EXPECT_EQ(file.rows[0], (TunerRow{4, 0, 1023, kRing, 0, 4, 1, 8, kAny, kAny}));
  EXPECT_EQ(file.rows[1], (TunerRow{0, 1024, 4294967295, kTree, 1, kAny, kAny, 4, 1, kAny}));
  EXPECT_EQ(file.rows[2], (TunerRow{3, 0, 18446744073709551615U, 4, 2, 16, 1, 2, kAny, 1}));
}

TEST(TunerFile, ABadFileHasNoRowAndOneLine) {
  const std::string good = "allreduce,0,1023,ring,ll,4,1,8\n";
  for (const auto& [bad, reason] : {
           std::pair{"allreduce,0,1023,ring,ll,4,1", "8 to 10 fields"},
           {"allreduce,0,1023,ring,ll,4,1,8,1,1,1", "8 to 10 fields"},
           {"alltoall,0,1023,ring,ll,4,1,8", "no collective is called 'alltoall'"},
           {"allreduce,0,1023,rign,ll,4,1,8", "no algorithm is called 'rign'"},
           {"allreduce,0,1023,ring,LL,4,1,8", "no protocol is called 'LL'"},
           {"allreduce,-1,1023,ring,ll,4,1,8", "'-1' is no number"},
           {"allreduce,0,1e6,ring,ll,4,1,8", "'1e6' is no number"},
           {"allreduce,0,,ring,ll,4,1,8", "'' is no number"},
           {"allreduce,2,1,ring,ll,4,1,8", "min_bytes is above max_bytes"},
           {"allreduce,0,1,ring,ll,0,1,8", "0 channels"},
           {"allreduce,0,1,ring,ll,-2,1,8", "'-2' is no number"},
           {"#! gpu", "without a value"},
           {"#! driver 580", "unknown requirement, 'driver'"},
           {"\x1B[31m,0,1,ring,ll,4,1,8", "'?[31m'"},
       }) {
    const TunerFile file = parse_tuner_file(good + bad + "\n" + good);
    EXPECT_THAT(file.problem, HasSubstr(reason));
    EXPECT_THAT(file.problem, HasSubstr("line 2: "));
    EXPECT_TRUE(file.rows.empty()) << bad;
  }
  EXPECT_THAT(parse_tuner_file(std::string(kMostTunerBytes + 1, '\n')).problem,
              HasSubstr("longer than 1 MiB"));
}

TEST(TunerFile, TheFirstRowThatMatchesCounts) {
  const TunerFile file = parse_tuner_file(
      "allreduce,1024,2048,ring,ll,4,1,4,1,1\n"
      "allreduce,0,4096,ring,simple,8,-1,4,-1,-1\n");
  const TunerCall call{.collective = collective_number("allreduce"),
                       .bytes = 1024,
                       .nodes = 1,
                       .ranks = 4,
                       .operations = 1,
                       .registered = 1};
  const auto channels = [&](auto change) {
    TunerCall changed = call;
    change(changed);
    const TunerRow* row = row_for(file.rows, changed);
    return row == nullptr ? 0 : row->channels;
  };
  EXPECT_EQ(channels([](TunerCall&) {}), 4);
  EXPECT_EQ(channels([](TunerCall& c) { c.bytes = 2048; }), 4);
  EXPECT_EQ(channels([](TunerCall& c) { c.bytes = 2049; }), 8);
  EXPECT_EQ(channels([](TunerCall& c) { c.bytes = 1023; }), 8);
  EXPECT_EQ(channels([](TunerCall& c) { c.registered = 0; }), 8);
  EXPECT_EQ(channels([](TunerCall& c) { c.operations = 2; }), 8);
  EXPECT_EQ(channels([](TunerCall& c) { c.nodes = 2; }), 8);
  EXPECT_EQ(channels([](TunerCall& c) { c.ranks = 8; }), 0);
  EXPECT_EQ(channels([](TunerCall& c) { c.bytes = 4097; }), 0);
  EXPECT_EQ(channels([](TunerCall& c) { c.collective = 0; }), 0);
}

}  // namespace
}  // namespace assay::allreduce
