#include "allreduce/call_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "allreduce/strategy_table.h"

namespace assay::allreduce {
namespace {

using testing::HasSubstr;

// Buffers that a call may point to; the second of each pair is not aligned.
struct alignas(16) Place {
  std::array<char, 16> bytes{};
};

std::array<Place, 8> places;  // NOLINT: only their addresses matter

const void* place(int number) {
  return &places.at(static_cast<std::size_t>(number));
}

void* writable(int number) {
  return &places.at(static_cast<std::size_t>(number));
}

// A device layer that runs a call, or says why it cannot, by rules of its own: what the kernels
// need, stated again.
class FakeDevice : public Abilities {
 public:
  int ranks = 4;
  bool deterministic = false;
  bool connected = true;
  bool broken = false;
  bool has_nccl = true;
  std::int64_t push_bytes = 1 << 20;
  std::int64_t most_row_bytes = 1 << 16;
  std::optional<Strategy> table;

  [[nodiscard]] Problem problem() const override {
    if (broken) return {ASSAY_ALLREDUCE_FAILED, "broken"};
    if (!connected) return {ASSAY_ALLREDUCE_UNSUPPORTED, "not connected"};
    return {};
  }

  [[nodiscard]] std::string refusal(Strategy strategy,
                                    const assay_allreduce_call& call) const override {
    return why_it_fails(strategy, call);
  }

  [[nodiscard]] std::optional<Strategy> table_choice(
      const assay_allreduce_call& /*call*/) const override {
    return table;
  }

  [[nodiscard]] int world_size() const override { return ranks; }

  [[nodiscard]] bool is_deterministic() const override { return deterministic; }

  // Empty when the device would run the call.
  [[nodiscard]] std::string why_it_fails(Strategy strategy,
                                         const assay_allreduce_call& call) const {
    const std::int64_t row =
        message_bytes(1, call.hidden_size, static_cast<DataType>(call.data_type));
    const bool fused = call.fusion != ASSAY_ALLREDUCE_FUSION_NONE;
    if (fused && row > most_row_bytes) return "the row is too long";
    if (call.operation != ASSAY_ALLREDUCE_ALL_REDUCE && strategy != Strategy::kTwoshotPush)
      return "all-reduce only";
    switch (strategy) {
      case Strategy::kOneshot:
        return call.num_tokens * row * ranks > 2 * push_bytes ? "too large" : "";
      case Strategy::kTwoshotPush:
        return call.num_tokens * row > push_bytes ? "too large" : "";
      case Strategy::kTwoshot:
        return no_place_for_sum(call);
      case Strategy::kNccl:
        return has_nccl ? no_place_for_sum(call) : "no NCCL";
      default:
        return "no windows";
    }
  }

