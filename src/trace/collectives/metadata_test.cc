#include "trace/collectives/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::trace::collectives {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Metadata named(const char* name, Compat compat = Compat::kNone) {
  Metadata metadata;
  metadata.collective = collective_named(name, compat);
  return metadata;
}

TEST(Metadata, TellsWhichCollectivesAllRanksLeaveTogether) {
  EXPECT_TRUE(synchronises(named("allreduce_coalesced")));
  EXPECT_TRUE(synchronises(named("_reduce_scatter_base")));
  EXPECT_TRUE(synchronises(named("all_to_all")));
  EXPECT_FALSE(synchronises(named("all_to_allv")));
  EXPECT_TRUE(is_matched(named("all_to_allv")));
  EXPECT_TRUE(is_uneven(named("all_to_allv")));
  EXPECT_FALSE(is_matched(named("broadcast")));
  EXPECT_FALSE(is_matched(named("send")));
  EXPECT_FALSE(is_matched(named("barrier")));
}

TEST(Metadata, KnowsWhatThePublicToolKnowsInCompatMode) {
  EXPECT_TRUE(is_matched(named("_allgather_base", Compat::kTraceLens)));
  EXPECT_TRUE(is_matched(named("reduce_scatter")));
  EXPECT_FALSE(is_matched(named("reduce_scatter", Compat::kTraceLens)));
  EXPECT_TRUE(std::isnan(bus_factor(named("broadcast", Compat::kTraceLens), 8)));
}

TEST(Metadata, ElementSizes) {
  EXPECT_EQ(element_bytes("BFloat16", Compat::kTraceLens), 2);
  EXPECT_EQ(element_bytes("Float8_e4m3fn", Compat::kTraceLens), 0);
  EXPECT_EQ(element_bytes("Float8_e4m3fn", Compat::kNone), 1);
  EXPECT_EQ(element_bytes("ComplexDouble", Compat::kNone), 16);
  EXPECT_EQ(element_bytes("", Compat::kNone), 0);
}

TEST(Metadata, BusFactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(named("allreduce"), 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(named("_allgather_base"), 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(named("all_to_allv"), 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(named("broadcast"), 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(named("reduce"), 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(named("send"), 2), 1);
  EXPECT_TRUE(std::isnan(bus_factor(named("barrier"), 8)));
}

TEST(Metadata, ReadsLists) {
  EXPECT_THAT(parse_integers("[0, 12, 345]"), ElementsAre(0, 12, 345));
  EXPECT_THAT(parse_integers("[0, 1, ..., 63]"), ElementsAre(0, 1, 63));
  EXPECT_THAT(parse_integers("[]"), IsEmpty());
  EXPECT_THAT(parse_integers("nonsense"), IsEmpty());
}

Metadata all_gather(Catalog& catalog, const char* ranks) {
  Metadata m;
  m.name = catalog.text_id("_allgather_base");
  m.dtype = catalog.text_id("BFloat16");
  m.group_name = catalog.text_id("0");
  m.group_ranks = catalog.text_id(ranks);
  m.in_elements = 1 << 20;
  m.out_elements = 2 << 20;
  return m;
}

TEST(Catalog, KnowsEqualMetadataAndTellsGroupsOfOneNameApart) {
  Catalog catalog(Compat::kNone, 8);
  const MetadataId first = catalog.intern(all_gather(catalog, "[0, 1]"));
  EXPECT_EQ(catalog.intern(all_gather(catalog, "[0, 1]")), first);
  const MetadataId other = catalog.intern(all_gather(catalog, "[0, 8]"));
  EXPECT_NE(other, first);
  EXPECT_NE(catalog[other].signature, catalog[first].signature);
  EXPECT_EQ(catalog.group(catalog[first]).span, NodeSpan::kIntraNode);
  EXPECT_EQ(catalog.group(catalog[other]).span, NodeSpan::kInterNode);
  EXPECT_DOUBLE_EQ(catalog[first].in_mib, 2);
  EXPECT_DOUBLE_EQ(catalog[first].full_mib, 4);
}

TEST(Catalog, UnevenExchangesOfAnySizeBelongTogether) {
  Catalog catalog(Compat::kNone, 0);
  Metadata exchange = all_gather(catalog, "[0, 1]");
  exchange.name = catalog.text_id("all_to_allv");
  const MetadataId one = catalog.intern(exchange);
  exchange.in_elements = 5;
  exchange.in_split = catalog.text_id("[2, 3]");
  const MetadataId other = catalog.intern(exchange);
  EXPECT_EQ(catalog[one].signature, catalog[other].signature);
  EXPECT_EQ(catalog.group(catalog[one]).span, NodeSpan::kUnknown);
}

}  // namespace
}  // namespace assay::trace::collectives
