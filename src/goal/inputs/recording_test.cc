#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "goal/input.h"
#include "model/fake_job_test_util.h"

namespace assay::goal {
namespace {

using model::FakeJob;
using model::NcclFunction;
using model::Operation;

model::Job read(const FakeJob& job) {
  auto read = read_job(job.folder(), {});
  EXPECT_TRUE(read.ok()) << read.error().message;
  return std::move(read).value();
}

bool warned(const model::Job& job, const std::string& reason) {
  const auto& all = job.warnings.all();
  return std::any_of(all.begin(), all.end(), [&](const model::Warning& warning) {
    return warning.reason.find(reason) != std::string::npos;
  });
}

const model::Communicator& communicator(const model::Job& job, const std::string& name) {
  const auto found = std::find_if(job.communicators.begin(), job.communicators.end(),
                                  [&](const model::Communicator& c) { return c.name == name; });
  EXPECT_NE(found, job.communicators.end()) << name;
  return *found;
}

std::vector<Operation> of(const model::JobGpu& gpu, NcclFunction function) {
  std::vector<Operation> found;
  std::copy_if(gpu.operations.begin(), gpu.operations.end(), std::back_inserter(found),
               [&](const Operation& operation) { return operation.function == function; });
  return found;
}

TEST(RecordingInput, JoinsTheRanksOfAJob) {
  FakeJob fake;
  for (const char* rank : {"2", "0", "1"})
    ASSERT_EQ(fake.run(std::string(rank) + " 3 4"), 0);
  const model::Job job = read(fake);
  EXPECT_TRUE(job.warnings.empty()) << job.warnings.all().front().reason;
  ASSERT_EQ(job.gpus.size(), 3U);
  ASSERT_EQ(job.communicators.size(), 2U);
  EXPECT_EQ(job.matches.by_correlation, 3U * 16);
  EXPECT_EQ(job.matches.by_order, 0U);
  for (const model::Communicator& communicator : job.communicators) {
    ASSERT_EQ(communicator.gpus.size(), 3U);
    EXPECT_EQ(std::count(communicator.gpus.begin(), communicator.gpus.end(), model::kNoGpu), 0);
  }
  for (const model::JobGpu& gpu : job.gpus) {
    EXPECT_EQ(gpu.operations.size(), 28U);
    EXPECT_EQ(gpu.streams.size(), 2U);
    EXPECT_EQ(gpu.clock, job.gpus[0].clock);
    for (const Operation& operation : gpu.operations) {
      EXPECT_EQ(operation.end_ns - operation.start_ns, 20000);
      EXPECT_GE(operation.start_ns, gpu.window_start_ns);
      EXPECT_LE(operation.end_ns, gpu.window_end_ns);
    }
  }
}

TEST(RecordingInput, OperationsSayWhatNcclSaid) {
  FakeJob fake;
  for (const char* rank : {"0", "1"})
    ASSERT_EQ(fake.run(std::string(rank) + " 2 2"), 0);
  const model::Job job = read(fake);
  const model::JobGpu& gpu = job.gpus.at(communicator(job, "0xabcd").gpus.at(1));

  const auto reduces = of(gpu, NcclFunction::kAllReduce);
  ASSERT_EQ(reduces.size(), 2U);
  EXPECT_EQ(reduces[1].bytes, 4096U);
  EXPECT_EQ(reduces[1].element_bytes, 4U);
  EXPECT_EQ(reduces[1].sequence, 1U);
  EXPECT_EQ(reduces[1].num_channels, 4U);
  EXPECT_EQ(reduces[1].algorithm, model::NcclAlgorithm::kRing);
  EXPECT_EQ(reduces[1].protocol, model::NcclProtocol::kLl);
  EXPECT_TRUE(reduces[1].in_place);
  EXPECT_EQ(gpu.streams.at(reduces[1].stream), "0x1000");

  const auto gathers = of(gpu, NcclFunction::kAllGather);
  ASSERT_EQ(gathers.size(), 6U);
  EXPECT_EQ(gathers[0].bytes, 1024U);
  EXPECT_EQ(gathers[0].element_bytes, 1U);
  EXPECT_TRUE(gathers[0].in_place);
  EXPECT_EQ(gathers[0].group, gathers[2].group);
  EXPECT_NE(gathers[2].group, gathers[3].group);
  EXPECT_EQ(gathers[5].sequence, 5U);

  const auto sends = of(gpu, NcclFunction::kSend);
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(sends[1].peer, 0);
  EXPECT_EQ(sends[1].bytes, 2048U);
  EXPECT_EQ(sends[1].sequence, 1U);
  EXPECT_EQ(sends[1].group, of(gpu, NcclFunction::kRecv)[1].group);

  const auto scatters = of(gpu, NcclFunction::kReduceScatter);
  ASSERT_EQ(scatters.size(), 2U);
  EXPECT_NE(scatters[0].communicator, reduces[0].communicator);
  EXPECT_FALSE(scatters[0].in_place);
  EXPECT_EQ(gpu.streams.at(scatters[0].stream), "0x2000");
}

TEST(RecordingInput, MatchesVersion4ByOrder) {
  FakeJob fake;
  fake.set("ASSAY_FAKE_NCCL", "v4");
  for (const char* rank : {"0", "1"})
    ASSERT_EQ(fake.run(std::string(rank) + " 2 20"), 0);
  const model::Job job = read(fake);
  EXPECT_EQ(job.matches.by_correlation, 0U);
  EXPECT_EQ(job.matches.by_order, 2U * 80);
  for (const Operation& operation : job.gpus.at(0).operations)
    EXPECT_EQ(operation.end_ns - operation.start_ns, 20000);
}

TEST(RecordingInput, TimersOfNcclTellWhenKernelsRan) {
  FakeJob fake;
  fake.set("ASSAY_RECORDER_KERNEL_TIMES", "nccl");
  for (const char* rank : {"0", "1"})
    ASSERT_EQ(fake.run(std::string(rank) + " 2 20"), 0);
  const model::Job job = read(fake);
  EXPECT_TRUE(job.warnings.empty()) << job.warnings.all().front().reason;
  EXPECT_EQ(job.matches.by_correlation, 2U * 80);
  for (const model::JobGpu& gpu : job.gpus) {
    for (const Operation& operation : gpu.operations) {
      EXPECT_GE(operation.end_ns - operation.start_ns, 4800);  // 4.5 us are not timed
      EXPECT_LE(operation.end_ns - operation.start_ns, 4807);
      EXPECT_GE(operation.start_ns, gpu.window_start_ns);
      EXPECT_LE(operation.end_ns, gpu.window_end_ns);
    }
  }
}

TEST(RecordingInput, MatchesPlansThatAThreadReportsLate) {
  FakeJob fake;
  fake.set("ASSAY_FAKE_NCCL", "v4");
  ASSERT_EQ(fake.run("0 1 20 late"), 0);
  EXPECT_EQ(read(fake).matches.by_order, 80U);
}

// Two steps, three runs of a graph with an AllReduce and three AllGathers, another step.
TEST(RecordingInput, GraphsRunWhatTheyCaptured) {
  FakeJob fake;
  for (const char* rank : {"0", "1"})
    ASSERT_EQ(fake.run(std::string(rank) + " 2 2 graph"), 0);
  const model::Job job = read(fake);
  EXPECT_TRUE(job.warnings.empty()) << job.warnings.all().front().reason;
  for (const model::JobGpu& gpu : job.gpus) {
    const auto reduces = of(gpu, NcclFunction::kAllReduce);
    ASSERT_EQ(reduces.size(), 6U);
    const auto gathers = of(gpu, NcclFunction::kAllGather);
    ASSERT_EQ(gathers.size(), 18U);
    EXPECT_EQ(of(gpu, NcclFunction::kSend).size(), 3U);
    for (std::size_t i = 0; i < reduces.size(); ++i) {
      EXPECT_EQ(reduces[i].sequence, i);
      const bool by_graph = i >= 2 && i < 5;
      EXPECT_EQ(reduces[i].end_ns - reduces[i].start_ns, by_graph ? 30000 : 20000);
    }
    EXPECT_EQ(gathers[6].bytes, 1024U);
    EXPECT_EQ(gathers[6].group, gathers[8].group);
    EXPECT_NE(gathers[8].group, gathers[9].group);
  }
}

TEST(RecordingInput, WithoutKernelsCallsStandForThem) {
  FakeJob fake;
  fake.set("ASSAY_RECORDER_CUPTI", "off");
  for (const char* rank : {"0", "1"})
    ASSERT_EQ(fake.run(std::string(rank) + " 2 3"), 0);
  const model::Job job = read(fake);
  EXPECT_TRUE(warned(job, "without a kernel's time"));
  EXPECT_TRUE(warned(job, "no kernel times are recorded, as asked for"));
  ASSERT_EQ(job.gpus.at(0).operations.size(), 21U);
  for (const Operation& operation : job.gpus.at(0).operations)
    EXPECT_GT(operation.start_ns, job.gpus.at(0).window_start_ns);
}

TEST(RecordingInput, MissingProcessIsCounted) {
  FakeJob fake;
  ASSERT_EQ(fake.run("1 2 1"), 0);
  const model::Job job = read(fake);
  EXPECT_TRUE(warned(job, "not among the recordings"));
  EXPECT_EQ(job.communicators.at(0).gpus.size(), 2U);
}

TEST(RecordingInput, SameRankTwiceIsAnError) {
  FakeJob fake;
  for (const char* rank : {"0", "0"})
    ASSERT_EQ(fake.run(std::string(rank) + " 2 1"), 0);
  const auto job = read_job(fake.folder(), {});
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().message.find("both rank"), std::string::npos);
}

TEST(RecordingInput, CutFilesAreReadAsFarAsTheyGo) {
  FakeJob fake;
  ASSERT_EQ(fake.run("0 1 40"), 0);
  const auto path = fake.files().at(0);
  const auto size = std::filesystem::file_size(path);
  for (std::uintmax_t part = size; part > 0; part = part * 3 / 4) {
    std::filesystem::resize_file(path, part);
    const auto job = read_job(fake.folder(), {});
    if (job.ok()) {
      EXPECT_LE(job.value().gpus.at(0).operations.size(), 280U);
    } else {
      EXPECT_NE(job.error().message.find("rec"), std::string::npos);
    }
  }
  std::filesystem::resize_file(path, 0);
  const auto nothing = read_job(fake.folder(), {});
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().message.find("no process of this recording"), std::string::npos);
}

