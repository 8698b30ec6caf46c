#include "store/answers/family.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cmath>

#include "store/answers/query.h"
#include "store/answers/surface.h"
#include "store/database/store_test_util.h"

namespace assay::store {
namespace {

using testing::HasSubstr;

constexpr const char* kDecoding = "generation_attention_perf";
constexpr const char* kDecodingColumns =
    "batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,attn_dtype,kv_cache_dtype,"
    "step,latency\n";

// 4 us and what the caches take at a fixed rate.
double decoding_ms(double batch, double heads, double kv_heads, double step) {
  return 0.004 + batch * (step + 1) * kv_heads * 1e-7 + batch * heads * 1e-6;
}

std::string decoding_row(double batch, double heads, double kv_heads, double step) {
  return fmt::format("{},1,{},{},128,0,bfloat16,bfloat16,{},{}\n", batch, heads, kv_heads, step,
                     decoding_ms(batch, heads, kv_heads, step));
}

// Batches of powers of 2 at 8 and 64 heads.
std::string decoding_rows(double heads, double kv_heads) {
  std::string rows;
  for (double batch = 1; batch <= 256; batch *= 2) {
    for (double step = 127; step < 40000; step = step * 4 + 3)
      rows += decoding_row(batch, heads, kv_heads, step);
  }
  return rows;
}

// The bytes of the caches at the rate of decoding_ms().
Roofline decoding_roofline(const std::vector<std::string>& sizes) {
  const auto at = [&](const char* name) {
    return static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), name) - sizes.begin());
  };
  return [batch = at("batch_size"), kv_heads = at("num_key_value_heads"),
          step = at("step")](std::span<const double> asked) {
    return asked[batch] * asked[kv_heads] * (asked[step] + 1) * 1e-7;
  };
}

WorkIndex index_of(const char* table, const std::string& csv, RooflineBinder binder) {
  auto index = WorkIndex::make(table, frame_of(csv), std::move(binder));
  EXPECT_TRUE(index.ok()) << (index.ok() ? "" : index.error().message);
  return std::move(index).value();
}

WorkIndex decoding_index(const std::string& rows) {
  return index_of(
      kDecoding, kDecodingColumns + rows,
      [](const auto&, const std::vector<std::string>& sizes) { return decoding_roofline(sizes); });
}

struct Told {
  WorkEstimate estimate;
  std::string method;
  std::string refusal;
};

Told ask(const WorkIndex& index,
         const std::vector<Condition>& conditions,
         Beyond beyond = Beyond::kRefuse) {
  const auto result = query(index, conditions, beyond);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (!result.ok()) return {};
  if (result.value().answers.empty())
    return {.estimate = {}, .method = {}, .refusal = result.value().refused.front().reason};
  const Answer& answer = result.value().answers.front();
  return {.estimate = answer.estimate,
          .method = index.family(answer.family).method(answer.estimate, answer.sizes),
          .refusal = {}};
}

Told ask_decoding(
    const WorkIndex& index, double batch, double heads, double kv_heads, double step) {
  return ask(index, {{"batch_size", fmt::format("{}", batch)},
                     {"num_heads", fmt::format("{}", heads)},
                     {"num_key_value_heads", fmt::format("{}", kv_heads)},
                     {"step", fmt::format("{}", step)}});
}

TEST(Family, GivesMeasuredRowsAsTheyAre) {
  const WorkIndex index = decoding_index(decoding_rows(8, 1));
  const Told told = ask_decoding(index, 16, 8, 1, 511);
  EXPECT_EQ(told.method, "exact");
  EXPECT_DOUBLE_EQ(told.estimate.latency, decoding_ms(16, 8, 1, 511));
  EXPECT_TRUE(std::isnan(told.estimate.sigma));
}

