#include "goal/inputs/nsys_text.h"

#include <gtest/gtest.h>

namespace assay::goal {
namespace {

TEST(NsysText, CommunicatorsOfBothVersionsAreRead) {
  const NvtxText old =
      read_nvtx_text("commHash 0x1a2b commId 0xffffffffffffffff rank 3 nranks 16 pid 4242");
  EXPECT_EQ(old.kind, NvtxKind::kCommunicator);
  EXPECT_EQ(old.communicator_hash, 0x1A2BU);
  EXPECT_EQ(old.communicator_id, 0xFFFFFFFFFFFFFFFFU);
  EXPECT_EQ(old.rank, 3);
  EXPECT_EQ(old.num_ranks, 16U);
  EXPECT_EQ(old.process_id, 4242);

  const NvtxText newer =
      read_nvtx_text("Init START commHash 0x1 rank 0 nranks 2 ncclUniqueIdHash 0x77 pid 9");
  EXPECT_EQ(newer.kind, NvtxKind::kCommunicator);
  EXPECT_EQ(newer.communicator_id, 0x77U);
  EXPECT_EQ(newer.rank, 0);
}

TEST(NsysText, RingsAndTreesAreRead) {
  const NvtxText ring = read_nvtx_text("commHash 0x1 Rings [11] 3->0->1 pid 9");
  EXPECT_EQ(ring.kind, NvtxKind::kRing);
  EXPECT_EQ(ring.channel, 11U);
  EXPECT_EQ(ring.links.ring_previous, 3);
  EXPECT_EQ(ring.links.ring_next, 1);
  const NvtxText tree = read_nvtx_text("commHash 0x1 Trees [0] 1/2/-1->0->-1 pid 9");
  EXPECT_EQ(tree.kind, NvtxKind::kTree);
  EXPECT_EQ(tree.links.tree_down, (std::array<std::int32_t, 3>{1, 2, -1}));
  EXPECT_EQ(tree.links.tree_up, -1);
}

TEST(NsysText, CallsTellPeerOrRoot) {
  const NvtxText send = read_nvtx_text(
      "ncclSend(): commHash 0x1, stream (nil), data_size 64, type_size 2, receiver_rank 5, pid 9");
  EXPECT_EQ(send.kind, NvtxKind::kCall);
  EXPECT_EQ(send.function, model::NcclFunction::kSend);
  EXPECT_EQ(send.stream, 0U);
  EXPECT_EQ(send.peer, 5);
  EXPECT_EQ(send.bytes, 64U);
  const NvtxText reduce = read_nvtx_text(
      "ncclReduce(): commHash 0x1, stream 0x7f, data_size 64, type_size 2, red_op 0, root 3, pid "
      "9");
  EXPECT_EQ(reduce.function, model::NcclFunction::kReduce);
  EXPECT_EQ(reduce.root, 3);
  EXPECT_EQ(reduce.peer, -1);
}

TEST(NsysText, PlansAreRead) {
  const NvtxText chosen = read_nvtx_text(
      "collType 4 root 0 redOp 0 algo 0 proto 1 commHash 0x1 stream 0x2 data_size 4096 type_size 4 "
      "chunkSize 512 chunkCount 128 chunkSteps 1 sliceSteps 1 stepSize 1024 pid 9");
  EXPECT_EQ(chosen.kind, NvtxKind::kCollective);
  EXPECT_EQ(chosen.function, model::NcclFunction::kAllReduce);
  EXPECT_EQ(chosen.algorithm, model::NcclAlgorithm::kTree);
  EXPECT_EQ(chosen.protocol, model::NcclProtocol::kLl128);
  EXPECT_EQ(chosen.step_bytes, 1024U);
  const NvtxText part = read_nvtx_text(
      "nWarps 16 count 1024 chunkCount 128 workCount 512 lastChunkCount 64 workOffset 512 sendbuff "
      "18446744073709551615 recvbuff 7 pid 9");
  EXPECT_EQ(part.kind, NvtxKind::kCollectivePart);
  EXPECT_EQ(part.count, 1024U);
  EXPECT_EQ(part.work_count, 512U);
  EXPECT_EQ(part.work_offset, 512U);
  EXPECT_EQ(part.send_buffer, 0xFFFFFFFFFFFFFFFFU);
}

TEST(NsysText, IncompleteOrForeignTextsAreOther) {
  for (const char* text :
       {"", "n", "nccl", "ncclAllReduce", "ncclAllReduce(): commHash", "commHash 0x",
        "commHash 0xg",
        "collType 99 root 0 redOp 0 algo 1 proto 2 commHash 0x1 stream 0x2 data_size 4 type_size 4 "
        "pid 9",
        "commHash 0x1 rank 99999999999999999999 nranks 2 pid 9", "Bytes many", "nWarps 1",
        "nsys profiling start, pid:", "iteration 17"}) {
    EXPECT_EQ(read_nvtx_text(text).kind, NvtxKind::kOther) << text;
  }
}

}  // namespace
}  // namespace assay::goal
