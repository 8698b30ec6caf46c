#include "plan/compat/product_sites.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay::plan::compat {
namespace {

double work(const Place& place) {
  return place[0] * place[1] * place[2] * 1e-6;
}

struct Made {
  double n;
  double k;
  double share;  // of the roofline that its times reach
};

ProductSites sites_of(const std::vector<Made>& sites) {
  ProductSites made;
  for (const Made& site : sites) {
    for (const double m : {16.0, 64.0, 256.0})
      made.add({m, site.n, site.k}, work({m, site.n, site.k}) / site.share);
  }
  made.finish(work);
  return made;
}

TEST(CompatProducts, AKnownShapeRunsInStraightLines) {
  const ProductSites sites = sites_of({{256, 256, 0.5}});
  EXPECT_DOUBLE_EQ(sites.at({64, 256, 256}, work), 2 * work({64, 256, 256}));
  EXPECT_DOUBLE_EQ(sites.at({160, 256, 256}, work), 2 * work({160, 256, 256}));
}

TEST(CompatProducts, BeyondItsRowsAShapeKeepsItsShare) {
  const ProductSites sites = sites_of({{256, 256, 0.5}});
  EXPECT_DOUBLE_EQ(sites.at({1024, 256, 256}, work), 2 * work({1024, 256, 256}));
  EXPECT_DOUBLE_EQ(sites.at({1, 256, 256}, work), 2 * work({1, 256, 256}));
}

TEST(CompatProducts, NoTimeIsBelowItsRoofline) {
  const ProductSites sites = sites_of({{256, 256, 2.0}});
  EXPECT_DOUBLE_EQ(sites.at({64, 256, 256}, work), work({64, 256, 256}));
}

TEST(CompatProducts, AnUnknownShapeTakesTheShareOfTheNearest) {
  const ProductSites sites = sites_of({{256, 256, 0.5}, {1024, 256, 0.25}});
  // Both are one doubling away.
  EXPECT_NEAR(sites.at({64, 512, 256}, work), work({64, 512, 256}) / 0.375, 1e-9);
}

TEST(CompatProducts, OfEquallyNearShapesTheLargerCount) {
  // Five shapes lie one doubling or more away; the one with the least n is left out.
  const ProductSites sites = sites_of(
      {{128, 256, 0.1}, {512, 256, 0.5}, {256, 128, 0.5}, {256, 512, 0.5}, {512, 257, 0.5}});
  EXPECT_GT(work({64, 256, 256}) / sites.at({64, 256, 256}, work), 0.1);
}

TEST(CompatProducts, ShapesThatAreFarAreNoAnswer) {
  const ProductSites sites = sites_of({{256, 256, 0.5}, {16384, 16384, 0.5}});
  EXPECT_TRUE(std::isnan(sites.at({64, 2048, 2048}, work)));
}

TEST(CompatProducts, WiderThanAnyShapeTheShareHolds) {
  const ProductSites sites = sites_of({{256, 256, 0.5}, {512, 256, 0.5}});
  EXPECT_NEAR(sites.at({64, 65536, 256}, work), 2 * work({64, 65536, 256}), 1e-6);
}

}  // namespace
}  // namespace assay::plan::compat