TEST(Family, TakesTheSameWorkInOtherColumns) {
  const WorkIndex index = decoding_index(decoding_rows(8, 1));
  const Told told = ask_decoding(index, 64, 16, 2, 511);
  EXPECT_THAT(told.method, HasSubstr("as batch_size=128 num_heads=8 num_key_value_heads=1"));
  EXPECT_NEAR(told.estimate.latency, decoding_ms(128, 8, 1, 511), 0.02 * told.estimate.latency);
  // Every model with 8 key-value heads at TP 4 has these.
  EXPECT_EQ(ask_decoding(index, 3, 16, 2, 700).refusal, "");
}

// Prompts of 130 to 256 tokens take equally long, though the least work of 130 is a quarter.
TEST(Family, ScalesByTheRooflineOfWholeTiles) {
  const auto least_ms = [](double batch, double kv_heads, double isl) {
    return batch * kv_heads * isl * isl * 1e-8;
  };
  std::string csv = kDecodingColumns;
  for (const double kv_heads : {2.0, 8.0}) {
    for (const double isl : {128.0, 256.0, 512.0, 1024.0}) {
      csv += fmt::format("4,{},{},{},128,0,bfloat16,bfloat16,0,{}\n", isl, 4 * kv_heads, kv_heads,
                         0.002 + 3 * least_ms(4, kv_heads, isl));
    }
  }
  const WorkIndex index = index_of(
      "context_attention_perf", csv, [&](const auto&, const std::vector<std::string>& sizes) {
        const auto at = [&](const char* name) {
          return static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), name) -
                                          sizes.begin());
        };
        return [=, batch = at("batch_size"), kv = at("num_key_value_heads"),
                isl = at("isl")](std::span<const double> asked) {
          return least_ms(asked[batch], asked[kv], asked[isl]);
        };
      });
  const auto prompt_ms = [&](const char* isl) {
    return ask(index, {{"batch_size", "4"},
                       {"num_heads", "16"},
                       {"num_key_value_heads", "4"},
                       {"isl", isl},
                       {"step", "0"}})
        .estimate.latency;
  };
  EXPECT_DOUBLE_EQ(prompt_ms("130"), prompt_ms("256"));
  EXPECT_NEAR(prompt_ms("130"), 0.002 + 3 * least_ms(4, 4, 256), 0.05 * prompt_ms("256"));
  EXPECT_LT(prompt_ms("128"), 0.5 * prompt_ms("130"));
}

TEST(Family, ScalesHeadsByTheRooflineBothWays) {
  const WorkIndex many = decoding_index(decoding_rows(64, 8));
  const Told fewer = ask_decoding(many, 64, 16, 2, 8191);
  const double truth = decoding_ms(64, 16, 2, 8191);
  EXPECT_NEAR(fewer.estimate.latency / truth, 1, 0.1) << fewer.method;
  const WorkIndex few = decoding_index(decoding_rows(8, 1));
  const Told more = ask_decoding(few, 32, 32, 4, 8191);
  EXPECT_NEAR(more.estimate.latency / decoding_ms(32, 32, 4, 8191), 1, 0.1) << more.method;
}

TEST(Family, SaysThatItScalesAndFromWhat) {
  const WorkIndex index = decoding_index(decoding_rows(64, 8));
  const Told told = ask_decoding(index, 64, 48, 8, 8191);
  EXPECT_THAT(told.method, HasSubstr("scaled by the roofline from 6 curves, the nearest "));
  EXPECT_GT(told.estimate.sigma, 0.005);
  EXPECT_LT(told.estimate.low_80(), told.estimate.latency);
  EXPECT_GT(told.estimate.high_80(), told.estimate.latency);
}

TEST(Family, RefusesWhatIsFarBeyondAndAnswersOnRequest) {
  const WorkIndex index = decoding_index(decoding_rows(8, 1));
  EXPECT_THAT(
      ask_decoding(index, 10000, 8, 1, 511).refusal,
      HasSubstr("batch_size x num_key_value_heads was measured from 1 to 256; 10000 is 39.1 "
                "times beyond that"));
  const auto extrapolate = [&](const char* batch) {
    return ask(
        index,
        {{"batch_size", batch}, {"num_heads", "8"}, {"num_key_value_heads", "1"}, {"step", "511"}},
        Beyond::kExtrapolate);
  };
  const Told told = extrapolate("10000");
  EXPECT_THAT(told.method, HasSubstr("extrapolated above the measured batch_size"));
  EXPECT_GT(told.estimate.sigma, 2 * extrapolate("512").estimate.sigma);
}

