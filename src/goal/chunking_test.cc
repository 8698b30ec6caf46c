#include "goal/chunking.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace assay::goal {
namespace {

using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;

TEST(Chunking, SlicesAsNccl) {
  // 4 chunk steps and 2 slice steps of 512 KiB: a chunk has two slices of at least 32 KiB each.
  Cut cut;
  cut.slices_per_chunk = 2;
  cut.least_slice_count = 8192;
  const auto slices = [&](std::uint64_t count) {
    std::vector<std::uint64_t> counts;
    for_each_slice(cut, count, [&](std::uint64_t slice) { counts.push_back(slice); });
    return counts;
  };
  EXPECT_EQ(slices(524288), (std::vector<std::uint64_t>{262144, 262144}));
  EXPECT_EQ(slices(100), (std::vector<std::uint64_t>{100}));
  EXPECT_EQ(slices(20000), (std::vector<std::uint64_t>{10000, 10000}));
  EXPECT_EQ(slices(20001), (std::vector<std::uint64_t>{10016, 9985}));
  EXPECT_TRUE(slices(0).empty());
}

TEST(Chunking, WireBytes) {
  EXPECT_EQ(wire_bytes(NcclProtocol::kSimple, 1000), 1000U);
  EXPECT_EQ(wire_bytes(NcclProtocol::kLl, 1000), 2000U);
  EXPECT_EQ(wire_bytes(NcclProtocol::kLl, 4), 16U);
  EXPECT_EQ(wire_bytes(NcclProtocol::kLl128, 1200), 1280U);
  EXPECT_EQ(wire_bytes(NcclProtocol::kLl128, 1), 128U);
}

model::Operation all_gather(std::uint64_t bytes, std::uint32_t channels) {
  model::Operation operation;
  operation.function = NcclFunction::kAllGather;
  operation.algorithm = NcclAlgorithm::kRing;
  operation.protocol = NcclProtocol::kSimple;
  operation.bytes = bytes;
  operation.num_channels = channels;
  return operation;
}

struct Parts {
  NcclProtocol protocol = NcclProtocol::kSimple;
  std::vector<std::uint64_t> counts;
  std::uint64_t chunk = 0;

