#include "collect/cuda/self_test_shapes.h"

#include <fmt/core.h>

#include <array>

#include "collect/kernels/attention_layout.h"
#include "collect/kernels/kernel_cost.h"

namespace assay::collect {
namespace {

using model::L2State;

double count(std::int64_t a, std::int64_t b, std::int64_t c = 1) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

std::string_view l2_name(L2State l2) {
  return name_of(l2);
}

SelfTestShape gemm(const GemmSpec& spec, L2State l2 = L2State::kHot) {
  const auto element = static_cast<double>(bytes_of(spec.type));
  const bool wide = spec.type == DataType::kInt8 || spec.type == DataType::kFloat32;
  const auto batch = static_cast<double>(spec.batch);
  return {.name = fmt::format("gemm {} m {} n {} k {} batch {} {}", name_of(spec.type), spec.m,
                              spec.n, spec.k, spec.batch, l2_name(l2)),
          .spec = spec,
          .l2 = l2,
          .bytes = batch * ((count(spec.n, spec.k) + count(spec.m, spec.k)) * element +
                            count(spec.m, spec.n) * (wide ? 4 : 2)),
          .flops = 2 * batch * count(spec.m, spec.n, spec.k)};
}

void add_gemms(std::vector<SelfTestShape>& shapes) {
  constexpr std::array kTypes = {DataType::kBfloat16, DataType::kFloat16,  DataType::kFloat32,
                                 DataType::kFp8,      DataType::kFp8Block, DataType::kInt8};
  for (const DataType type : kTypes) {
    shapes.push_back(gemm({.m = 1, .n = 4096, .k = 4096, .type = type}));
    shapes.push_back(gemm({.m = 65, .n = 7168, .k = 2048, .type = type}, L2State::kCold));
    shapes.push_back(gemm({.m = 512, .n = 256, .k = 16384, .type = type}));
    shapes.push_back(gemm({.m = 4096, .n = 4096, .k = 4096, .type = type}));
  }
  // Few tokens in blocks of fp8: parts of k of unequal length, and more of it than a warp has
  // scales.
  for (const std::int64_t m : {4, 16, 33, 64}) {
    shapes.push_back(
        gemm({.m = m, .n = 2560, .k = 1408, .type = DataType::kFp8Block}, L2State::kCold));
    shapes.push_back(
        gemm({.m = m, .n = 16384, .k = 10240, .type = DataType::kFp8Block}, L2State::kCold));
  }
  shapes.push_back(gemm({.m = 1, .n = 32, .k = 32}));
  shapes.push_back(gemm({.m = 1, .n = 32, .k = 65536}));
  shapes.push_back(gemm({.m = 17, .n = 128, .k = 1536}, L2State::kCold));
  shapes.push_back(gemm({.m = 8192, .n = 8192, .k = 8192}));
  shapes.push_back(gemm({.m = 8192, .n = 8192, .k = 8192, .type = DataType::kFp8}));
  // The two products around MLA's attention.
  for (const DataType type : {DataType::kBfloat16, DataType::kFp8}) {
    shapes.push_back(gemm({.m = 64, .n = 512, .k = 128, .type = type, .batch = 128}));
    shapes.push_back(gemm({.m = 64, .n = 128, .k = 512, .type = type, .batch = 128}));
  }
}

const char* name_of_kind(MemorySpec::Kind kind) {
  switch (kind) {
    case MemorySpec::Kind::kRmsNorm:
      return "rms_norm";
    case MemorySpec::Kind::kAddRmsNorm:
      return "add_rms_norm";
    case MemorySpec::Kind::kSiluMul:
      return "silu_mul";
    case MemorySpec::Kind::kEmbedding:
      return "embedding";
    case MemorySpec::Kind::kAdd:
      return "add";
    case MemorySpec::Kind::kCopy:
      return "copy";
    case MemorySpec::Kind::kRead:
      return "read";
  }
  return "";
}

SelfTestShape memory(const MemorySpec& spec, L2State l2) {
  const double once = count(spec.rows, spec.columns, bytes_of(spec.type));
  double times = 2;
  if (spec.kind == MemorySpec::Kind::kRead) times = 1;
  if (spec.kind == MemorySpec::Kind::kAddRmsNorm) times = 4;
  if (spec.kind == MemorySpec::Kind::kAdd || spec.kind == MemorySpec::Kind::kSiluMul) times = 3;
  return {.name = fmt::format("{} {} {} x {} {}", name_of_kind(spec.kind), name_of(spec.type),
                              spec.rows, spec.columns, l2_name(l2)),
          .spec = spec,
          .l2 = l2,
          .bytes = once * times};
}

void add_memory(std::vector<SelfTestShape>& shapes) {
  using Kind = MemorySpec::Kind;
  constexpr std::array kKinds = {Kind::kRmsNorm,   Kind::kAddRmsNorm, Kind::kSiluMul,
                                 Kind::kEmbedding, Kind::kAdd,        Kind::kCopy,
                                 Kind::kRead};
  for (const Kind kind : kKinds) {
    const auto shape = [kind](std::int64_t rows, std::int64_t columns, DataType type) {
      return MemorySpec{
          .kind = kind, .rows = rows, .columns = columns, .vocabulary = 32000, .type = type};
    };
    shapes.push_back(memory(shape(16384, 8192, DataType::kBfloat16), L2State::kHot));
    shapes.push_back(memory(shape(3, 4096, DataType::kFloat16), L2State::kHot));
    shapes.push_back(memory(shape(1000, 136, DataType::kFloat32), L2State::kCold));
  }
  shapes.push_back(memory({.kind = Kind::kRmsNorm, .rows = 64, .columns = 65536}, L2State::kCold));
  shapes.push_back(memory({.kind = Kind::kCopy, .rows = 131072, .columns = 16384}, L2State::kHot));
  shapes.push_back(memory({.kind = Kind::kRead, .rows = 131072, .columns = 16384}, L2State::kHot));
}

void add_quantize(std::vector<SelfTestShape>& shapes) {
  for (const auto scale : {QuantizeSpec::Scale::kGiven, QuantizeSpec::Scale::kComputed}) {
    const bool computed = scale == QuantizeSpec::Scale::kComputed;
    for (const std::int64_t m : {1, 129, 16384}) {
      const std::int64_t k = m == 129 ? 1000 : 8192;
      shapes.push_back(
          {.name = fmt::format("quantize {} {} x {}", computed ? "computed" : "given", m, k),
           .spec = QuantizeSpec{.scale = scale, .m = m, .k = k},
           .l2 = m == 129 ? L2State::kCold : L2State::kHot,
           .bytes = count(m, k) * (computed ? 5 : 3)});
    }
  }
}

SelfTestShape delta_net(const DeltaNetSpec& spec, L2State l2) {
  const bool is_prompt = spec.phase == DeltaNetSpec::Phase::kPrompt;
  const bool is_convolution = spec.part == DeltaNetSpec::Part::kConvolution;
  const Cost cost = cost_of(spec);
  return {.name = fmt::format("delta net {} {} batch {} length {} heads {}/{} taps {} {}",
                              is_convolution ? "convolution" : "rule",
                              is_prompt ? "prompt" : "decode", spec.batch, spec.length,
                              spec.key_heads, spec.value_heads, spec.taps, l2_name(l2)),
          .spec = spec,
          .l2 = l2,
          .bytes = cost.bytes,
          .flops = is_convolution ? 0 : cost.flops};
}

// Lengths that fill their chunks of 64 and others, heads that share keys by one to four, and enough
// heads that a block has a whole one.
void add_delta_nets(std::vector<SelfTestShape>& shapes) {
  using Part = DeltaNetSpec::Part;
  using Phase = DeltaNetSpec::Phase;

  struct Sizes {
    std::int64_t batch;
    std::int64_t length;
    std::int64_t key_heads;
    std::int64_t value_heads;
    std::int64_t taps;
  };

  static constexpr Sizes kPrompts[] = {{1, 1, 2, 4, 4},
                                       {3, 65, 4, 4, 3},
                                       {2, 777, 2, 6, 2},
                                       {1, 2048, 16, 32, 4},
                                       {8, 1000, 4, 16, 4}};
  static constexpr Sizes kDecodes[] = {
      {1, 1, 2, 4, 4}, {3, 1, 4, 4, 3}, {64, 1, 16, 32, 4}, {256, 1, 2, 4, 2}};
  for (const Part part : {Part::kConvolution, Part::kRule}) {
    L2State l2 = L2State::kCold;
    const auto add = [&](Phase phase, const Sizes& sizes) {
      l2 = l2 == L2State::kCold ? L2State::kEngine : L2State::kCold;
      shapes.push_back(delta_net({.part = part,
                                  .phase = phase,
                                  .batch = sizes.batch,
                                  .length = sizes.length,
                                  .key_heads = sizes.key_heads,
                                  .value_heads = sizes.value_heads,
                                  .taps = sizes.taps},
                                 l2));
    };
    for (const Sizes& sizes : kPrompts)
      add(Phase::kPrompt, sizes);
    for (const Sizes& sizes : kDecodes)
      add(Phase::kDecode, sizes);
  }
}

SelfTestShape moe(const MoeSpec& spec, L2State l2 = L2State::kHot) {
  const Cost cost = cost_of(spec);
  return {.name = fmt::format("moe {} tokens {} {}x{} top {} of {} tp {} ep {} {}",
                              name_of(spec.type), spec.tokens, spec.hidden, spec.intermediate,
                              spec.top_k, spec.experts, spec.tp, spec.ep,
                              spec.routing == Routing::kPowerLaw ? "power law" : "balanced"),
          .spec = spec,
          .l2 = l2,
          .bytes = cost.bytes,
          .flops = cost.flops};
}

void add_moe(std::vector<SelfTestShape>& shapes) {
  for (const DataType type : {DataType::kBfloat16, DataType::kFp8, DataType::kFp8Block}) {
    MoeSpec mixtral{.tokens = 1,
                    .hidden = 4096,
                    .intermediate = 14336,
                    .top_k = 2,
                    .experts = 8,
                    .tp = 2,
                    .type = type};
    shapes.push_back(moe(mixtral, L2State::kCold));
    mixtral.tokens = 2048;
    shapes.push_back(moe(mixtral));
    MoeSpec deepseek{.tokens = 64,
                     .hidden = 7168,
                     .intermediate = 2048,
                     .top_k = 8,
                     .experts = 256,
                     .ep = 8,
                     .type = type};
    shapes.push_back(moe(deepseek));
    deepseek.routing = Routing::kPowerLaw;
    deepseek.exponent = 1.2;
    deepseek.tokens = 4096;
    shapes.push_back(moe(deepseek));
  }
  shapes.push_back(moe({.tokens = 33,
                        .hidden = 2048,
                        .intermediate = 768,
                        .top_k = 8,
                        .experts = 128,
                        .type = DataType::kFloat16}));
  // The width of a GPU is no multiple of a tile, and with tp 8 no multiple of a step either.
  for (const DataType type : {DataType::kBfloat16, DataType::kMxfp4}) {
    for (const std::int64_t tp : {1, 2, 8}) {
      for (const std::int64_t tokens : {16, 500, 4096}) {
        shapes.push_back(moe({.tokens = tokens,
                              .hidden = 2880,
                              .intermediate = 2880,
                              .top_k = 4,
                              .experts = 32,
                              .tp = tp,
                              .routing = tokens == 500 ? Routing::kPowerLaw : Routing::kBalanced,
                              .exponent = 1.2,
                              .type = type}));
      }
    }
  }
  // Most experts have no token, and the others one, which does not fill their rows.
  MoeSpec qwen{.tokens = 1,
               .hidden = 4096,
               .intermediate = 1536,
               .top_k = 8,
               .experts = 128,
               .tp = 4,
               .ep = 2,
               .type = DataType::kFp8Block};
  shapes.push_back(moe(qwen, L2State::kCold));
  qwen.routing = Routing::kPowerLaw;
  qwen.exponent = 1.2;
  shapes.push_back(moe(qwen));
  qwen.tokens = 333;
  shapes.push_back(moe(qwen));
  shapes.push_back(moe({.tokens = 16384,
                        .hidden = 2048,
                        .intermediate = 768,
                        .top_k = 8,
                        .experts = 128,
                        .type = DataType::kFp8Block}));
}

void add_attention(std::vector<SelfTestShape>& shapes) {
  L2State l2 = L2State::kCold;
  for (const AttentionSpec& spec : attention_examples()) {
    l2 = l2 == L2State::kCold ? L2State::kHot : L2State::kCold;
    const Cost cost = cost_of(spec);
    shapes.push_back({.name = fmt::format("attention {} {}", description_of(spec), l2_name(l2)),
                      .spec = spec,
                      .l2 = l2,
                      .bytes = cost.bytes,
                      .flops = cost.flops});
  }
}

// An empty kernel has no output.
void add_transfers(std::vector<SelfTestShape>& shapes) {
  using Kind = TransferSpec::Kind;
  for (const Kind kind : {Kind::kHostToDevice, Kind::kDeviceToHost}) {
    for (const std::int64_t bytes : {8, 4096, 64 << 20}) {
      const L2State l2 = bytes == 4096 ? L2State::kCold : L2State::kHot;
      shapes.push_back(
          {.name = fmt::format("{} {} bytes {}",
                               kind == Kind::kHostToDevice ? "host to device" : "device to host",
                               bytes, l2_name(l2)),
           .spec = TransferSpec{.kind = kind, .bytes = bytes},
           .l2 = l2,
           .bytes = static_cast<double>(bytes)});
    }
  }
}

}  // namespace

std::vector<SelfTestShape> self_test_shapes() {
  std::vector<SelfTestShape> shapes;
  add_memory(shapes);
  add_transfers(shapes);
  add_quantize(shapes);
  add_gemms(shapes);
  add_moe(shapes);
  add_delta_nets(shapes);
  add_attention(shapes);
  return shapes;
}

}  // namespace assay::collect