std::string product_rows(double step_at) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  for (const double n : {1024.0, 2048.0, 4096.0, 8192.0}) {
    for (const double m : {1.0, 64.0, 128.0, 192.0, 256.0, 1024.0}) {
      if (n == 4096 && m == 192) continue;
      const double waves = m > step_at ? 2 : 1;
      csv += fmt::format("fp8,{},{},4096,{}\n", m, n, waves * n * 1e-5);
    }
  }
  return csv;
}

// Between m=128 and m=256, all other weights jump after 192, as their kernels do.
TEST(Family, FollowsTheShapeOfTheWeightsBeside) {
  const WorkIndex index = index_of("gemm_perf", product_rows(192), nullptr);
  const Told told = ask(index, {{"m", "192"}, {"n", "4096"}, {"k", "4096"}});
  EXPECT_NEAR(told.estimate.latency / (4096 * 1e-5), 1, 0.1) << told.method;
  EXPECT_THAT(told.method, HasSubstr("linear in m"));
}

TEST(Family, RunsStraightAboveTheRooflineOnItsCurve) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  const auto roofline = [](double m) { return m > 300 ? m * 1e-3 : 0.3; };
  for (const double m : {16.0, 256.0, 512.0, 1024.0})
    csv += fmt::format("fp8,{},64,64,{}\n", m, roofline(m) + 0.01 + m * 1e-6);
  const WorkIndex index =
      index_of("gemm_perf", csv, [&](const auto&, const std::vector<std::string>&) -> Roofline {
        return [&](std::span<const double> sizes) { return roofline(sizes[0]); };
      });
  const Told told = ask(index, {{"m", "290"}, {"n", "64"}, {"k", "64"}});
  EXPECT_NEAR(told.estimate.latency, 0.31 + 290e-6, 0.02);
  EXPECT_GE(told.estimate.latency, roofline(290));
}

// All weights take ten times as long past m=128. That of the weight that ends there is not known,
// but it is the same kernel's.
TEST(Family, GoesOnPastItsCurveAsThoseBesideIt) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  for (const double n : {1024.0, 2048.0, 4096.0, 8192.0}) {
    for (const double m : {16.0, 32.0, 64.0, 128.0, 256.0, 512.0}) {
      const double own = n == 2048 ? 1.5 : 1;
      if (n != 2048 || m <= 128)
        csv += fmt::format("fp8,{},{},4096,{}\n", m, n, own * n * m * 1e-6 * (m > 128 ? 10 : 1));
    }
  }
  const WorkIndex index = index_of("gemm_perf", csv, nullptr);
  const Told told = ask(index, {{"m", "256"}, {"n", "2048"}, {"k", "4096"}});
  EXPECT_NEAR(told.estimate.latency / (1.5 * 2048 * 256 * 1e-5), 1, 0.15) << told.method;
  EXPECT_THAT(told.method, HasSubstr("past m=128 of its own"));
}

// Expects a row to be answered by the others as where those that are hidden had not been measured.
void expect_as_without(const WorkIndex& all,
                       const RooflineBinder& roofline,
                       std::uint32_t row,
                       HiddenRows hidden) {
  const Family& family = all.family(0);
  const auto is_kept = [&](std::size_t at) { return !hidden.has(static_cast<std::uint32_t>(at)); };
  const WorkIndex rest(kept_rows(all.rows(), is_kept), roofline);
  const Parts with = family.parts(family.sizes_of(row), Beyond::kRefuse, hidden);
  const Parts without = rest.family(0).parts(family.sizes_of(row), Beyond::kRefuse, {});
  ASSERT_EQ(with.has_own, without.has_own) << row;
  if (with.has_own) {
    EXPECT_DOUBLE_EQ(with.own.latency, without.own.latency) << row;
  }
  ASSERT_EQ(with.has_same, without.has_same) << row;
  if (with.has_same) {
    EXPECT_DOUBLE_EQ(with.same.latency, without.same.latency) << row;
  }
  EXPECT_DOUBLE_EQ(with.across.latency, without.across.latency) << row;
}

