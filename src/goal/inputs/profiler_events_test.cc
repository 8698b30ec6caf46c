#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "goal/input.h"
#include "report/test_support.h"

namespace assay::goal {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEvents =
    R"({"ev":"init","comm":"0xbb","nnodes":1,"nranks":2,"rank":0,"pid":97,"t":1}
{"ev":256,"id":1,"parent":0,"comm":"0xbb","rank":0,"t0":100,"t1":150}
{"ev":512,"id":2,"parent":1,"comm":"0xbb","rank":0,"t0":101,"t1":102,"func":"AllGather","count":256,"dt":"ncclFloat32","root":0,"stream":"0x7"}
{"ev":2,"id":3,"parent":2,"comm":"0xbb","rank":0,"t0":110,"t1":120,"seq":0,"func":"AllGather","count":1024,"dt":"ncclInt8","root":0,"nch":2,"nwarps":3,"algo":"RING","proto":"LL","sb":"0x1000","rb":"0x1000","pg":1}
{"ev":64,"id":4,"parent":3,"comm":"0xbb","rank":0,"t0":200,"t1":300,"p0":205,"p1":280,"ch":0}
{"ev":64,"id":5,"parent":3,"comm":"0xbb","rank":0,"t0":200,"t1":300,"p0":203,"p1":270,"ch":1}
{"ev":256,"id":6,"parent":0,"comm":"0xbb","rank":0,"t0":400,"t1":450}
{"ev":1024,"id":7,"parent":6,"comm":"0xbb","rank":0,"t0":401,"t1":402,"func":"Send","count":256,"dt":"ncclFloat32","stream":"0x7"}
{"ev":4,"id":8,"parent":7,"comm":"0xbb","rank":0,"t0":410,"t1":420,"func":"Send","count":256,"dt":"ncclFloat32","peer":0,"nch":1}
{"ev":64,"id":9,"parent":8,"comm":"0xbb","rank":0,"t0":500,"t1":600,"p0":505,"p1":580,"ch":0}
{"ev":256,"id":10,"par)";

TEST(ProfilerEvents, OperationsEndAtTheFirstSendToOneself) {
  const report::TemporaryFolder folder;
  std::ofstream(folder.path() / "prof_97.jsonl") << kEvents;
  const model::Job job = read_job(folder.path(), {}).value();
  ASSERT_EQ(job.gpus.size(), 1U);
  ASSERT_EQ(job.gpus[0].operations.size(), 1U);
  const model::Operation& operation = job.gpus[0].operations[0];
  EXPECT_EQ(operation.function, model::NcclFunction::kAllGather);
  EXPECT_EQ(operation.algorithm, model::NcclAlgorithm::kRing);
  EXPECT_EQ(operation.bytes, 1024U);
  EXPECT_TRUE(operation.in_place);
  EXPECT_EQ(operation.num_channels, 2U);
  EXPECT_EQ(operation.start_ns, 203);
  EXPECT_EQ(operation.end_ns, 280);
  EXPECT_EQ(job.gpus[0].streams[operation.stream], "0x7");
  std::int64_t dropped = 0;
  std::int64_t unreadable = 0;
  for (const model::Warning& warning : job.warnings.all()) {
    if (warning.reason.find("trustworthy") != std::string::npos) dropped = warning.count;
    if (warning.reason.find("no event") != std::string::npos) unreadable = warning.count;
  }
  EXPECT_EQ(dropped, 1);
  EXPECT_EQ(unreadable, 1);
}

// Two recordings of 4 H200: one node with NVLink, where each GPU has this many operations, and two
// emulated nodes.
void expect_h200_recording(const fs::path& archive, const char* packer, std::size_t operations) {
  SCOPED_TRACE(archive);
  const report::TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  const std::string command =
      std::string("tar ") + packer + " -xf '" + archive.string() + "' -C '" + folder.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);

  const model::Job one_node = read_job(folder / "p1", {}).value();
  ASSERT_EQ(one_node.gpus.size(), 4U);
  EXPECT_EQ(one_node.nccl_version, "2.28.9");
  EXPECT_EQ(one_node.communicators.at(0).channels.size(), 24U);
  EXPECT_EQ(one_node.communicators[0].channels[0][0].ring_next, 1);
  for (const model::JobGpu& gpu : one_node.gpus)
    EXPECT_EQ(gpu.operations.size(), operations);

  const model::Job two_nodes = read_job(folder / "p2", {}).value();
  ASSERT_EQ(two_nodes.gpus.size(), 4U);
  EXPECT_EQ(two_nodes.gpus[1].node, "vm/0");
  EXPECT_EQ(two_nodes.gpus[2].node, "vm/1");
  EXPECT_EQ(two_nodes.gpus[1].clock, two_nodes.gpus[2].clock);
  EXPECT_EQ(two_nodes.communicators.at(0).channels[1][2].tree_down,
            (std::array<std::int32_t, 3>{3, 0, -1}));
  const model::Operation& first = two_nodes.gpus[0].operations.at(0);
  EXPECT_EQ(first.algorithm, model::NcclAlgorithm::kTree);
  EXPECT_EQ(first.bytes, 67108864U);
}

TEST(ProfilerEvents, TheH200RecordingBecomesAJob) {
  const fs::path source = ASSAY_SOURCE_DIR;
  expect_h200_recording(source / "tests/data/nccl_profiler_recording.tar.zst", "--zstd", 12);
  // The whole of it, which is no part of a clone.
  const fs::path whole =
      source / "../shared/samples/goal/h200x4_nccl2.28.9_profiler_kineto_logs.tgz";
  if (fs::exists(whole)) expect_h200_recording(whole, "-z", 276);
}

}  // namespace
}  // namespace assay::goal
