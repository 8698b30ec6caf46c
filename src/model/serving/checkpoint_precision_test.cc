#include "model/serving/checkpoint_precision.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace assay::serving {
namespace {

using testing::HasSubstr;

core::Result<Precision> of_config(const std::string& quantization) {
  const auto config =
      Config::parse(fmt::format(R"({{"quantization_config": {}}})", quantization), "config.json");
  if (!config.ok()) return config.error();
  const auto read = checkpoint_precision(config.value());
  if (!read.ok()) return read.error();
  return read.value().precision;
}

Precision precision(const core::Result<Precision>& read) {
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  return read.ok() ? read.value() : Precision{};
}

std::string problem(const core::Result<Precision>& read) {
  EXPECT_FALSE(read.ok());
  return read.ok() ? "" : read.error().message;
}

TEST(CheckpointPrecision, ModelOptNamesAlgorithms) {
  const auto of_algorithm = [](const std::string& name) {
    return precision(
        of_config(fmt::format(R"({{"quant_method": "modelopt", "quant_algo": "{}"}})", name)));
  };
  EXPECT_EQ(of_algorithm("FP8"), weights_of(Quantization::kFp8));
  EXPECT_EQ(of_algorithm("FP8_PB_WO"), weights_of(Quantization::kFp8Block));
  EXPECT_EQ(of_algorithm("NVFP4"), weights_of(Quantization::kNvfp4));
  EXPECT_EQ(of_algorithm("W4A16_AWQ"), weights_of(Quantization::kInt4));
  EXPECT_EQ(of_algorithm("W4A8_AWQ"), weights_of(Quantization::kInt4Fp8));
}

TEST(CheckpointPrecision, ModelOptNamesTheCache) {
  const Precision read =
      precision(of_config(R"({"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"})"));
  EXPECT_EQ(read.cache, Quantization::kFp8);
  EXPECT_EQ(read.linear, Quantization::kFp8);
  EXPECT_THAT(problem(of_config(R"({"quant_algo": "FP8", "kv_cache_quant_algo": "INT8"})")),
              HasSubstr("quantization_config.kv_cache_quant_algo: 'INT8' is not known"));
}

TEST(CheckpointPrecision, AutoFp8NamesItsCacheByAWord) {
  const Precision known = precision(of_config(
      R"({"quant_method": "fp8", "activation_scheme": "static", "kv_cache_scheme": "static"})"));
  EXPECT_EQ(known.linear, Quantization::kFp8);
  EXPECT_EQ(known.cache, Quantization::kFp8);
  EXPECT_THAT(problem(of_config(R"({"quant_method": "fp8", "kv_cache_scheme": "other"})")),
              HasSubstr("kv_cache_scheme: 'other' is not known"));
}

TEST(CheckpointPrecision, UnknownAlgorithmNamesTheField) {
  EXPECT_THAT(problem(of_config(R"({"quant_method": "modelopt", "quant_algo": "W3"})")),
              HasSubstr("config.json: quantization_config.quant_algo: 'W3' is not known; known "
                        "are FP8"));
  EXPECT_THAT(problem(of_config(R"({"quant_method": "modelopt"})")),
              HasSubstr("quantization_config.quant_algo: the field is missing"));
}

TEST(CheckpointPrecision, MixedLayersCountByExpertsAndOthers) {
  const Precision read = precision(of_config(R"({"quant_method": "modelopt",
      "quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
        "model.layers.0.self_attn.o_proj": {"quant_algo": "FP8"},
        "model.layers.0.mlp.down_proj": {"quant_algo": "NVFP4"},
        "model.layers.0.mlp.experts.0.up_proj": {"quant_algo": "NVFP4"}}})"));
  EXPECT_EQ(read.linear, Quantization::kFp8);
  EXPECT_EQ(read.experts, Quantization::kNvfp4);
  EXPECT_THAT(problem(of_config(R"({"quant_algo": "MIXED_PRECISION"})")),
              HasSubstr("quantized_layers: the field is missing"));
}