// Rows are left out of answers without making their family anew.
TEST(Family, PassesOverHiddenRowsAsIfTheyWereNotThere) {
  const WorkIndex all = decoding_index(decoding_rows(8, 1) + decoding_rows(64, 8));
  const Family& family = all.family(0);
  for (std::uint32_t row = 5; row < family.num_rows(); row += 7) {
    const std::array<HiddenRows, 3> ways{HiddenRows{.begin = row, .end = row + 1},
                                         family.curve_of(row), family.upper_half_of(row)};
    for (const HiddenRows hidden : ways) {
      if (!hidden.has(row)) continue;
      expect_as_without(
          all, [](const auto&, const auto& sizes) { return decoding_roofline(sizes); }, row,
          hidden);
    }
  }
}

// Products whose kernel at some sizes takes long, as cuBLASLt's at m=448, beside a weight where two
// sizes in a row do: there the larger sizes have another kernel.
std::string uneven_rows() {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  for (const double m : {64, 128, 256, 320, 384, 448, 512, 640, 1024}) {
    const double even = 0.05 + m * 2e-4;
    csv += fmt::format("fp8,{},4096,4096,{}\n", m, m == 448 || m == 128 ? 2 * even : even);
    csv += fmt::format("fp8,{},2048,4096,{}\n", m, m == 128 || m == 256 ? 0.4 : even);
  }
  return csv;
}

Roofline product_roofline(const std::vector<model::PerfField>&, const std::vector<std::string>&) {
  return [](std::span<const double> sizes) { return sizes[0] * sizes[1] * 2e-8; };
}

TEST(Family, ASizeThatTakesLongTellsNothingOfThoseBesideIt) {
  const WorkIndex index = index_of("gemm_perf", uneven_rows(), product_roofline);
  const auto latency = [&](const char* m, const char* n) {
    return ask(index, {{"m", m}, {"n", n}, {"k", "4096"}}).estimate.latency;
  };
  EXPECT_DOUBLE_EQ(latency("448", "4096"), 2 * (0.05 + 448 * 2e-4));
  EXPECT_NEAR(latency("456", "4096"), 0.05 + 456 * 2e-4, 0.015);
  EXPECT_NEAR(latency("440", "4096"), 0.05 + 440 * 2e-4, 0.015);
  const std::array<double, 3> between{192, 2048, 4096};
  EXPECT_NEAR(index.family(0).parts(between, Beyond::kRefuse, {}).own.latency, 0.4, 0.002);
}

TEST(Family, PassesOverHiddenRowsBesideSuchSizes) {
  const WorkIndex all = index_of("gemm_perf", uneven_rows(), product_roofline);
  const Family& family = all.family(0);
  for (std::uint32_t row = 0; row < family.num_rows(); ++row) {
    if (family.sizes_of(row)[0] == 64) continue;  // the least time is the floor of all rows
    const HiddenRows hidden{.begin = row, .end = row + 1};
    expect_as_without(all, product_roofline, row, hidden);
  }
}

// Eight weights that were measured at many sizes, and one of which only sizes are known that take
// twice as long as those beside them would.
std::string rows_with_a_slow_weight(const std::vector<double>& slow_sizes) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  const auto even = [](double m, double n) { return 0.01 + m * n * 3e-8; };
  for (double n = 2048; n <= 16384; n += 2048) {
    for (double m = 64; m <= 8192; m *= 2)
      csv += fmt::format("fp8,{},{},4096,{}\n{},{},{},4096,{}\n", m, n, even(m, n), "fp8", 1.5 * m,
                         n, even(1.5 * m, n));
  }
  for (const double m : slow_sizes)
    csv += fmt::format("fp8,{},9216,4096,{}\n", m, 2 * even(m, 9216));
  return csv;
}