TEST(RecordingInput, CutFilesSaySo) {
  FakeJob fake;
  ASSERT_EQ(fake.run("0 1 200"), 0);
  const auto path = fake.files().at(0);
  const auto size = std::filesystem::file_size(path);
  EXPECT_FALSE(warned(read(fake), "cut off"));
  // Even where a block ends, because the header says how many there were.
  constexpr std::uintmax_t kBlock = model::recording::kBlockBytes;
  ASSERT_GT(size, 3 * kBlock);
  for (const std::uintmax_t part : {size - 1, size - kBlock}) {
    std::filesystem::resize_file(path, part);
    const model::Job job = read(fake);
    EXPECT_TRUE(warned(job, "recordings that were cut off")) << part;
    EXPECT_FALSE(warned(job, "damaged blocks")) << part;
    const auto& all = job.warnings.all();
    const auto cut = std::find_if(all.begin(), all.end(), [](const auto& warning) {
      return warning.reason == "recordings that were cut off";
    });
    EXPECT_NE(cut->example.find(std::to_string(part) + " of " + std::to_string(size) + " bytes"),
              std::string::npos)
        << cut->example;
  }
}

TEST(RecordingInput, TakesRingsFromTheLogBeside) {
  FakeJob fake;
  for (const char* rank : {"0", "1"})
    ASSERT_EQ(fake.run(std::string(rank) + " 2 1"), 0);
  for (int rank = 0; rank < 2; ++rank) {
    const std::string process = "vm:" + std::to_string(100 + rank) + ":9 [0] NCCL INFO ";
    std::ofstream log(fake.folder() / ("nccl_vm_" + std::to_string(100 + rank) + ".log"));
    log << process << "NCCL version 2.28.9+cuda13.0\n"
        << process << "ncclCommInitRankConfig comm 0x1 rank " << rank
        << " nranks 2 cudaDev 0 nvmlDev 0 busId 60 commId 0xabcd - Init START\n"
        << process << "comm 0x1 rank " << rank << " nRanks 2 nNodes 1 localRanks 2 localRank "
        << rank << " MNNVL 0\n"
        << process << "Ring 00 : " << 1 - rank << " -> " << rank << " -> " << 1 - rank << "\n";
  }
  const model::Job job = read(fake);
  const model::Communicator& world = communicator(job, "0xabcd");
  ASSERT_EQ(world.channels.size(), 1U);
  EXPECT_EQ(world.channels[0].at(0).ring_next, 1);
}

}  // namespace
}  // namespace assay::goal