 private:
  [[nodiscard]] static std::string no_place_for_sum(const assay_allreduce_call& call) {
    const bool fused = call.fusion != ASSAY_ALLREDUCE_FUSION_NONE;
    return fused && call.output == nullptr && call.residual_out == call.residual_in
               ? "no place for the sum"
               : "";
  }
};

assay_allreduce_call plain_call() {
  assay_allreduce_call call{};
  call.size = sizeof call;
  call.strategy = ASSAY_ALLREDUCE_AUTO;
  call.num_tokens = 4;
  call.hidden_size = 128;
  call.input = place(0);
  call.output = writable(1);
  return call;
}

// A call that quantises in place and has no `output`.
assay_allreduce_call quantising_in_place() {
  assay_allreduce_call call = plain_call();
  call.fusion = ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_FP8;
  call.output = nullptr;
  call.residual_in = place(2);
  call.residual_out = writable(2);
  call.gamma = place(3);
  call.scale = static_cast<const float*>(place(4));
  call.quantized = writable(5);
  return call;
}

TEST(CallRulesTest, AutoNeverTakesWhatHasNoPlaceForTheSum) {
  FakeDevice device;
  for (const auto table : {std::optional<Strategy>(), std::optional(Strategy::kTwoshot),
                           std::optional(Strategy::kNccl)}) {
    device.table = table;
    const Verdict verdict = judge(quantising_in_place(), device);
    EXPECT_EQ(verdict.status, ASSAY_ALLREDUCE_OK) << verdict.message;
    EXPECT_EQ(verdict.strategy, Strategy::kOneshot);
  }
}

TEST(CallRulesTest, BeyondThePushCapacityAQuantisingCallInPlaceIsUnsupported) {
  FakeDevice device;
  assay_allreduce_call call = quantising_in_place();
  call.num_tokens = 1 << 20;
  EXPECT_EQ(judge(call, device).status, ASSAY_ALLREDUCE_UNSUPPORTED);
  call.residual_out = writable(6);
  EXPECT_EQ(judge(call, device).strategy, Strategy::kNccl);
  device.has_nccl = false;
  EXPECT_EQ(judge(call, device).strategy, Strategy::kTwoshot);
}

TEST(CallRulesTest, TheTableDecidesWhereItCan) {
  FakeDevice device;
  EXPECT_EQ(judge(plain_call(), device).strategy, Strategy::kNccl);
  device.table = Strategy::kTwoshot;
  EXPECT_EQ(judge(plain_call(), device).strategy, Strategy::kTwoshot);
  device.table = Strategy::kNcclSymmetric;
  EXPECT_EQ(judge(plain_call(), device).strategy, Strategy::kOneshot);
  assay_allreduce_call large = plain_call();
  large.num_tokens = 1 << 20;
  device.table = Strategy::kTwoshotPush;
  EXPECT_EQ(judge(large, device).strategy, Strategy::kNccl) << "beyond the workspace";
  device.has_nccl = false;
  EXPECT_EQ(judge(large, device).strategy, Strategy::kTwoshot);
}

TEST(CallRulesTest, DeterministicNeverTakesNccl) {
  FakeDevice device;
  device.deterministic = true;
  for (const auto table : {std::optional<Strategy>(), std::optional(Strategy::kNccl)}) {
    device.table = table;
    assay_allreduce_call call = plain_call();
    EXPECT_EQ(judge(call, device).strategy, Strategy::kOneshot);
    call.num_tokens = 1 << 12;
    EXPECT_EQ(judge(call, device).strategy, Strategy::kTwoshotPush);
    call.num_tokens = 1 << 20;
    EXPECT_EQ(judge(call, device).strategy, Strategy::kTwoshot);
    call.strategy = ASSAY_ALLREDUCE_NCCL;
    EXPECT_EQ(judge(call, device).strategy, Strategy::kNccl) << "where it is named";
  }
}

TEST(CallRulesTest, ZeroTokensAreNoWork) {
  FakeDevice device;
  assay_allreduce_call call = plain_call();
  call.num_tokens = 0;
  call.input = nullptr;
  call.output = nullptr;
  const Verdict verdict = judge(call, device);
  EXPECT_EQ(verdict.status, ASSAY_ALLREDUCE_OK);
  EXPECT_FALSE(verdict.strategy.has_value());
  call.num_tokens = -1;
  EXPECT_EQ(judge(call, device).status, ASSAY_ALLREDUCE_INVALID);
  call.num_tokens = 0;
  device.connected = false;
  EXPECT_EQ(judge(call, device).status, ASSAY_ALLREDUCE_UNSUPPORTED);
  device.broken = true;
  EXPECT_EQ(judge(call, device).status, ASSAY_ALLREDUCE_FAILED);
}

struct Wrong {
  const char* says;
  void (*change)(assay_allreduce_call& call);
};

class CallRulesWrongTest : public testing::TestWithParam<Wrong> {};

TEST_P(CallRulesWrongTest, IsInvalid) {
  assay_allreduce_call call = quantising_in_place();
  ASSERT_EQ(judge(call, FakeDevice()).status, ASSAY_ALLREDUCE_OK);
  GetParam().change(call);
  const Verdict verdict = judge(call, FakeDevice());
  EXPECT_EQ(verdict.status, ASSAY_ALLREDUCE_INVALID);
  EXPECT_THAT(verdict.message, HasSubstr(GetParam().says));
}

using Call = assay_allreduce_call;

INSTANTIATE_TEST_SUITE_P(
    All,
    CallRulesWrongTest,
    testing::Values(
        Wrong{"strategy",
              [](Call& call) { call.strategy = static_cast<assay_allreduce_strategy>(99); }},
        Wrong{"operation", [](Call& call) { call.operation = 3; }},
        Wrong{"only ALL_REDUCE", [](Call& call) { call.operation = 1; }},
        Wrong{"no multiple of the 4 ranks",
              [](Call& call) {
                call.operation = 2;
                call.fusion = ASSAY_ALLREDUCE_FUSION_NONE;
                call.num_tokens = 6;
              }},
        Wrong{"scale_layout", [](Call& call) { call.scale_layout = ASSAY_ALLREDUCE_SCALE_LINEAR; }},
        Wrong{"weight_bias", [](Call& call) { call.weight_bias = INFINITY; }},
        Wrong{"multiple of 128",
              [](Call& call) {
                call.scale_layout = ASSAY_ALLREDUCE_SCALE_PER_GROUP_128;
                call.hidden_size = 64;
              }},
        Wrong{"2^32", [](Call& call) { call.num_tokens = std::int64_t{1} << 32; }},
        Wrong{"threads", [](Call& call) { call.threads = 33; }},
        Wrong{"input is null", [](Call& call) { call.input = nullptr; }},
        Wrong{"scale is null", [](Call& call) { call.scale = nullptr; }},
        Wrong{"residual_out is null", [](Call& call) { call.residual_out = nullptr; }},
        Wrong{"gamma is not aligned",
              [](Call& call) { call.gamma = static_cast<const char*>(call.gamma) + 2; }}));

StrategyTable table_of(int world_size, int from_world_size) {
  StrategyTable table;
  table.sm_version = 90;
  table.slices = {{.world_size = world_size,
                   .rows = {{4096, {{0, Strategy::kOneshot}, {1 << 20, Strategy::kTwoshot}}}},
                   .origin = from_world_size == 0 ? Origin::kMeasured : Origin::kExtrapolated,
                   .from_world_size = from_world_size}};
  return table;
}

assay_allreduce_explanation explained(int ranks, const StrategyTable* table, Strategy chosen) {
  assay_allreduce_call call = plain_call();
  call.hidden_size = 4096;
  call.num_tokens = 45;  // 368,640 bytes
  return explanation_of(call, {.strategy = chosen}, ranks, 90, table);
}

TEST(CallRulesTest, AnExplanationSaysWhatWasMeasuredAndWhatTheLinksNeed) {
  const StrategyTable measured = table_of(4, 0);
  auto told = explained(4, &measured, Strategy::kOneshot);
  EXPECT_EQ(told.strategy, ASSAY_ALLREDUCE_ONESHOT);
  EXPECT_EQ(told.is_from_table, 1);
  EXPECT_EQ(told.is_extrapolated, 0);
  EXPECT_EQ(told.is_measured, 1);
  EXPECT_EQ(told.measured_world_size, 4);
  EXPECT_NEAR(told.link_limit_us, 3 * 368'640 / 450e3, 1e-9);

  told = explained(3, &measured, Strategy::kOneshot);
  EXPECT_EQ(told.is_extrapolated, 1) << "the choice of four GPUs";
  EXPECT_EQ(told.is_measured, 0);
  EXPECT_EQ(told.measured_world_size, 4);

  const StrategyTable extrapolated = table_of(8, 4);
  told = explained(8, &extrapolated, Strategy::kTwoshot);
  EXPECT_EQ(told.is_from_table, 0) << "ONESHOT could not, and TWOSHOT stands in";
  EXPECT_EQ(told.is_extrapolated, 1);
  EXPECT_EQ(told.measured_world_size, 4);
  EXPECT_NEAR(told.link_limit_us, 2 * 7.0 / 8 * 368'640 / 450e3, 1e-9);
}

TEST(CallRulesTest, AnExplanationSaysWhenAnotherTypeOrStrategyStandsIn) {
  StrategyTable table = table_of(4, 0);
  EXPECT_EQ(explained(4, &table, Strategy::kTwoshot).is_measured, 0) << "not the table's choice";
  table.slices[0].data_type = DataType::kFloat32;
  const auto told = explained(4, &table, Strategy::kOneshot);
  EXPECT_EQ(told.is_from_table, 1);
  EXPECT_EQ(told.is_extrapolated, 0);
  EXPECT_EQ(told.is_measured, 0) << "float32 stands in for the type that was asked for";
}

TEST(CallRulesTest, AnExplanationSaysWhenTheTableIsOfOtherGpus) {
  StrategyTable table = table_of(4, 0);
  table.sm_version = 100;
  const auto told = explained(4, &table, Strategy::kOneshot);
  EXPECT_EQ(told.is_from_table, 1);
  EXPECT_EQ(told.is_measured, 0);
}

TEST(CallRulesTest, AnExplanationSaysWhenTheMessageIsLargerThanAllThatWereTimed) {
  StrategyTable table = table_of(4, 0);
  table.slices[0].rows[0].measured_to_bytes = 368'640;
  EXPECT_EQ(explained(4, &table, Strategy::kOneshot).is_measured, 1);
  --table.slices[0].rows[0].measured_to_bytes;
  EXPECT_EQ(explained(4, &table, Strategy::kOneshot).is_measured, 0);
}

TEST(CallRulesTest, AnExplanationWithoutATableOrAFusionOfItIsNoMeasurement) {
  auto told = explained(4, nullptr, Strategy::kNccl);
  EXPECT_EQ(told.is_from_table, 0);
  EXPECT_EQ(told.measured_world_size, 0);
  EXPECT_GT(told.link_limit_us, 0);
  StrategyTable table = table_of(4, 0);
  table.slices[0].fusion = Fusion::kResidualRmsNorm;
  told = explained(4, &table, Strategy::kNccl);
  EXPECT_EQ(told.is_from_table, 1) << "its fallback";
  EXPECT_EQ(told.measured_world_size, 0);
  EXPECT_EQ(explanation_of(plain_call(), {}, 4, 90, &table).link_limit_us, 0) << "no work";
}

// Random tests ask for these.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}

  int below(int sides) { return std::uniform_int_distribution<int>(0, sides - 1)(engine_); }

  bool rarely() { return below(8) == 0; }

  void* pointer(int number) {
    if (rarely()) return nullptr;
    char* at = static_cast<char*>(writable(number));
    return below(40) == 0 ? at + 2 : at;
  }

 private:
  std::mt19937 engine_;
};

assay_allreduce_call random_call(Dice& dice) {
  const std::array strategies = {0, 3, 3, 3, 4, 5, 8, 100, 7};
  const std::array hidden = {8, 16, 128, 4096, 1 << 16, 12};
  const std::array tokens = {0, 1, 3, 64, 500, 100'000, -1};
  assay_allreduce_call call{};
  call.size = sizeof call;
  const auto at = [&](const auto& values) {
    return values.at(static_cast<std::size_t>(dice.below(static_cast<int>(values.size()))));
  };
  call.strategy = static_cast<assay_allreduce_strategy>(at(strategies));
  call.fusion = static_cast<assay_allreduce_fusion>(dice.below(4));
  call.data_type = static_cast<assay_allreduce_data_type>(dice.below(3));
  call.hidden_size = at(hidden);
  call.num_tokens = at(tokens);
  call.input = dice.pointer(0);
  call.output = dice.pointer(dice.below(2));
  call.residual_in = dice.pointer(2);
  call.residual_out = dice.pointer(2 + dice.below(2));
  call.gamma = dice.pointer(4);
  call.scale = static_cast<const float*>(dice.pointer(5));
  call.quantized = dice.pointer(6);
  call.scale_out = dice.pointer(7);
  if (dice.rarely()) call.operation = dice.below(3);
  if (dice.rarely()) call.scale_layout = dice.below(5);
  if (dice.rarely()) call.threads = 32 * dice.below(34) + dice.below(2);
  if (dice.rarely()) call.blocks = dice.below(4) - 1;
  if (dice.rarely()) call.weight_bias = dice.below(4) == 0 ? INFINITY : 1;
  if (dice.below(20) == 0) {
    call.fusion = static_cast<assay_allreduce_fusion>(dice.below(8) - 2);
    call.data_type = static_cast<assay_allreduce_data_type>(dice.below(6) - 2);
    call.operation = dice.below(6) - 2;
    call.scale_layout = dice.below(8) - 2;
  }
  return call;
}

FakeDevice random_device(Dice& dice) {
  const std::array tables = {Strategy::kNccl, Strategy::kOneshot, Strategy::kTwoshot,
                             Strategy::kNcclSymmetric, Strategy::kTwoshotPush};
  FakeDevice device;
  device.ranks = 2 + dice.below(7);
  device.deterministic = dice.below(2) == 0;
  device.connected = dice.below(30) != 0;
  device.has_nccl = dice.below(2) == 0;
  device.push_bytes = std::int64_t{1} << (8 + dice.below(20));
  if (!dice.rarely()) device.table = tables.at(static_cast<std::size_t>(dice.below(5)));
  return device;
}

// Whatever is called OK runs, and AUTO fails only where no strategy that it may take would run.
TEST(CallRulesTest, VerdictsHoldAtRandom) {
  Dice dice(19);
  int ran = 0;
  int refused = 0;
  for (int i = 0; i < 200'000; ++i) {
    const FakeDevice device = random_device(dice);
    const assay_allreduce_call call = random_call(dice);
    const Verdict verdict = judge(call, device);
    if (verdict.status != ASSAY_ALLREDUCE_OK) {
      ASSERT_FALSE(verdict.message.empty());
      ASSERT_FALSE(verdict.strategy.has_value());
    }
    if (verdict.strategy) {
      ASSERT_EQ(shape_problem(call, device.ranks), "");
      ASSERT_GT(call.num_tokens, 0);
      ASSERT_EQ(device.why_it_fails(*verdict.strategy, call), "");
      ASSERT_EQ(pointer_problem(call), "");
      ASSERT_TRUE(call.strategy == ASSAY_ALLREDUCE_AUTO ||
                  static_cast<int>(call.strategy) == static_cast<int>(*verdict.strategy));
      ++ran;
      continue;
    }
    const bool right = shape_problem(call, device.ranks).empty() && pointer_problem(call).empty() &&
                       device.connected && call.num_tokens > 0;
    if (!right || call.strategy != ASSAY_ALLREDUCE_AUTO) continue;
    for (const Strategy strategy : {Strategy::kOneshot, Strategy::kTwoshotPush, Strategy::kTwoshot})
      ASSERT_NE(device.why_it_fails(strategy, call), "") << verdict.message;
    ASSERT_TRUE(device.deterministic || !device.why_it_fails(Strategy::kNccl, call).empty());
    ++refused;
  }
  EXPECT_GT(ran, 10'000);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace assay::allreduce