TEST(Family, SlowSizesAtTheEndOfACurveTellNothingOfThosePastIt) {
  const double even = 0.01 + 4096 * 9216 * 3e-8;
  for (const std::vector<double>& sizes :
       {std::vector<double>{448}, std::vector<double>{416, 448}, std::vector<double>{448, 512}}) {
    const WorkIndex index = index_of("gemm_perf", rows_with_a_slow_weight(sizes), product_roofline);
    const Told own = ask(index, {{"m", "4096"}, {"n", "9216"}, {"k", "4096"}});
    EXPECT_NEAR(own.estimate.latency / even, 1, 0.03) << own.method;
    const Told beside = ask(index, {{"m", "4096"}, {"n", "9220"}, {"k", "4096"}});
    EXPECT_NEAR(beside.estimate.latency / even, 1, 0.03) << beside.method;
    const Told exact = ask(index, {{"m", "448"}, {"n", "9216"}, {"k", "4096"}});
    EXPECT_DOUBLE_EQ(exact.estimate.latency, 2 * (0.01 + 448 * 9216 * 3e-8));
  }
}

TEST(Family, PassesOverHiddenRowsBesideSlowEnds) {
  const WorkIndex all =
      index_of("gemm_perf", rows_with_a_slow_weight({416, 448}), product_roofline);
  const Family& family = all.family(0);
  for (std::uint32_t row = 0; row < family.num_rows(); ++row) {
    if (family.sizes_of(row)[1] == 2048) continue;  // the least time is the floor of all rows
    const HiddenRows whole = family.curve_of(row);
    for (const HiddenRows hidden : {HiddenRows{.begin = row, .end = row + 1}, whole}) {
      expect_as_without(all, product_roofline, row, hidden);
    }
  }
}

// Two sizes that lie close together differ by what a kernel does at one of them. That is no trend
// over many doublings.
TEST(Family, SizesThatLieCloseTogetherAreNoTrend) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  for (const double n : {4096.0, 4224.0, 4352.0}) {
    for (const double m : {256.0, 440.0, 448.0})
      csv += fmt::format("fp8,{},{},4096,{}\n", m, n, m * n * 3e-8 * (m == 448 ? 1.6 : 1));
  }
  const WorkIndex index = index_of("gemm_perf", csv, product_roofline);
  const Told told = ask(index, {{"m", "1792"}, {"n", "4300"}, {"k", "4096"}});
  EXPECT_LT(told.estimate.latency, 1792 * 4300 * 3e-8 * 1.7) << told.method;
}

constexpr const char* kExpertsColumns =
    "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"
    "distribution,latency\n";

