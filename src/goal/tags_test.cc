#include "goal/tags.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "goal/goal_test_util.h"

namespace assay::goal {
namespace {

using model::Job;
using model::NcclAlgorithm;
using model::NcclFunction;
using model::NcclProtocol;

// Three AllReduces of two GPUs, in each of which they send 2 messages to each other.
Job small_job() {
  Job job = make_test_job({2, 2});
  for (int i = 0; i < 3; ++i) {
    add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                        NcclProtocol::kLl, 64, 1));
  }
  return job;
}

struct Planned {
  std::string error;
  TagPlan plan;
};

Planned plan(const Job& job, const TagOptions& options) {
  const auto resolved = resolve(job, Misfits::kFail);
  EXPECT_TRUE(resolved.ok()) << resolved.error().message;
  auto made = plan_tags(resolved.value(), options);
  if (!made.ok()) return {made.error().message, {}};
  return {"", std::move(made).value()};
}

TEST(Tags, AutomaticOnesNumberEachOperation) {
  const Planned made = plan(small_job(), {});
  EXPECT_EQ(made.plan.layout.name, "bits");
  EXPECT_EQ(made.plan.layout.label_width, 2U);
  EXPECT_EQ(made.plan.layout.id_width, 29U);
  EXPECT_EQ(made.plan.labels, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(made.plan.tag(2, 5), (2U << 29) + 5);
}

TEST(Tags, LayoutsSayWhereLabelAndNumberStand) {
  const Planned bits = plan(small_job(), {.layout = "bits:20/11"});
  EXPECT_EQ(bits.error, "");
  EXPECT_EQ(bits.plan.tag(1, 3), (1U << 20) + 3);
  const Planned decimal = plan(small_job(), {.layout = "decimal:4/5", .label = "700 + sequence"});
  EXPECT_EQ(decimal.error, "");
  EXPECT_EQ(decimal.plan.tag(2, 9), 7020009U);
  EXPECT_EQ(decimal.plan.layout.label_fields, std::vector<std::string>{"700 + sequence"});
  const Planned none = plan(small_job(), {.layout = "none"});
  EXPECT_EQ(none.error, "");
  EXPECT_EQ(none.plan.tag(2, 9), 9U);
  EXPECT_EQ(none.plan.tag(2, 1ULL << 31), 0U);
}

TEST(Tags, LayoutsThatAreTooNarrowAreRefused) {
  EXPECT_EQ(plan(small_job(), {.layout = "bits:30/1"}).error,
            "tag layout 'bits:30/1' is too narrow: rank 0 sends 2 messages to rank 1 with label "
            "2, which takes 1 bits for the number, and labels go up to 2, which takes 2; "
            "bits:29/2 would do");
  EXPECT_EQ(plan(small_job(), {.layout = "bits:29/2"}).error, "");
  EXPECT_NE(plan(small_job(), {.layout = "decimal:9/0"}).error.find("decimal:8/1 would do"),
            std::string::npos);
  EXPECT_EQ(plan(small_job(), {.layout = "decimal:1/1"}).error, "");
  EXPECT_NE(plan(small_job(), {.layout = "bits:1/30", .label = "1073741824 + sequence"})
                .error.find("no widths would do"),
            std::string::npos);
}

TEST(Tags, LabelsThatAreTooLargeAreRefused) {
  EXPECT_EQ(plan(small_job(), {.label = "sequence - 100"}).error,
            "label 'sequence - 100' is -100 for operation 0: it must be at least 0");
  EXPECT_NE(plan(small_job(), {.label = "sequence + 2147483647"}).error.find("more than the 31"),
            std::string::npos);
  EXPECT_NE(plan(small_job(), {.label = "sequence - 1"}).error.find("is -1 for operation 0"),
            std::string::npos);
  // The label alone fits, but leaves no bit for two messages.
  EXPECT_NE(plan(small_job(), {.label = "sequence + 2147483640"}).error.find("a tag has 31. Make"),
            std::string::npos);
}

// The last of n messages has the number n - 1.
TEST(Tags, AsManyMessagesFitAsTheNumberHasValues) {
  // 2 messages need 1 bit, 10 need 1 digit.
  EXPECT_EQ(plan(small_job(), {.label = "sequence + 1073741820"}).error, "");
  EXPECT_EQ(plan(small_job(), {.layout = "bits:1/2"}).error, "");
  Job job = make_test_job({2, 2});
  for (int i = 0; i < 5; ++i) {
    add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                        NcclProtocol::kLl, 64, 1));
  }
  EXPECT_EQ(plan(job, {.layout = "decimal:1/1", .label = "7"}).error, "");
  add_collective(job, test_collective(NcclFunction::kAllReduce, NcclAlgorithm::kRing,
                                      NcclProtocol::kLl, 64, 1));
  EXPECT_NE(plan(job, {.layout = "decimal:1/1", .label = "7"})
                .error.find("sends 12 messages to rank 1 with label 7, which takes 2 digits"),
            std::string::npos);
}

