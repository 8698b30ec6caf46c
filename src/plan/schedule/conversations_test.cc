#include "plan/schedule/conversations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "plan/schedule/copies.h"
#include "plan/schedule/disaggregated.h"
#include "plan/schedule/policy.h"
#include "plan/schedule/request_trace.h"
#include "plan/schedule/simulate.h"

namespace assay::plan {
namespace {

using ::testing::HasSubstr;

// 10 ms a step, and 0.1 ms for each token of a prompt that it computes.
class PromptCost final : public StepCost {
 public:
  [[nodiscard]] double ms(const Step& step) const override {
    return 10 + 0.1 * static_cast<double>(step.prompt_tokens());
  }
};

Workload one_conversation(std::int64_t turns, double delay_ms = 0) {
  const std::vector<SaidTurn> said(static_cast<std::size_t>(turns),
                                   {.new_tokens = 64, .output_tokens = 33, .delay_ms = delay_ms});
  Workload made = no_conversations();
  EXPECT_TRUE(add_conversation(said, 0, Turn::kNone, 0, made).ok());
  EXPECT_TRUE(check_workload(made).ok());
  return made;
}

Limits vllm_limits(std::int64_t kv_tokens) {
  Limits limits = policy_of(Engine::kVllm).defaults();
  limits.kv_tokens = kv_tokens;
  limits.graph_batches.clear();
  return limits;
}

ServingMetrics run_on_vllm(const Workload& workload, std::int64_t kv_tokens = 100'000) {
  const auto found =
      simulate(PromptCost(), policy_of(Engine::kVllm), vllm_limits(kv_tokens), workload);
  EXPECT_TRUE(found.ok()) << found.error().message;
  return found.value();
}

TEST(Conversations, PromptsHoldAllThatWasSaid) {
  const Workload made = one_conversation(3);
  ASSERT_EQ(made.requests.size(), 3U);
  EXPECT_EQ(made.requests[0].prompt_tokens, 64);
  EXPECT_EQ(made.requests[1].prompt_tokens, 64 + 33 + 64);
  EXPECT_EQ(made.requests[2].prompt_tokens, 2 * (64 + 33) + 64);
  EXPECT_EQ(made.turns[1].number, 2);
  EXPECT_EQ(made.turns[0].next, 1U);
  EXPECT_EQ(made.turns[2].next, Turn::kNone);
}

TEST(Conversations, TheNextTurnComesWhenTheUserHasThought) {
  const ServingMetrics at_once = run_on_vllm(one_conversation(3, 0));
  const ServingMetrics later = run_on_vllm(one_conversation(3, 500));
  EXPECT_NEAR(later.duration_ms - at_once.duration_ms, 2 * 500, 1e-6);
  EXPECT_NEAR(later.ttft_ms.mean, at_once.ttft_ms.mean, 1e-6);
}

TEST(Conversations, TheHistoryIsFoundInTheCache) {
  const ServingMetrics found = run_on_vllm(one_conversation(3));
  ASSERT_EQ(found.turns.size(), 3U);
  EXPECT_EQ(found.turns[0].found_tokens, 0);
  // Of the 97 tokens said before it, but the last, whole pieces of 32.
  EXPECT_EQ(found.turns[1].found_tokens, 96);
  EXPECT_EQ(found.turns[2].found_tokens, 192);
  // What is not found is computed: 64, 161 - 96 and 258 - 192 tokens.
  EXPECT_EQ(found.prompt_tokens_computed, 64 + 65 + 66);
  EXPECT_NEAR(found.turns[1].ttft_ms.mean, 10 + 6.5, 1e-9);
}

// The cache holds one conversation and a half: each turn finds less than it had, or nothing.
TEST(Conversations, WhatWasThrownOutIsComputedAgain) {
  Workload made = no_conversations();
  const std::vector<SaidTurn> said(4, {.new_tokens = 320, .output_tokens = 32, .delay_ms = 5000});
  for (const double begin_ms : {0.0, 2500.0}) {
    const std::size_t client = made.requests.empty() ? 0 : 1;
    ASSERT_TRUE(add_conversation(said, client, Turn::kNone, begin_ms, made).ok());
  }
  ASSERT_TRUE(check_workload(made).ok());
  const auto reused = [&](std::int64_t kv_tokens) {
    std::int64_t tokens = 0;
    for (const TurnMetrics& turn : run_on_vllm(made, kv_tokens).turns)
      tokens += turn.found_tokens;
    return tokens;
  };
  const std::int64_t all = reused(100'000);
  EXPECT_GE(all, 2 * (32 * 10 + 32 * 21 + 32 * 32));
  const std::int64_t some = reused(2112);
  EXPECT_LT(some, all);
  EXPECT_GT(some, 0);
  EXPECT_LT(reused(1500), some);
}

// The tail of a conversation is thrown out before its beginning, which it needs to be found.
TEST(Conversations, TheBeginningIsKeptLongest) {
  Workload made = no_conversations();
  const std::vector<SaidTurn> said(2, {.new_tokens = 320, .output_tokens = 32, .delay_ms = 5000});
  ASSERT_TRUE(add_conversation(said, 0, Turn::kNone, 0, made).ok());
  const std::vector<SaidTurn> other(1, {.new_tokens = 640, .output_tokens = 32});
  ASSERT_TRUE(add_conversation(other, 1, Turn::kNone, 2500, made).ok());
  // The other one takes 42 blocks of 16 tokens.
  const ServingMetrics found = run_on_vllm(made, 672 + 192);
  EXPECT_EQ(found.turns[1].found_tokens, 192);
}

TEST(Conversations, SameSeedSameConversations) {
  const ConversationSpec spec{
      .conversations = 50,
      .prompt = {.kind = Lengths::Kind::kUniform, .tokens = 200, .ratio = 0.5},
      .output = {.tokens = 40},
      .turns = {.mean = 4, .deviation = 2},
      .delay_ms = {.mean = 100, .deviation = 300},
      .per_second = 2,
      .seed = 3};
  const Workload one = make_conversations(spec).value();
  const Workload two = make_conversations(spec).value();
  ASSERT_EQ(one.requests.size(), two.requests.size());
  for (std::size_t i = 0; i < one.requests.size(); ++i) {
    EXPECT_EQ(one.requests[i].prompt_tokens, two.requests[i].prompt_tokens);
    EXPECT_EQ(one.turns[i].delay_ms, two.turns[i].delay_ms);
    EXPECT_GE(one.turns[i].delay_ms, 0);
  }
  EXPECT_NEAR(static_cast<double>(one.requests.size()) / 50, 4, 1);
  EXPECT_TRUE(check_workload(one).ok());
}

TEST(Conversations, OfClientsFollowEachOther) {
  const ConversationSpec spec{.conversations = 7,
                              .prompt = {.tokens = 64},
                              .output = {.tokens = 8},
                              .turns = {.mean = 2},
                              .clients = 3};
  const Workload made = make_conversations(spec).value();
  EXPECT_TRUE(check_workload(made).ok());
  std::int64_t begin_at_once = 0;
  for (std::size_t i = 0; i < made.requests.size(); ++i)
    begin_at_once += made.follows(i) ? 0 : 1;
  EXPECT_EQ(begin_at_once, 3);
  const ServingMetrics found = run_on_vllm(made);
  EXPECT_EQ(found.measured_requests, 14);
  EXPECT_LE(found.mean_batch, 3);
}

// Copies keep what their clients said, so that two find as much as one.
TEST(Conversations, ClientsStayWithTheirCopy) {
  const ConversationSpec spec{.conversations = 10,
                              .prompt = {.tokens = 320},
                              .output = {.tokens = 64},
                              .turns = {.mean = 3},
                              .delay_ms = {.mean = 50},
                              .per_second = 1};
  const Workload made = make_conversations(spec).value();
  const auto computed = [&](std::int64_t copies, std::int64_t groups) {
    Limits limits = vllm_limits(100'000);
    limits.groups = groups;
    return simulate_copies(PromptCost(), policy_of(Engine::kVllm), limits, made, {.copies = copies})
        .value()
        .prompt_tokens_computed;
  };
  EXPECT_EQ(computed(1, 1), computed(3, 1));
  EXPECT_EQ(computed(1, 1), computed(1, 4));
}

// Instances of prompts have no answers in their caches.
TEST(Conversations, PoolsComputeAnswersAgain) {
  const Workload made = one_conversation(3);
  const PromptCost cost;
  const Limits limits = vllm_limits(100'000);
  const auto found = simulate_disaggregated_copies(
      policy_of(Engine::kVllm), {&cost, limits, 2}, {&cost, limits, 2},
      {.bytes_per_token = 1000, .gbps = 100}, made, {});
  ASSERT_TRUE(found.ok()) << found.error().message;
  const auto& turns = found.value().serving.turns;
  ASSERT_EQ(turns.size(), 3U);
  EXPECT_EQ(turns[1].found_tokens, 64);
  EXPECT_EQ(turns[2].found_tokens, 160);
}

TEST(Conversations, OfATraceAreItsSessions) {
  const auto made = parse_request_trace(
      R"({"session_id": "b", "timestamp": 2000, "input_length": 100, "output_length": 10}
{"session_id": "a", "timestamp": 1000, "input_length": 50, "output_length": 5}
{"session_id": "b", "delay": 300, "input_length": 20, "output_length": 10}
)",
      "trace.jsonl");
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Workload& workload = made.value();
  ASSERT_EQ(workload.requests.size(), 3U);
  EXPECT_EQ(workload.requests[0].prompt_tokens, 50);
  EXPECT_EQ(workload.requests[1].arrival_ms, 1000);
  EXPECT_EQ(workload.requests[2].prompt_tokens, 130);
  EXPECT_EQ(workload.turns[2].delay_ms, 300);
  EXPECT_TRUE(check_workload(workload).ok());
}

TEST(Conversations, OfATraceThatAreWrong) {
  const auto problem = [](const char* lines) {
    const auto made = parse_request_trace(lines, "trace.jsonl");
    return made.ok() ? "" : made.error().message;
  };
  EXPECT_THAT(problem(R"({"session_id": 1, "input_length": 1, "output_length": 9000000000000000})"),
              HasSubstr("at most 100000000"));
  EXPECT_THAT(problem(R"({"session_id": 1, "input_length": 0, "output_length": 1})"),
              HasSubstr("0 new and 1 output tokens"));
  EXPECT_THAT(problem("{\"session_id\": 1, \"input_length\": 5, \"output_length\": 1}\n"
                      "{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 1}"),
              HasSubstr("line 2: some lines have a 'session_id'"));
  EXPECT_THAT(problem(R"({"session_id": 1, "input_length": 5, "output_length": 1, "delay": -1})"),
              HasSubstr("a delay of -1 ms"));
  EXPECT_THAT(problem("{\"session_id\": 1, \"input_length\": 5, \"output_length\": 1}\n"
                      "{\"session_id\": 1, \"timestamp\": 9, \"input_length\": 5, "
                      "\"output_length\": 1}"),
              HasSubstr("'timestamp' is of the first turn"));
  EXPECT_THAT(
      problem(R"({"session_id": 1, "input_length": 5, "output_length": 1, "hash_ids": []})"),
      HasSubstr("a turn of a conversation has 'hash_ids'"));
}

TEST(Conversations, ThatMakeNoSense) {
  const ConversationSpec spec{
      .conversations = 5, .prompt = {.tokens = 64}, .output = {.tokens = 8}, .clients = 1};
  const auto problem = [](const ConversationSpec& of) {
    const auto made = make_conversations(of);
    return made.ok() ? "" : made.error().message;
  };
  EXPECT_EQ(problem(spec), "");
  ConversationSpec other = spec;
  other.turns.mean = 0.5;
  EXPECT_THAT(problem(other), HasSubstr("0.5 turns in the mean"));
  other = spec;
  other.clients = 0;
  EXPECT_THAT(problem(other), HasSubstr("clients that hold them, or a rate"));
  other = spec;
  other.prompt.tokens = 900'000;
  other.turns.mean = 2;
  EXPECT_THAT(problem(other), HasSubstr("longer than 1000000 tokens"));
}

// Requests by themselves on two copies of two pools are as those of each copy alone.
TEST(DisaggregatedCopies, ServeTheirShare) {
  const PromptCost cost;
  const Limits limits = vllm_limits(100'000);
  const Workload all =
      make_workload({.requests = 40,
                     .prompt = {.tokens = 400},
                     .output = {.tokens = 20},
                     .arrivals = {.kind = Arrivals::Kind::kConstant, .per_second = 20}})
          .value();
  Workload half;
  for (std::size_t i = 0; i < all.requests.size(); i += 2)
    half.requests.push_back(all.requests[i]);
  const auto run = [&](const Workload& workload, std::int64_t copies) {
    return simulate_disaggregated_copies(policy_of(Engine::kVllm), {&cost, limits, 1},
                                         {&cost, limits, 2}, {.bytes_per_token = 1000, .gbps = 100},
                                         workload, {copies, {.ttft_ms = 200}})
        .value();
  };
  const auto two = run(all, 2);
  const auto one = run(half, 1);
  EXPECT_NEAR(two.serving.ttft_ms.p90, one.serving.ttft_ms.p90, 1e-9);
  EXPECT_NEAR(two.serving.tpot_ms.mean, one.serving.tpot_ms.mean, 1e-9);
  EXPECT_EQ(two.serving.measured_requests, 40);
  EXPECT_EQ(two.serving.good_share, one.serving.good_share);
  EXPECT_EQ(two.serving.prompt_tokens_computed, 40 * 400);
  EXPECT_THAT(two.serving.turns, ::testing::IsEmpty());
}

}  // namespace
}  // namespace assay::plan