TEST(Family, RefusesExpertsThatCannotBe) {
  std::string csv = kExpertsColumns;
  for (const int ep : {1, 2, 4}) {
    for (const int tokens : {64, 128, 256, 1024})
      csv += fmt::format("fp8,{},4096,1536,8,128,1,{},balanced,{}\n", tokens, ep,
                         0.1 + tokens * 1e-3 / ep);
  }
  // Somebody measured these, so that they can be.
  csv += "fp8,64,4096,1536,8,100,1,3,balanced,0.1\nfp8,256,4096,1536,8,100,1,3,balanced,0.2\n";
  const WorkIndex index = index_of("moe_perf", csv, nullptr);
  const auto ask_experts = [&](const char* topk, const char* experts, const char* tp,
                               const char* ep, Beyond beyond = Beyond::kRefuse) {
    return ask(index,
               {{"num_tokens", "128"},
                {"hidden_size", "4096"},
                {"inter_size", "1536"},
                {"topk", topk},
                {"num_experts", experts},
                {"moe_tp_size", tp},
                {"moe_ep_size", ep}},
               beyond);
  };
  EXPECT_EQ(ask_experts("8", "128", "1", "3").refusal,
            "moe_ep_size=3 does not divide num_experts=128");
  EXPECT_EQ(ask_experts("8", "128", "1", "3", Beyond::kExtrapolate).refusal,
            "moe_ep_size=3 does not divide num_experts=128");
  EXPECT_EQ(ask_experts("8", "128", "5", "1", Beyond::kExtrapolate).refusal,
            "moe_tp_size=5 does not divide inter_size=1536");
  EXPECT_EQ(ask_experts("129", "128", "1", "1", Beyond::kExtrapolate).refusal,
            "topk=129 is more than num_experts=128");
  EXPECT_EQ(ask_experts("8", "100", "1", "3").refusal, "");
  EXPECT_EQ(ask_experts("8", "128", "1", "2").refusal, "");
  const auto surface = Surface::bind(
      index,
      {{"num_tokens", "128"}, {"inter_size", "1536"}, {"num_experts", "128"}, {"moe_tp_size", "1"}},
      {"moe_ep_size"});
  ASSERT_TRUE(surface.ok()) << surface.error().message;
  const std::array three{3.0};
  EXPECT_EQ(surface.value().refusal(surface.value().at_any(three), three),
            "moe_ep_size=3 does not divide num_experts=128");
}

TEST(Family, RefusesHeadsThatCachesDoNotDivide) {
  std::string csv =
      "attn_dtype,batch_size,isl,num_heads,num_key_value_heads,head_dim,step,latency\n";
  for (const int heads : {8, 16, 64}) {
    for (const int isl : {128, 512, 2048})
      csv += fmt::format("bfloat16,1,{},{},8,128,0,{}\n", isl, heads, isl * heads * 1e-5);
  }
  const WorkIndex index = index_of("context_attention_perf", csv, nullptr);
  const auto ask_heads = [&](const char* heads, const char* caches) {
    return ask(index, {{"batch_size", "1"},
                       {"isl", "512"},
                       {"num_heads", heads},
                       {"num_key_value_heads", caches},
                       {"head_dim", "128"},
                       {"step", "0"}})
        .refusal;
  };
  EXPECT_EQ(ask_heads("64", "7"), "num_key_value_heads=7 does not divide num_heads=64");
  EXPECT_EQ(ask_heads("4", "8"), "num_key_value_heads=8 does not divide num_heads=4");
  EXPECT_EQ(ask_heads("32", "8"), "");
}

// Rows of 64 to 256 tokens read from a cache, those of 1024 and more from memory.
TEST(Family, AnswersBesideRowsFromACacheAreAsFast) {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  const auto least = [](double m, double n) { return m * n * 2e-8; };
  for (double n = 1024; n <= 8192; n *= 2) {
    for (double m = 16; m <= 4096; m *= 2)
      csv += fmt::format("fp8,{},{},4096,{}\n", m, n, least(m, n) * (m <= 256 ? 0.75 : 1.2));
  }
  const WorkIndex index = index_of("gemm_perf", csv, product_roofline);
  const auto estimate = [&](const char* m, const char* n) {
    return ask(index, {{"m", m}, {"n", n}, {"k", "4096"}}).estimate;
  };
  EXPECT_NEAR(estimate("255", "2048").latency / least(255, 2048), 0.75, 0.02);
  EXPECT_NEAR(estimate("200", "3000").latency / least(200, 3000), 0.75, 0.05);
  EXPECT_LT(estimate("255", "2048").latency, estimate("256", "2048").latency * 1.01);
  // Far from them the roofline holds, and so it does at the lower end of intervals.
  const WorkEstimate large = estimate("3000", "3000");
  EXPECT_GE(large.latency, large.roofline);
  EXPECT_GE(large.low_80(), large.roofline);
}

