#include "goal/proof.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "model/schedule_writer.h"

namespace assay::goal {
namespace {

using model::Place;
using model::RankBuilder;

class Counted final : public model::RankSink {
 public:
  core::Status append(const model::RankImage& /*rank*/) override {
    ++ranks;
    return {};
  }

  int ranks = 0;
};

using Fill = std::function<void(RankBuilder&)>;

// Returns the first error of appending the ranks and finishing; empty when all is proven.
std::string problem(const std::vector<Fill>& ranks) {
  Counted sink;
  Proof proof(sink);
  for (const Fill& fill : ranks) {
    RankBuilder builder;
    fill(builder);
    const auto status = proof.append(builder.finish());
    if (!status.ok()) return status.error().message;
  }
  EXPECT_EQ(sink.ranks, static_cast<int>(ranks.size()));
  const auto status = proof.finish();
  return status.ok() ? "" : status.error().message;
}

Fill sends(std::uint64_t bytes, std::uint32_t peer, std::uint32_t tag) {
  return [=](RankBuilder& rank) { rank.send(bytes, peer, tag, {}); };
}

Fill receives(std::uint64_t bytes, std::uint32_t peer, std::uint32_t tag) {
  return [=](RankBuilder& rank) { rank.receive(bytes, peer, tag, {}); };
}

const std::string kMismatch = "1 send and 1 receive do not match one to one";

TEST(Proof, PassesMessagesThatMatch) {
  EXPECT_EQ(problem({sends(100, 1, 7), receives(100, 0, 7)}), "");
  EXPECT_EQ(problem({[](RankBuilder& rank) {
              rank.send(1, 0, 3, {});
              rank.receive(1, 0, 3, {});
            }}),
            "");
}

TEST(Proof, RefusesWhatDiffersInAnyPart) {
  EXPECT_EQ(problem({sends(100, 1, 7), receives(101, 0, 7)}), kMismatch);
  EXPECT_EQ(problem({sends(100, 1, 7), receives(100, 0, 8)}), kMismatch);
  EXPECT_EQ(problem({sends(100, 2, 7), receives(100, 0, 7), [](RankBuilder&) {}}), kMismatch);
  EXPECT_EQ(problem({sends(100, 1, 7), receives(100, 2, 7), [](RankBuilder&) {}}), kMismatch);
  EXPECT_EQ(problem({sends(100, 5, 7), receives(100, 5, 7)}), kMismatch);
}

TEST(Proof, RefusesAMessageAlone) {
  EXPECT_EQ(problem({sends(100, 1, 7), [](RankBuilder&) {}}),
            "1 send and 0 receives do not match one to one");
  EXPECT_EQ(problem({[](RankBuilder&) {}, receives(100, 0, 7)}),
            "0 sends and 1 receive do not match one to one");
}

// Sums of hashes must not cancel out: sending the same message twice does not match two different
// receives.
TEST(Proof, CountsEachMessageOfAPair) {
  const auto two = [](std::uint32_t a, std::uint32_t b, bool send) {
    return [=](RankBuilder& rank) {
      for (const std::uint32_t tag : {a, b}) {
        if (send) {
          rank.send(8, 1, tag, {});
        } else {
          rank.receive(8, 0, tag, {});
        }
      }
    };
  };
  EXPECT_EQ(problem({two(1, 2, true), two(2, 1, false)}), "");
  EXPECT_EQ(problem({two(1, 1, true), two(1, 2, false)}),
            "2 sends and 2 receives do not match one to one");
  EXPECT_EQ(problem({two(1, 4, true), two(2, 3, false)}),
            "2 sends and 2 receives do not match one to one");
}

TEST(Proof, RefusesACircle) {
  const auto circle = [](RankBuilder& rank) {
    const auto a = rank.calc(1, {});
    const auto b = rank.calc(1, {});
    const auto c = rank.calc(1, {});
    rank.require_finish(b, a);
    rank.require_finish(c, b);
    rank.require_start(b, c);
  };
  EXPECT_EQ(problem({circle}), "rank 0: operations wait for each other in a circle");
  const auto backwards = [](RankBuilder& rank) {
    const auto a = rank.calc(1, {});
    const auto b = rank.calc(1, {});
    rank.require_finish(a, b);
  };
  EXPECT_EQ(problem({backwards}), "");
}

TEST(Proof, RefusesWhatTheFormatCannotHold) {
  constexpr std::uint64_t kTooLarge = std::uint64_t{model::kMostSize} + 1;
  EXPECT_NE(problem({sends(kTooLarge, 1, 7), receives(kTooLarge, 0, 7)}).find("more than 31 bits"),
            std::string::npos);
  EXPECT_NE(problem({sends(1, 1, model::kAnyTag), receives(1, 0, model::kAnyTag)})
                .find("more than 31 bits"),
            std::string::npos);
  EXPECT_EQ(problem({[](RankBuilder& rank) {
              rank.calc(1, {255, 0});
            }}),
            "rank 0: cpu 255 and nic 0 are more than a schedule can name");
  EXPECT_EQ(problem({[](RankBuilder& rank) { rank.calc(std::uint64_t{1} << 40, {254, 0}); }}), "");
}

TEST(Proof, RefusesADamagedImage) {
  RankBuilder builder;
  builder.send(1, 1, 1, {});
  model::RankImage image = builder.finish();
  image.bytes.resize(image.bytes.size() / 2);
  Counted sink;
  Proof proof(sink);
  EXPECT_FALSE(proof.append(image).ok());
  EXPECT_EQ(sink.ranks, 0);
}

}  // namespace
}  // namespace assay::goal
