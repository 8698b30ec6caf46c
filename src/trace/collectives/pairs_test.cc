#include "trace/collectives/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/collectives/run_test_util.h"

namespace assay::trace::collectives {
namespace {

using testing::Call;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TestRun;

Call send(double start_us, double duration_us, int to) {
  return {.start_us = start_us, .duration_us = duration_us, .collective = "send", .peer_rank = to};
}

Call receive(double start_us, double duration_us, int from) {
  return {
      .start_us = start_us, .duration_us = duration_us, .collective = "recv", .peer_rank = from};
}

struct Ends {
  int from = 0;
  int to = 0;
  double sent_us = 0;
  double received_us = 0;
  bool is_buffered = false;

  bool operator==(const Ends&) const = default;
};

std::vector<Ends> ends_of(TestRun& run) {
  const Recording recording = extract(run.ranks());
  std::vector<Ends> ends;
  for (const Pair& pair : pair_messages(recording, match_by_order(recording)))
    ends.push_back({static_cast<int>(pair.send.rank), static_cast<int>(pair.receive.rank),
                    event_of(recording, pair.send).start / 1000,
                    event_of(recording, pair.receive).start / 1000, pair.is_buffered});
  return ends;
}

TEST(PairMessages, InTheOrderInWhichTheyWereSent) {
  TestRun run(3);
  run.add(0, send(0, 30, 1)).add(0, send(100, 30, 1)).add(0, send(200, 30, 2));
  run.add(1, receive(10, 20, 0)).add(1, receive(90, 40, 0)).add(2, receive(150, 80, 0));
  EXPECT_THAT(ends_of(run),
              ElementsAre(Ends{0, 1, 0, 10}, Ends{0, 1, 100, 90}, Ends{0, 2, 200, 150}));
}

TEST(PairMessages, OppositeOnesAreOnesOfTheirOwn) {
  TestRun run(2);
  run.add(0, send(0, 30, 1)).add(0, receive(50, 30, 1));
  run.add(1, receive(0, 30, 0)).add(1, send(60, 20, 0));
  EXPECT_THAT(ends_of(run), ElementsAre(Ends{0, 1, 0, 0}, Ends{1, 0, 60, 50}));
}

TEST(PairMessages, TheOtherOfTwoRanksNeedsNoName) {
  TestRun run(2);
  run.add(0, send(0, 30, -1));
  run.add(1, receive(0, 30, -1));
  EXPECT_THAT(ends_of(run), ElementsAre(Ends{0, 1, 0, 0}));
}

TEST(PairMessages, OfThreeRanksItDoes) {
  TestRun run(3);
  Call from = send(0, 30, -1);
  Call to = receive(0, 30, -1);
  from.ranks = to.ranks = "[0, 1, 2]";
  run.add(0, from).add(1, to);
  EXPECT_THAT(ends_of(run), IsEmpty());
}

TEST(PairMessages, NotWhereTheCountsOrSizesDiffer) {
  TestRun counts(2);
  counts.add(0, send(0, 30, 1)).add(0, send(100, 30, 1)).add(1, receive(0, 30, 0));
  EXPECT_THAT(ends_of(counts), IsEmpty());
  TestRun sizes(2);
  Call small = receive(0, 30, 0);
  small.in_elements = 1;
  sizes.add(0, send(0, 30, 1)).add(1, small);
  EXPECT_THAT(ends_of(sizes), IsEmpty());
}

// Two kernels of one size, of which one left before its receiver came.
TEST(PairMessages, ASenderThatLeftEarlyTellsThatBuffersHoldTheMessage) {
  TestRun run(2);
  run.add(0, send(0, 30, 1)).add(0, send(100, 30, 1));
  run.add(1, receive(50, 20, 0)).add(1, receive(110, 20, 0));
  EXPECT_THAT(ends_of(run), ElementsAre(Ends{0, 1, 0, 50, true}, Ends{0, 1, 100, 110, true}));
}

TEST(PairMessages, NotBetweenClocksThatNothingComparesUnlessSomeEndTogether) {
  TestRun apart(2);
  apart.add(0, send(0, 30, 1)).add(0, send(10000, 30, 1));
  apart.add(1, receive(3000, 30, 0)).add(1, receive(13000, 30, 0));
  EXPECT_THAT(ends_of(apart), IsEmpty());
  apart.add_to({0, 1}, {.start_us = 20000, .duration_us = 100});
  EXPECT_THAT(ends_of(apart),
              ElementsAre(Ends{0, 1, 0, 3000, true}, Ends{0, 1, 10000, 13000, true}));
}

}  // namespace
}  // namespace assay::trace::collectives
