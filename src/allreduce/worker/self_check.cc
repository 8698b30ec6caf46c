#include "allreduce/worker/self_check.h"

#include <string>
#include <vector>

#include "allreduce/worker/stress.h"

namespace assay::allreduce {
namespace {

constexpr std::int64_t kCallsOfRound = 100'000;

std::string text_of(const MixedCall& call) {
  const Variant& variant = call.variant;
  return std::string(name_of(call.strategy)) + " " + std::string(name_of(call.cell.data_type)) +
         " " + std::string(name_of(call.cell.fusion)) + " " + std::to_string(call.cell.num_tokens) +
         "x" + std::to_string(call.cell.hidden_size) + " operation " +
         std::to_string(static_cast<int>(variant.operation)) + " scales " +
         std::to_string(static_cast<int>(variant.scale_layout)) + " bias " +
         std::to_string(variant.weight_bias) + (variant.has_residual ? "" : " no residual") +
         (variant.keeps_normalized ? " with output" : "");
}

std::vector<Variant> variants_of(Fusion fusion) {
  if (fusion == Fusion::kNone)
    return {{}, {.operation = Operation::kReduceScatter}, {.operation = Operation::kAllGather}};
  std::vector<ScaleLayout> layouts = {ScaleLayout::kDefault};
  if (fusion == Fusion::kResidualRmsNormQuantFp8)
    layouts = {ScaleLayout::kDefault, ScaleLayout::kPerToken, ScaleLayout::kPerGroup128};
  if (fusion == Fusion::kResidualRmsNormQuantNvfp4)
    layouts = {ScaleLayout::kDefault, ScaleLayout::kLinear, ScaleLayout::kBlocks8x4};
  std::vector<Variant> variants;
  for (const ScaleLayout layout : layouts) {
    variants.push_back({.scale_layout = layout});
    variants.push_back({.scale_layout = layout,
                        .weight_bias = 1,
                        .has_residual = false,
                        .keeps_normalized = true});
  }
  return variants;
}

// NCCL's symmetric windows need buffers that are registered, which `bench` has.
bool is_checked(const StrategySpec& spec) {
  return spec.kernels == KernelsOf::kAssay || spec.strategy == Strategy::kNccl;
}

struct Rows {
  std::int64_t hidden_size;
  std::int64_t num_tokens;
};

// 520 rows of 4096 are more than a GPU holds at once of the kernels that spread a row over blocks,
// so that the kernels for many rows run, too.
std::vector<Rows> few_shapes() {
  return {{640, 8}, {4096, 8}, {4096, 520}};
}

std::vector<Rows> all_shapes() {
  std::vector<Rows> shapes;
  for (const std::int64_t hidden_size : {128, 640, 2944, 4096, 7168, 16384}) {
    for (const std::int64_t num_tokens : {1, 8, 136, 520})
      shapes.push_back({hidden_size, num_tokens});
  }
  return shapes;
}

class SelfTest {
 public:
  SelfTest(Leader& leader, const SelfTestOptions& options, std::FILE* to)
      : leader_(leader), options_(options), to_(to) {}

  core::Status run() {
    for (const DataType type : {DataType::kBfloat16, DataType::kFloat16, DataType::kFloat32}) {
      for (const Rows& rows : options_.few_shapes ? few_shapes() : all_shapes())
        try_shape({.world_size = options_.world_size,
                   .data_type = type,
                   .hidden_size = rows.hidden_size,
                   .num_tokens = rows.num_tokens});
    }
    say(std::to_string(right_) + " right, " + std::to_string(unsupported_) + " unsupported, " +
        std::to_string(wrong_) + " wrong");
    stress();
    if (wrong_ > 0) return core::Error{std::to_string(wrong_) + " of the self test failed"};
    return {};
  }

 private:
  void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), to_);
    std::fflush(to_);
  }

  void fail(const std::string& what, const std::string& why) {
    ++wrong_;
    say("WRONG " + what + ": " + why);
  }

  void try_shape(Cell cell) {
    for (std::size_t fusion = 0; fusion < kFusionNames.size(); ++fusion) {
      cell.fusion = static_cast<Fusion>(fusion);
      for (const Variant& variant : variants_of(cell.fusion)) {
        for (const StrategySpec& spec : kStrategies)
          if (is_checked(spec))
            try_call({.cell = cell, .variant = variant, .strategy = spec.strategy});
      }
    }
  }

  Answer answer_of(const MixedCall& call, Order::Kind kind, std::vector<Answer>& answers) {
    Order order;
    order.kind = kind;
    order.cell = call.cell;
    order.variant = call.variant;
    order.strategy = call.strategy;
    order.seed = 7;
    answers = leader_.all(order);
    return leader_.worst(answers);
  }

  void try_call(MixedCall call) {
    std::vector<Answer> answers;
    Answer answer = answer_of(call, Order::Kind::kPrepare, answers);
    if (answer.kind == Answer::Kind::kOk) answer = answer_of(call, Order::Kind::kCheck, answers);
    if (answer.kind == Answer::Kind::kUnsupported) {
      ++unsupported_;
      return;
    }
    if (answer.kind != Answer::Kind::kOk) return fail(text_of(call), answer.message);
    if (spec_of(call.strategy).same_on_all_ranks() &&
        call.variant.operation != Operation::kReduceScatter) {
      for (const Answer& each : answers) {
        if (each.checksum != answers.front().checksum)
          return fail(text_of(call), "the ranks' results differ");
      }
    }
    ++right_;
    if (call.variant.has_residual) return;
    // The same without a residual_out gives the same other outputs.
    const std::uint64_t expected = answers.front().checksum_without_residual;
    call.variant.keeps_residual = false;
    answer = answer_of(call, Order::Kind::kCheck, answers);
    if (answer.kind != Answer::Kind::kOk) return fail(text_of(call), answer.message);
    if (spec_of(call.strategy).same_on_all_ranks() &&
        answers.front().checksum_without_residual != expected)
      fail(text_of(call), "other outputs without a residual_out");
  }

  // Each round has other calls.
  void stress() {
    std::int64_t done = 0;
    for (std::uint64_t seed = 1; done < options_.stress_calls; ++seed) {
      Order order;
      order.kind = Order::Kind::kMix;
      order.seed = seed * 1000;
      order.calls = std::min(kCallsOfRound, options_.stress_calls - done);
      std::vector<Answer> answers = leader_.all(order);
      Answer answer = leader_.worst(answers);
      if (answer.kind == Answer::Kind::kOk) {
        order.kind = Order::Kind::kMixed;
        answers = leader_.all(order);
        answer = leader_.worst(answers);
      }
      if (answer.kind != Answer::Kind::kOk)
        return fail("mixed calls of seed " + std::to_string(order.seed), answer.message);
      for (const Answer& each : answers) {
        if (each.checksum != answers.front().checksum)
          return fail("mixed calls of seed " + std::to_string(order.seed),
                      "the ranks' results differ");
      }
      done += order.calls;
      if (seed % 10 == 0) say(std::to_string(done) + " mixed calls so far");
    }
    if (done > 0) say(std::to_string(done) + " mixed calls, all right");
  }

  Leader& leader_;
  const SelfTestOptions& options_;
  std::FILE* to_;
  std::int64_t right_ = 0;
  std::int64_t unsupported_ = 0;
  std::int64_t wrong_ = 0;
};

}  // namespace

core::Status run_self_test(Leader& leader, const SelfTestOptions& options, std::FILE* to) {
  return SelfTest(leader, options, to).run();
}

}  // namespace assay::allreduce