TEST(Tags, NoTwoMessagesOfAPairShareATag) {
  const Job job = small_job();
  const auto resolved = resolve(job, Misfits::kFail);
  ASSERT_TRUE(resolved.ok());
  for (const char* label : {"", "sequence % 2", "7"}) {
    const auto made = plan_tags(resolved.value(), {.label = label});
    ASSERT_TRUE(made.ok()) << made.error().message;
    std::set<std::uint32_t> sent;
    std::size_t messages = 0;
    TagBook sender(resolved.value(), 0, made.value());
    TagBook receiver(resolved.value(), 1, made.value());
    MessageCounter counter(resolved.value(), 0);
    for (std::size_t call = 0; call < 3; ++call) {
      const std::uint32_t exchange = resolved.value().gpus[0].calls[call].exchange;
      const auto sends = counter.count(resolved.value().gpus[0].calls[call])[0].sends;
      ASSERT_EQ(sender.entries(call).size(), 1U);
      EXPECT_EQ(sender.entries(call)[0].next_send, receiver.entries(call)[0].next_receive);
      for (std::uint32_t i = 0; i < sends; ++i) {
        sent.insert(made.value().tag(exchange, sender.entries(call)[0].next_send + i));
        ++messages;
      }
    }
    EXPECT_EQ(sent.size(), messages) << label;
    EXPECT_EQ(messages, 6U);
  }
}

TEST(TagWidths, AreReadStrictly) {
  const auto bits = read_tag_widths("bits:20/11");
  ASSERT_TRUE(bits.ok());
  EXPECT_EQ(bits.value().unit, TagWidths::Unit::kBits);
  EXPECT_EQ(bits.value().id, 20U);
  EXPECT_EQ(bits.value().label, 11U);
  const auto decimal = read_tag_widths("decimal:9/0");
  ASSERT_TRUE(decimal.ok());
  EXPECT_EQ(decimal.value().unit, TagWidths::Unit::kDigits);
  for (const char* garbage :
       {"", "bits", "bits:", "bits:/", "bits:20", "bits:20/", "bits:/11", "bits:20/11x",
        "bits:-1/5", "bits: 20/11", "bits:20/+11", "/:", "octal:3/4", "bits/20:11", "decimal",
        "Bits:20/11", "bits:99999999999/1"}) {
    const auto read = read_tag_widths(garbage);
    ASSERT_FALSE(read.ok()) << garbage;
    EXPECT_NE(read.error().message.find("expected auto, none, legacy, bits:NUMBER/LABEL"),
              std::string::npos);
  }
  for (const char* wide : {"bits:32/0", "bits:20/12", "decimal:5/5", "bits:0/5",
                           "bits:4294967295/4294967295", "decimal:0/9"}) {
    const auto read = read_tag_widths(wide);
    ASSERT_FALSE(read.ok()) << wide;
    EXPECT_NE(read.error().message.find("must add up to at most"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::goal