  bool operator==(const Parts&) const = default;
};

// A send in a communicator of 4 ranks of which only the bytes were recorded.
Parts send_parts(std::uint64_t bytes, std::uint32_t num_nodes, Distance distance) {
  model::Operation operation;
  operation.function = NcclFunction::kSend;
  operation.bytes = bytes;
  const CutRequest request{.operation = operation,
                           .parts = {},
                           .num_ranks = 4,
                           .num_nodes = num_nodes,
                           .distance = distance};
  Parts made;
  made.protocol = protocol_of(request);
  for (const model::ChannelPart& part : cut_operation(request).parts) {
    made.counts.push_back(part.count);
    made.chunk = part.chunk_count;
  }
  return made;
}

std::vector<std::uint64_t> repeated(std::size_t times, std::uint64_t value) {
  return std::vector<std::uint64_t>(times, value);
}

TEST(Chunking, SendsWithinTheOnlyNode) {
  // LL up to 32 * 16 KiB, over 32 / 4 channels, with steps of 64 KiB of which half are flags.
  EXPECT_EQ(send_parts(524288, 1, Distance::kSameNode),
            (Parts{NcclProtocol::kLl, repeated(8, 65536), 32768}));
  // 524289 / 8 rounded up to 4 KiB is 69632; 524289 - 7 * 69632 = 36865.
  std::vector<std::uint64_t> counts = repeated(7, 69632);
  counts.push_back(36865);
  EXPECT_EQ(send_parts(524289, 1, Distance::kSameNode),
            (Parts{NcclProtocol::kSimple, counts, 524288}));
  // Parts of more than 32 * 512 KiB double the channels.
  EXPECT_EQ(send_parts(256 << 20, 1, Distance::kSameNode),
            (Parts{NcclProtocol::kSimple, repeated(16, 16 << 20), 524288}));
  // A part has at least an eighth of a step.
  EXPECT_EQ(send_parts(8192, 1, Distance::kSameNode),
            (Parts{NcclProtocol::kLl, repeated(1, 8192), 32768}));
}

TEST(Chunking, SendsOfACommunicatorOverNodes) {
  // Steps of 128 KiB. Smaller messages have chunks of a quarter step, those below 8 steps of half a
  // step; LL is never chosen.
  EXPECT_EQ(send_parts(1024, 2, Distance::kOtherNode),
            (Parts{NcclProtocol::kSimple, repeated(1, 1024), 32768}));
  EXPECT_EQ(send_parts(131072, 2, Distance::kOtherNode),
            (Parts{NcclProtocol::kSimple, repeated(2, 65536), 65536}));
  EXPECT_EQ(send_parts(1 << 20, 2, Distance::kOtherNode),
            (Parts{NcclProtocol::kSimple, repeated(2, 524288), 131072}));
  // Within a node LL up to 2 * 16 KiB, above that the steps of the network.
  EXPECT_EQ(send_parts(32768, 2, Distance::kSameNode).protocol, NcclProtocol::kLl);
  EXPECT_EQ(send_parts(131072, 2, Distance::kSameNode),
            (Parts{NcclProtocol::kSimple, repeated(2, 65536), 131072}));
}

TEST(Chunking, PatComparesWithTheBytesOfAllRanks) {
  // 1 MiB from each of 8 ranks. AllGather: 32 * 512 KiB is more than 8 MiB, 32 * 256 KiB is not.
  // ReduceScatter: 16 * 512 KiB is not.
  model::Operation operation = all_gather(1 << 20, 1);
  operation.algorithm = NcclAlgorithm::kPat;
  const auto chunk = [&] {
    return cut_operation({.operation = operation, .parts = {}, .num_ranks = 8})
        .parts.front()
        .chunk_count;
  };
  EXPECT_EQ(chunk(), 262144U);
  operation.function = NcclFunction::kReduceScatter;
  EXPECT_EQ(chunk(), 524288U);
}

TEST(Chunking, PartsCoverTheWhole) {
  for (const std::uint64_t bytes : {1ULL, 15ULL, 4096ULL, 1000003ULL, 1ULL << 30}) {
    for (const std::uint32_t channels : {1U, 3U, 24U, 64U}) {
      model::Operation operation = all_gather(bytes, channels);
      for (const NcclFunction function : {NcclFunction::kAllGather, NcclFunction::kAllReduce,
                                          NcclFunction::kBroadcast, NcclFunction::kSend}) {
        operation.function = function;
        const Cut cut = cut_operation({.operation = operation, .parts = {}, .num_ranks = 8});
        std::uint64_t sum = 0;
        for (const model::ChannelPart& part : cut.parts) {
          sum += part.count;
          EXPECT_GT(part.chunk_count, 0U);
        }
        EXPECT_EQ(sum, bytes);
        EXPECT_LE(cut.parts.size(), channels);
      }
    }
  }
}

std::uint64_t chunk_of(const model::Operation& operation,
                       std::uint32_t num_ranks,
                       std::uint32_t num_nodes = 1) {
  const CutRequest request{
      .operation = operation, .parts = {}, .num_ranks = num_ranks, .num_nodes = num_nodes};
  return cut_operation(request).parts.front().chunk_count;
}

TEST(Chunking, ChunksOfLl128AreWholeLinesOf1920Bytes) {
  model::Operation operation = all_gather(64 << 20, 1);
  operation.protocol = NcclProtocol::kLl128;
  // 15 of 16 bytes of a step of 600 KiB are data: 300 lines.
  EXPECT_EQ(chunk_of(operation, 4), 576'000U);
  operation.step_bytes = 4096;
  EXPECT_EQ(chunk_of(operation, 4), 3840U);
  operation.step_bytes = 512;
  EXPECT_EQ(chunk_of(operation, 4), 1920U);
}

// Steps whose chunk becomes 128 KiB and 32 KiB exactly when it is halved four and six times:
// 2236976 / 16 * 15 = 2097165.
TEST(Chunking, TreesOfLl128StopShrinkingAtTheirLimits) {
  model::Operation operation;
  operation.algorithm = NcclAlgorithm::kTree;
  operation.protocol = NcclProtocol::kLl128;
  operation.element_bytes = 1;
  operation.num_channels = 1;
  operation.step_bytes = 2'236'976;
  // Two nodes of 8 ranks take 2.8 steps: fewer than 64 * 2.8 / 8 chunks are too few above 128 KiB,
  // fewer than 16 * 2.8 / 8 above 32 KiB. Chunks are then cut to whole lines of 1920 bytes.
  operation.bytes = 10 * 131'072;
  EXPECT_EQ(chunk_of(operation, 16, 2), 131'072U / 1920 * 1920);
  operation.bytes = 40'000;
  EXPECT_EQ(chunk_of(operation, 16, 2), 32'768U / 1920 * 1920);
}

TEST(Chunking, PatStopsShrinkingAt64KiB) {
  model::Operation operation = all_gather(1024, 1);
  operation.algorithm = NcclAlgorithm::kPat;
  EXPECT_EQ(chunk_of(operation, 8), 65'536U);
}

model::Operation summed(NcclAlgorithm algorithm, std::uint64_t bytes, std::uint32_t channels) {
  model::Operation operation;
  operation.algorithm = algorithm;
  operation.protocol = NcclProtocol::kSimple;
  operation.element_bytes = 1;
  operation.bytes = bytes;
  operation.num_channels = channels;
  return operation;
}

TEST(Chunking, NvlsShrinksItsChunks) {
  // 8 heads; a channel has 1/16. 64 chunks of 128 KiB for each head are 64 MiB; 8 of 64 KiB are 4
  // MiB; 2 of 32 KiB are 512 KiB.
  const auto chunk = [](std::uint64_t bytes) {
    return chunk_of(summed(NcclAlgorithm::kNvls, bytes, 16), 8);
  };
  EXPECT_EQ(chunk(1 << 30), 131072U);
  EXPECT_EQ(chunk(512 << 20), 65536U);
  EXPECT_EQ(chunk(64 << 20), 65536U);
  EXPECT_EQ(chunk(16 << 20), 32768U);
  EXPECT_EQ(chunk(1 << 20), 16384U);
  // An AllGather counts the bytes that each rank gives.
  model::Operation gather = summed(NcclAlgorithm::kNvls, 128 << 20, 16);
  gather.function = NcclFunction::kAllGather;
  EXPECT_EQ(chunk_of(gather, 8), 131072U);
}

TEST(Chunking, NvlsTreesShrinkTheirChunks) {
  const auto chunk = [](std::uint64_t bytes, std::uint32_t nodes) {
    return chunk_of(summed(NcclAlgorithm::kNvlsTree, bytes, 16), 8 * nodes, nodes);
  };
  EXPECT_EQ(chunk(1 << 30, 2), 131072U);
  EXPECT_EQ(chunk(1 << 30, 4), 65536U);
  EXPECT_EQ(chunk(16 << 20, 2), 65536U);
  EXPECT_EQ(chunk(4 << 20, 2), 32768U);
}

std::vector<std::uint64_t> first_slices(NcclProtocol protocol, std::uint32_t num_nodes) {
  model::Operation operation = all_gather(1 << 20, 4);
  operation.protocol = protocol;
  const Cut cut =
      cut_operation({.operation = operation, .parts = {}, .num_ranks = 4, .num_nodes = num_nodes});
  std::vector<std::uint64_t> slices;
  for_each_slice(cut, 20000, [&](std::uint64_t slice) { slices.push_back(slice); });
  EXPECT_EQ(cut.slices_wait, protocol == NcclProtocol::kSimple || num_nodes > 1);
  return slices;
}

// Lines with flags are passed on as they come, but over the network a proxy sends whole chunks.
TEST(Chunking, LinesAreCutByWhatABlockMovesAtOnceWithinANode) {
  EXPECT_EQ(first_slices(NcclProtocol::kLl128, 1), (std::vector<std::uint64_t>{9600, 9600, 800}));
  EXPECT_EQ(first_slices(NcclProtocol::kLl, 1).size(), 5U);
  EXPECT_EQ(first_slices(NcclProtocol::kLl128, 2).size(), 1U);
  EXPECT_EQ(first_slices(NcclProtocol::kSimple, 1).size(), 1U);
}

TEST(Chunking, ChainsOverNodesKeepTheirSlicesWithinThem) {
  model::Operation operation = all_gather(1 << 20, 4);
  for (const NcclFunction function : {NcclFunction::kBroadcast, NcclFunction::kReduce}) {
    operation.function = function;
    for (const NcclProtocol protocol :
         {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple}) {
      operation.protocol = protocol;
      const auto cut = [&](std::uint32_t nodes) {
        return cut_operation(
            {.operation = operation, .parts = {}, .num_ranks = 4, .num_nodes = nodes});
      };
      EXPECT_EQ(cut(2).slices_per_chunk, cut(1).slices_per_chunk);
      EXPECT_EQ(cut(2).whole_over_nodes, protocol != NcclProtocol::kSimple);
      EXPECT_FALSE(cut(1).whole_over_nodes);
    }
  }
}

TEST(Chunking, CollnetShrinksItsChunks) {
  // 4 MiB a channel. Direct: 512 KiB a head, less than 2 * 8 chunks until they have 32 KiB. Chain:
  // fewer than 8 * 8 chunks of 128 KiB, more than 8 of 64 KiB.
  EXPECT_EQ(chunk_of(summed(NcclAlgorithm::kCollnetDirect, 64 << 20, 16), 16, 2), 32768U);
  EXPECT_EQ(chunk_of(summed(NcclAlgorithm::kCollnetDirect, 64ULL << 30, 16), 16, 2), 524288U);
  EXPECT_EQ(chunk_of(summed(NcclAlgorithm::kCollnetChain, 64 << 20, 16), 16, 2), 65536U);
}

TEST(Chunking, ChannelsToASwitchOfTheNetworkTakeTurns) {
  // 300 loops of 3 channels, 2 heads and 512 KiB, then a turn and 100 bytes.
  constexpr std::uint64_t kTurn = 2 * 524288;
  const model::Operation operation =
      summed(NcclAlgorithm::kCollnetDirect, 300 * 3 * kTurn + kTurn + 100, 3);
  const Cut cut = cut_operation(
      {.operation = operation, .parts = {}, .num_ranks = 4, .num_nodes = 2, .first_channel = 5});
  ASSERT_EQ(cut.parts.size(), 3U);
  EXPECT_EQ(cut.parts[0].count, 301 * kTurn);
  EXPECT_EQ(cut.parts[1].count, 300 * kTurn + 100);
  EXPECT_EQ(cut.parts[2].count, 300 * kTurn);
  EXPECT_EQ(cut.parts[2].channel, 7U);
  EXPECT_EQ(cut.parts[0].chunk_count, 524288U);
}

TEST(Chunking, ChannelsOfASendDoubleOnlyAboveTheLargestPart) {
  EXPECT_EQ(send_parts(128 << 20, 1, Distance::kSameNode).counts.size(), 8U);
  EXPECT_EQ(send_parts((128 << 20) + 1, 1, Distance::kSameNode).counts.size(), 16U);
}

}  // namespace
}  // namespace assay::goal
