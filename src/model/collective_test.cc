#include "model/collective.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::model {
namespace {

using enum NcclFunction;

constexpr NcclFunction kAll[] = {kBroadcast, kReduce,   kAllGather, kReduceScatter,
                                 kAllReduce, kSendRecv, kSend,      kRecv,
                                 kAllToAll,  kScatter,  kGather};

TEST(Collective, BusFactorsAreThoseOfNcclTests) {
  EXPECT_EQ(bus_factor(kAllReduce, 8), 1.75);
  EXPECT_EQ(bus_factor(kAllGather, 8), 0.875);
  EXPECT_EQ(bus_factor(kReduceScatter, 4), 0.75);
  EXPECT_EQ(bus_factor(kAllToAll, 2), 0.5);
  EXPECT_EQ(bus_factor(kScatter, 8), 0.875);
  EXPECT_EQ(bus_factor(kGather, 8), 0.875);
  EXPECT_EQ(bus_factor(kBroadcast, 8), 1);
  EXPECT_EQ(bus_factor(kReduce, 8), 1);
  EXPECT_EQ(bus_factor(kSendRecv, 2), 1);
  EXPECT_EQ(bus_factor(kSend, 2), 1);
  EXPECT_EQ(bus_factor(kRecv, 2), 1);
}

TEST(Collective, OneRankSendsNothingAndNoRanksAreUnknown) {
  EXPECT_EQ(bus_factor(kAllReduce, 1), 0);
  EXPECT_TRUE(std::isnan(bus_factor(kAllReduce, 0)));
  EXPECT_TRUE(std::isnan(bus_factor(kBroadcast, -1)));
}

TEST(Collective, EachNameIsReadAsItsFunction) {
  for (const NcclFunction function : kAll) {
    EXPECT_EQ(nccl_function(name_of(function)), function);
    EXPECT_EQ(nccl_function_of_table(table_name_of(function)), function);
  }
  EXPECT_EQ(name_of(kAllToAll), "AlltoAll");
  EXPECT_EQ(table_name_of(kAllToAll), "alltoall");
  EXPECT_EQ(nccl_function("allreduce"), kAllReduce);
  EXPECT_EQ(nccl_function("barrier"), std::nullopt);
  EXPECT_EQ(nccl_function_of_table("AllReduce"), std::nullopt);
}

TEST(Collective, PyTorchHasSeveralNamesForAFunction) {
  EXPECT_EQ(torch_collective("allreduce_coalesced")->function, kAllReduce);
  EXPECT_EQ(torch_collective("_reduce_scatter_base")->function, kReduceScatter);
  EXPECT_EQ(torch_collective("_allgather_base")->function, kAllGather);
  EXPECT_EQ(torch_collective("broadcast")->function, kBroadcast);
  EXPECT_EQ(torch_collective("all_to_allv")->function, kAllToAll);
  EXPECT_TRUE(torch_collective("all_to_allv")->may_be_uneven);
  EXPECT_FALSE(torch_collective("all_to_all")->may_be_uneven);
  EXPECT_FALSE(torch_collective("barrier"));
  EXPECT_FALSE(torch_collective("wait"));
}

TEST(Collective, KnowsTheBytesOfElements) {
  EXPECT_EQ(nccl_element_bytes("ncclBfloat16"), 2U);
  EXPECT_EQ(nccl_element_bytes(7), 4U);
  EXPECT_EQ(nccl_element_bytes(12), 0U);
  EXPECT_EQ(nccl_element_bytes(-1), 0U);
  EXPECT_EQ(torch_element_bytes("BFloat16"), 2U);
  EXPECT_EQ(torch_element_bytes("Float8_e4m3fn"), 1U);
  EXPECT_EQ(torch_element_bytes("ComplexDouble"), 16U);
  EXPECT_EQ(torch_element_bytes(""), 0U);
}

}  // namespace
}  // namespace assay::model
