#include "model/serving/checkpoint_precision.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.h"
#include "model/serving/left_out.h"

namespace assay::serving {
namespace {

Precision integers(Quantization weights, std::int64_t group) {
  Precision precision = weights_of(weights);
  precision.integer_group = group;
  return precision;
}

// GPTQ has -1 where a column has one scale.
core::Result<std::int64_t> read_group(const Config& config) {
  constexpr double kUsualGroup = 128;
  constexpr double kMostOfAGroup = 1 << 24;
  const double group = ASSAY_TRY(config.real_or("group_size", kUsualGroup));
  if (group > kMostOfAGroup || (group < 1 && group != -1))
    return config.error("group_size", fmt::format("it is {}, and must be -1, or 1 to 2^24", group));
  return group < 0 ? 0 : static_cast<std::int64_t>(group);
}

core::Result<Precision> of_fbgemm(const Config& /*config*/) {
  return weights_of(Quantization::kFp8);
}

core::Result<Precision> of_fp8(const Config& config) {
  const auto block = ASSAY_TRY(config.counts("weight_block_size"));
  if (block.empty()) return weights_of(Quantization::kFp8);
  if (block == std::vector<std::int64_t>{kScaleBlock, kScaleBlock})
    return weights_of(Quantization::kFp8Block);
  return config.error("weight_block_size", "only blocks of 128 x 128 are known");
}

// AWQ and GPTQ.
core::Result<Precision> of_integers(const Config& config) {
  const std::int64_t bits = ASSAY_TRY(config.count("bits"));
  if (bits == 4) return integers(Quantization::kInt4, ASSAY_TRY(read_group(config)));
  return config.error("bits", fmt::format("it is {}, and only weights of 4 bits are known", bits));
}

// The words of the compressed-tensors format: {"num_bits": 8, "type": "float", ...}.
core::Result<Precision> of_group(const Config& group) {
  if (!group.has("weights")) return group.error("weights", "the field is missing");
  const Config weights = ASSAY_TRY(group.part("weights"));
  const std::int64_t bits = ASSAY_TRY(weights.count("num_bits"));
  const std::string type = weights.has("type") ? ASSAY_TRY(weights.text("type")) : "int";
  const std::string strategy =
      weights.has("strategy") ? ASSAY_TRY(weights.text("strategy")) : "tensor";
  const bool has_inputs = group.has("input_activations");
  if (type == "float" && bits == 8)
    return weights_of(strategy == "block" ? Quantization::kFp8Block : Quantization::kFp8);
  if (type == "float" && bits == 4 && has_inputs) return weights_of(Quantization::kNvfp4);
  if (type == "int" && bits == 4 && !has_inputs)
    return integers(Quantization::kInt4,
                    strategy == "channel" ? 0 : ASSAY_TRY(read_group(weights)));
  return weights.error(
      "num_bits",
      fmt::format("weights of {}-bit {}s with {} activations are not known; known are floats of 8 "
                  "bits, and of 4 bits with quantized activations, and integers of 4 bits without",
                  bits, type, has_inputs ? "quantized" : "plain"));
}

core::Result<Precision> of_compressed_tensors(const Config& config) {
  const auto groups = ASSAY_TRY(config.parts("config_groups"));
  if (groups.empty()) return config.error("config_groups", "the field is missing or empty");
  const Precision first = ASSAY_TRY(of_group(groups.front().second));
  for (const auto& [name, group] : groups) {
    if (!has_same_weights(ASSAY_TRY(of_group(group)), first))
      return config.error("config_groups", "groups of several kinds of weights are not known");
  }
  return first;
}

struct Algorithm {
  std::string_view name;
  Quantization weights;
};

constexpr std::array<Algorithm, 7> kAlgorithms = {{
    {"FP8", Quantization::kFp8},
    {"FP8_PER_CHANNEL_PER_TOKEN", Quantization::kFp8},
    {"FP8_PB_WO", Quantization::kFp8Block},
    {"FP8_BLOCK_SCALES", Quantization::kFp8Block},
    {"NVFP4", Quantization::kNvfp4},
    {"W4A16_AWQ", Quantization::kInt4},
    {"W4A8_AWQ", Quantization::kInt4Fp8},
}};

constexpr std::string_view kMixed = "MIXED_PRECISION";

core::Result<Quantization> of_algorithm(const Config& config) {
  const std::string name = ASSAY_TRY(config.text("quant_algo"));
  std::vector<std::string> known;
  for (const Algorithm& one : kAlgorithms) {
    if (one.name == name) return one.weights;
    known.emplace_back(one.name);
  }
  return config.error("quant_algo", fmt::format("'{}' is not known; known are {} and {}", name,
                                                core::join(known, ", "), kMixed));
}

Quantization most_of(const std::map<Quantization, std::int64_t>& counts) {
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? Quantization::kBfloat16 : most->first;
}

// Each layer has its own algorithm. Experts have the one of most experts, all else that of most
// others.
core::Result<Precision> of_mixed(const Config& config) {
  const auto layers = ASSAY_TRY(config.parts("quantized_layers"));
  if (layers.empty()) return config.error("quantized_layers", "the field is missing or empty");
  std::map<Quantization, std::int64_t> experts;
  std::map<Quantization, std::int64_t> others;
  for (const auto& [name, layer] : layers) {
    const bool is_expert = name.find(".experts") != std::string::npos;
    ++(is_expert ? experts : others)[ASSAY_TRY(of_algorithm(layer))];
  }
  return Precision{.linear = most_of(others),
                   .experts = experts.empty() ? most_of(others) : most_of(experts)};
}

core::Status read_cache_algorithm(const Config& config, Precision& precision) {
  if (!config.has("kv_cache_quant_algo")) return {};
  const std::string algorithm = ASSAY_TRY(config.text("kv_cache_quant_algo"));
  if (algorithm == "FP8") {
    precision.cache = Quantization::kFp8;
    return {};
  }
  return config.error("kv_cache_quant_algo",
                      fmt::format("'{}' is not known; known is FP8", algorithm));
}

// compressed-tensors and ModelOpt have the cache's type beside the groups; AutoFP8's fp8 has the
// word "static" there, for a cache of fp8 whose scales are in the checkpoint.
core::Status read_cache_scheme(const Config& config, Precision& precision) {
  if (!config.has("kv_cache_scheme")) return {};
  if (const auto word = config.text("kv_cache_scheme"); word.ok()) {
    if (word.value() != "static")
      return config.error("kv_cache_scheme",
                          fmt::format("'{}' is not known; known is static", word.value()));
    precision.cache = Quantization::kFp8;
    return {};
  }
  const Config scheme = ASSAY_TRY(config.part("kv_cache_scheme"));
  if (ASSAY_TRY(scheme.count("num_bits")) != 8 || ASSAY_TRY(scheme.text("type")) != "float")
    return scheme.error("num_bits", "only a cache of 8-bit floats is known");
  precision.cache = Quantization::kFp8;
  return {};
}

core::Status read_cache(const Config& config, Precision& precision) {
  ASSAY_TRY(read_cache_algorithm(config, precision));
  return read_cache_scheme(config, precision);
}

// A file that tells of the cache alone is that of weights in bfloat16.
core::Result<Precision> of_modelopt(const Config& config) {
  const bool has_algorithm = config.has("quant_algo");
  if (!has_algorithm && (config.has("kv_cache_quant_algo") || config.has("kv_cache_scheme")))
    return Precision{};
  if (has_algorithm && ASSAY_TRY(config.text("quant_algo")) == kMixed) return of_mixed(config);
  const Quantization weights = ASSAY_TRY(of_algorithm(config));
  if (weights != Quantization::kInt4 && weights != Quantization::kInt4Fp8)
    return weights_of(weights);
  return integers(weights, ASSAY_TRY(read_group(config)));
}

core::Result<Precision> of_mxfp4(const Config& /*config*/) {
  return weights_of(Quantization::kMxfp4);
}

struct Method {
  std::string_view name;
  core::Result<Precision> (*read)(const Config& config);
};

constexpr std::array<Method, 8> kMethods = {{{"fp8", of_fp8},
                                             {"fbgemm_fp8", of_fbgemm},
                                             {"mxfp4", of_mxfp4},
                                             {"compressed-tensors", of_compressed_tensors},
                                             {"modelopt", of_modelopt},
                                             {"modelopt_fp4", of_modelopt},
                                             {"awq", of_integers},
                                             {"gptq", of_integers}}};

core::Result<CheckpointPrecision> with_rest(const Config& config, Precision precision) {
  ASSAY_TRY(read_cache(config, precision));
  return CheckpointPrecision{.precision = precision, .left_out = ASSAY_TRY(read_left_out(config))};
}

}  // namespace

const char* precision_field(const Config& config) {
  for (const char* field : {"quantization_config", "compression_config"}) {
    if (config.has(field)) return field;
  }
  return nullptr;
}

core::Result<CheckpointPrecision> checkpoint_precision(const Config& config) {
  const char* field = precision_field(config);
  if (field == nullptr) return CheckpointPrecision{};
  const Config part = ASSAY_TRY(config.part(field));
  // ModelOpt's files of 2025 name the algorithm and no method.
  const bool is_modelopt = !part.has("quant_method") && part.has("quant_algo");
  const std::string method = is_modelopt ? "modelopt" : ASSAY_TRY(part.text("quant_method"));
  std::vector<std::string> known;
  for (const Method& one : kMethods) {
    if (method == one.name) return with_rest(part, ASSAY_TRY(one.read(part)));
    known.emplace_back(one.name);
  }
  return part.error("quant_method", fmt::format("'{}' is not known; known are {}", method,
                                                core::join(known, ", ")));
}

core::Result<Quantization> modelopt_cache(const Config& file) {
  Precision precision;
  if (!file.has("quantization")) return precision.cache;
  ASSAY_TRY(read_cache(ASSAY_TRY(file.part("quantization")), precision));
  return precision.cache;
}

core::Result<CheckpointPrecision> modelopt_precision(const Config& file) {
  if (!file.has("quantization")) return file.error("quantization", "the field is missing");
  const Config part = ASSAY_TRY(file.part("quantization"));
  return with_rest(part, ASSAY_TRY(of_modelopt(part)));
}

}  // namespace assay::serving