TEST(Family, NoIntervalBeginsBelowTheRoofline) {
  const WorkEstimate wide{.latency = 1.1, .roofline = 1, .least = 1, .sigma = 0.3, .half_80 = 0.5};
  EXPECT_DOUBLE_EQ(wide.low_80(), 1);
  EXPECT_GT(wide.high_80(), 1.8);
  const WorkEstimate narrow{.latency = 2, .roofline = 1, .least = 1, .sigma = 0.1, .half_80 = 0.2};
  EXPECT_DOUBLE_EQ(narrow.low_80(), 2 * std::exp(-0.2));
}

// Curves that begin and end at other sizes, so that the nearest ones change along a weight.
std::string ragged_rows() {
  std::string csv = "gemm_dtype,m,n,k,latency\n";
  for (int weight = 0; weight < 24; ++weight) {
    const double n = 512 * (1 + weight);
    for (double m = weight % 3 == 0 ? 16 : 1; m <= (weight % 4 == 0 ? 512 : 4096); m *= 2)
      csv += fmt::format("fp8,{},{},4096,{}\n", m, n, 0.01 + n * (m + weight % 5) * 1e-8);
  }
  return csv;
}

// No answer changes by what was looked up for the questions before.
TEST(Family, AnswersTheSameWhateverWasAskedBefore) {
  const WorkIndex index = index_of("gemm_perf", ragged_rows(), nullptr);
  const Family asked = index.own_family(0);
  std::uint32_t random = 1;
  for (const double n : {700.0, 5120.0, 6000.0, 700.0, 12000.0}) {
    for (int question = 0; question < 80; ++question) {
      random = random * 1664525 + 1013904223;
      // The questions come in order, with repetitions, and then in no order.
      const double m = question < 50 ? std::floor(std::exp2(question / 4.0)) : random % 6000 + 1;
      const std::array sizes{m, n, 4096.0};
      const WorkEstimate told = asked.at(sizes, Beyond::kExtrapolate);
      const WorkEstimate fresh = index.own_family(0).at(sizes, Beyond::kExtrapolate);
      ASSERT_EQ(told.latency, fresh.latency) << m << ' ' << n;
      ASSERT_TRUE(told.sigma == fresh.sigma || told.is_measured()) << m << ' ' << n;
      ASSERT_EQ(asked.method(told, sizes), index.family(0).method(fresh, sizes));
    }
  }
}

TEST(Family, WithoutARooflineASingleValueDoesNotScale) {
  const WorkIndex index =
      index_of("gemm_perf", "gemm_dtype,m,n,k,latency\nfp8,1,64,64,1\nfp8,2,64,64,2\n", nullptr);
  EXPECT_EQ(ask(index, {{"m", "1"}, {"n", "65"}, {"k", "64"}}).refusal,
            "n was measured at 64 only, and no roofline (--system) tells how it scales");
}

TEST(Surface, AnswersAsAQueryDoes) {
  const WorkIndex index = decoding_index(decoding_rows(8, 1) + decoding_rows(64, 8));
  const auto surface =
      Surface::bind(index, {{"num_heads", "24"}, {"num_key_value_heads", "4"}, {"head_dim", "128"}},
                    {"step", "batch_size"});
  ASSERT_TRUE(surface.ok()) << surface.error().message;
  for (const double batch : {1.0, 7.0, 64.0}) {
    for (const double step : {100.0, 511.0, 3000.0}) {
      const std::array sizes{step, batch};
      const WorkEstimate told = surface.value().at(sizes);
      const Told asked = ask_decoding(index, batch, 24, 4, step);
      EXPECT_EQ(told.latency, asked.estimate.latency);
      EXPECT_EQ(surface.value().method(told, sizes), asked.method);
    }
  }
  EXPECT_EQ(Surface::bind(index, {{"num_heads", "8"}}, {"step", "batch_size"}).error().message,
            "generation_attention_perf needs num_key_value_heads");
  EXPECT_EQ(Surface::bind(index, {}, {"steps"}).error().message,
            "generation_attention_perf has no size 'steps'");
}

}  // namespace
}  // namespace assay::store
