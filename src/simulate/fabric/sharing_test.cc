#include "simulate/fabric/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace assay::simulate {
namespace {

using ::testing::UnorderedElementsAre;

using Paths = std::vector<std::vector<LinkShare>>;

std::vector<double> rates(const std::vector<double>& capacities, const Paths& paths) {
  Sharing sharing(capacities);
  std::vector<std::uint32_t> flows;
  for (const auto& path : paths)
    flows.push_back(sharing.add(path));
  sharing.settle();
  std::vector<double> found;
  for (const std::uint32_t flow : flows)
    found.push_back(sharing.rate(flow));
  return found;
}

TEST(Sharing, FlowsOfALinkHaveEqualParts) {
  for (const std::uint32_t count : {1U, 2U, 7U, 64U}) {
    const Paths paths(count, {{.link = 0}});
    EXPECT_THAT(rates({1}, paths), ::testing::Each(1.0 / count));
  }
}

// One long flow crosses n links, each of which has a short one besides: all get a half. With links
// of which the first is narrow, the long flow is held there and the others take what it leaves.
TEST(Sharing, ParkingLot) {
  Paths paths(1);
  for (std::uint32_t link = 0; link < 5; ++link) {
    paths.front().push_back({.link = link});
    paths.push_back({{.link = link}});
  }
  EXPECT_THAT(rates({1, 1, 1, 1, 1}, paths), ::testing::Each(0.5));
  const auto narrow = rates({0.5, 1, 1, 1, 1}, paths);
  EXPECT_DOUBLE_EQ(narrow[0], 0.25);
  EXPECT_DOUBLE_EQ(narrow[1], 0.25);
  EXPECT_DOUBLE_EQ(narrow[2], 0.75);
}

// A flow that is spread over two links may have as much of each as a whole flow has of one.
TEST(Sharing, SpreadFlowsPutTheirWeightOnEachLink) {
  const auto found =
      rates({1, 1}, {{{.link = 0, .weight = 0.5}, {.link = 1, .weight = 0.5}}, {{.link = 0}}});
  EXPECT_DOUBLE_EQ(found[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(found[1], 2.0 / 3);
}

TEST(Sharing, TellsWhatHasChangedAndWhy) {
  Sharing sharing({1, 1, 1});
  const std::uint32_t first = sharing.add(std::vector<LinkShare>{{.link = 0}, {.link = 1}});
  EXPECT_TRUE(sharing.dirty());
  EXPECT_THAT(sharing.settle(), ::testing::SizeIs(1));
  EXPECT_FALSE(sharing.dirty());
  EXPECT_THAT(sharing.settle(), ::testing::IsEmpty());
  EXPECT_EQ(sharing.rate(first), 1);
  const std::uint32_t other = sharing.add(std::vector<LinkShare>{{.link = 2}});
  auto changed = sharing.settle();
  EXPECT_THAT(std::vector(changed.begin(), changed.end()), UnorderedElementsAre(other));
  const std::uint32_t second = sharing.add(std::vector<LinkShare>{{.link = 1}});
  changed = sharing.settle();
  EXPECT_THAT(std::vector(changed.begin(), changed.end()), UnorderedElementsAre(first, second));
  EXPECT_EQ(sharing.bottleneck(first), 1U);
  EXPECT_EQ(sharing.flows_on(1), 2U);
  sharing.remove(second);
  sharing.settle();
  EXPECT_EQ(sharing.rate(first), 1);
}

TEST(Sharing, AFlowThatLeavesBeforeItsRateIsKnownChangesNothing) {
  Sharing sharing({1});
  const std::uint32_t stays = sharing.add(std::vector<LinkShare>{{.link = 0}});
  sharing.remove(sharing.add(std::vector<LinkShare>{{.link = 0}}));
  sharing.settle();
  EXPECT_EQ(sharing.rate(stays), 1);
}

// How much more each flow that is not held may have.
double step_of(const std::vector<double>& left, const std::vector<double>& weight) {
  double step = std::numeric_limits<double>::infinity();
  for (std::size_t link = 0; link < left.size(); ++link) {
    if (weight[link] > 1e-12) step = std::min(step, left[link] / weight[link]);
  }
  return step;
}

// Fills all flows from nothing, one step of the definition after the other.
std::vector<double> reference_rates(const std::vector<double>& capacities, const Paths& paths) {
  std::vector<double> rate(paths.size());
  std::vector<bool> held(paths.size());
  for (;;) {
    std::vector<double> left = capacities;
    std::vector<double> weight(capacities.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      for (const LinkShare& share : paths[i]) {
        left[share.link] -= share.weight * rate[i];
        if (!held[i]) weight[share.link] += share.weight;
      }
    }
    const double step = step_of(left, weight);
    if (step == std::numeric_limits<double>::infinity()) return rate;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (held[i]) continue;
      rate[i] += step;
      for (const LinkShare& share : paths[i]) {
        const double rest = left[share.link] - step * weight[share.link];
        held[i] = held[i] || rest < 1e-9 * capacities[share.link];
      }
    }
  }
}

std::uint32_t draw(std::mt19937& random, std::uint32_t below) {
  return static_cast<std::uint32_t>(random() % below);
}

std::vector<LinkShare> random_path(std::mt19937& random, std::uint32_t links) {
  std::vector<LinkShare> path;
  std::vector<std::uint32_t> all(links);
  for (std::uint32_t i = 0; i < links; ++i)
    all[i] = i;
  std::shuffle(all.begin(), all.end(), random);
  const std::uint32_t length = 1 + draw(random, std::min(links, 6U));
  for (std::uint32_t i = 0; i < length; ++i)
    path.push_back({all[i], draw(random, 3) == 0 ? 0.25 * (1 + draw(random, 3)) : 1});
  return path;
}

// Flows come, go and take other paths and links change, several at once or one by one, and the
// rates are those of a fresh start.
void compare_with_reference(unsigned seed) {
  std::mt19937 random(seed);
  const std::uint32_t num_links = 1 + draw(random, 24);
  std::vector<double> capacities;
  for (std::uint32_t i = 0; i < num_links; ++i)
    capacities.push_back(draw(random, 2) == 0 ? 1 : 0.1 + 0.1 * draw(random, 30));
  Sharing sharing(capacities);
  std::vector<std::uint32_t> flows;
  Paths paths;
  for (int step = 0; step < 60; ++step) {
    const std::uint32_t changes = 1 + draw(random, 4);
    for (std::uint32_t i = 0; i < changes; ++i) {
      const std::uint32_t what = draw(random, 7);
      if (flows.empty() || what < 3) {
        paths.push_back(random_path(random, num_links));
        flows.push_back(sharing.add(paths.back()));
      } else if (what == 3) {
        const std::size_t turns = draw(random, static_cast<std::uint32_t>(flows.size()));
        paths[turns] = random_path(random, num_links);
        sharing.reroute(flows[turns], paths[turns]);
      } else if (what == 4) {
        const std::uint32_t link = draw(random, num_links);
        capacities[link] = 0.1 + 0.1 * draw(random, 30);
        sharing.set_capacity(link, capacities[link]);
      } else {
        const std::size_t leaves = draw(random, static_cast<std::uint32_t>(flows.size()));
        sharing.remove(flows[leaves]);
        flows.erase(flows.begin() + static_cast<std::ptrdiff_t>(leaves));
        paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(leaves));
      }
    }
    sharing.settle();
    const std::vector<double> expected = reference_rates(capacities, paths);
    for (std::size_t i = 0; i < flows.size(); ++i)
      ASSERT_NEAR(sharing.rate(flows[i]), expected[i], 1e-6) << "step " << step << " flow " << i;
  }
}

TEST(Sharing, RatesOfRandomFlowsAreThoseOfASimpleFilling) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    compare_with_reference(seed);
  }
}

}  // namespace
}  // namespace assay::simulate