TEST(CheckpointPrecision, CompressedTensorsTellsBitsAndActivations) {
  const auto of_group = [](const std::string& group) {
    return of_config(fmt::format(
        R"({{"quant_method": "compressed-tensors", "config_groups": {{"group_0": {}}}}})", group));
  };
  EXPECT_EQ(precision(of_group(R"({"weights": {"num_bits": 8, "type": "float"},
                                   "input_activations": {"num_bits": 8}})")),
            weights_of(Quantization::kFp8));
  EXPECT_EQ(
      precision(of_group(R"({"weights": {"num_bits": 8, "type": "float", "strategy": "block"}})")),
      weights_of(Quantization::kFp8Block));
  EXPECT_EQ(precision(of_group(
                R"({"weights": {"num_bits": 4, "type": "int"}, "input_activations": null})")),
            weights_of(Quantization::kInt4));
  EXPECT_EQ(precision(of_group(R"({"weights": {"num_bits": 4, "type": "float"},
                                   "input_activations": {"num_bits": 4}})")),
            weights_of(Quantization::kNvfp4));
  EXPECT_THAT(problem(of_group(R"({"weights": {"num_bits": 8, "type": "int"},
                                   "input_activations": {"num_bits": 8}})")),
              HasSubstr("config_groups.group_0.weights.num_bits: weights of 8-bit ints with "
                        "quantized activations are not known"));
}

TEST(CheckpointPrecision, AwqAndGptqAreIntegersOfFourBits) {
  EXPECT_EQ(precision(of_config(R"({"quant_method": "awq", "bits": 4})")),
            weights_of(Quantization::kInt4));
  EXPECT_EQ(precision(of_config(R"({"quant_method": "gptq", "bits": 4})")),
            weights_of(Quantization::kInt4));
  EXPECT_THAT(problem(of_config(R"({"quant_method": "gptq", "bits": 8})")),
              HasSubstr("quantization_config.bits: it is 8"));
}

// 4-bit integers of these have a scale of 2 bytes for a group, or one for each column.
TEST(CheckpointPrecision, IntegersTellTheirGroup) {
  const auto group = [](const std::string& config) {
    const Precision read = precision(of_config(config));
    EXPECT_EQ(read.linear, Quantization::kInt4) << config;
    return read.integer_group;
  };
  const auto of_weights = [&](const std::string& fields) {
    return group(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights":
                     {"num_bits": 4, "type": "int")" +
                 fields + "}}}}");
  };
  EXPECT_EQ(of_weights(""), 128);
  EXPECT_EQ(of_weights(R"(, "strategy": "group", "group_size": 32)"), 32);
  EXPECT_EQ(of_weights(R"(, "strategy": "channel", "group_size": null)"), 0);
  EXPECT_EQ(group(R"({"quant_method": "awq", "bits": 4, "group_size": 64})"), 64);
  EXPECT_EQ(group(R"({"quant_method": "gptq", "bits": 4, "group_size": -1})"), 0);
  EXPECT_EQ(group(R"({"quant_algo": "W4A16_AWQ", "group_size": 64})"), 64);
  EXPECT_THAT(problem(of_config(R"({"quant_method": "awq", "bits": 4, "group_size": 0})")),
              HasSubstr("quantization_config.group_size: it is 0"));
}

TEST(CheckpointPrecision, MetasFp8HasNoBlocks) {
  EXPECT_EQ(
      precision(of_config(R"({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0})")),
      weights_of(Quantization::kFp8));
}

TEST(CheckpointPrecision, ModelOptNamesTheCacheByASchemeToo) {
  const Precision read = precision(of_config(R"({"quant_method": "modelopt", "quant_algo": "NVFP4",
      "kv_cache_scheme": {"dynamic": false, "num_bits": 8, "type": "float"}})"));
  EXPECT_EQ(read.linear, Quantization::kNvfp4);
  EXPECT_EQ(read.cache, Quantization::kFp8);
}

TEST(ModeloptPrecision, ACacheInFp8BesideUnquantizedWeights) {
  const auto file = Config::parse(
      R"({"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}})", "hf.json");
  ASSERT_TRUE(file.ok());
  const auto read = modelopt_precision(file.value());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().precision, Precision{.cache = Quantization::kFp8});
}

TEST(ModeloptPrecision, ReadsTheFileBesideTheConfig) {
  const auto file = Config::parse(
      R"({"producer": {"name": "modelopt"},
          "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}})",
      "hf_quant_config.json");
  ASSERT_TRUE(file.ok());
  const auto read = modelopt_precision(file.value());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().precision.linear, Quantization::kFp8);
  EXPECT_EQ(read.value().precision.cache, Quantization::kFp8);
  const auto empty = Config::parse("{}", "hf_quant_config.json");
  ASSERT_TRUE(empty.ok());
  const auto nothing = modelopt_precision(empty.value());
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.error().message,
              HasSubstr("hf_quant_config.json: quantization: the field is missing"));
}

}  // namespace
}  // namespace assay::serving
