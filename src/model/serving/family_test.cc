#include "model/serving/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "model/serving/shipped_models.h"

namespace assay::serving {
namespace {

using testing::HasSubstr;

constexpr const char* kLlama = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256)";

core::Result<Model> with(const std::string& more) {
  return parse_model(kLlama + more + "}", "config.json");
}

std::string problem(const core::Result<Model>& model) {
  EXPECT_FALSE(model.ok());
  return model.ok() ? "" : model.error().message;
}

TEST(ParseModel, ReadsSizesAndDerivesTheHead) {
  const auto model = with("");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value().family, "llama");
  EXPECT_EQ(model.value().num_layers(), 32);
  ASSERT_EQ(model.value().layers.size(), 1U);
  const auto& attention = std::get<Attention>(model.value().layers.front().layer.mixer);
  EXPECT_EQ(attention.head_dim, 128);
  EXPECT_EQ(attention.kv_heads, 8);
  EXPECT_EQ(model.value().precision, Precision{});
}

TEST(ParseModel, UnknownArchitectureNamesTheFieldAndWhatIsKnown) {
  const auto model = parse_model(R"({"architectures": ["MambaForCausalLM"]})", "x/config.json");
  EXPECT_THAT(problem(model), HasSubstr("x/config.json: architectures: 'MambaForCausalLM'"));
  EXPECT_THAT(problem(model), HasSubstr("LlamaForCausalLM"));
  EXPECT_THAT(problem(parse_model("{}", "c")), HasSubstr("c: architectures: the field is missing"));
  EXPECT_THAT(problem(parse_model("[1]", "c")), HasSubstr("no JSON object"));
}

TEST(ParseModel, WhatNoModelHasIsAnError) {
  EXPECT_THAT(problem(with(R"(, "max_position_embeddings": 0)")),
              HasSubstr("max_position_embeddings: a sequence of 0 tokens is none"));
  const std::string mixture = R"({"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 2048,
      "intermediate_size": 6144, "num_hidden_layers": 4, "num_attention_heads": 32,
      "num_key_value_heads": 4, "vocab_size": 1000, "num_experts": 128,
      "moe_intermediate_size": 768, "num_experts_per_tok": )";
  EXPECT_TRUE(parse_model(mixture + "128}", "c").ok());
  EXPECT_THAT(problem(parse_model(mixture + "300}", "c")),
              HasSubstr("num_experts_per_tok: 300 of 128 experts for each token"));
  EXPECT_THAT(
      problem(parse_model(R"({"architectures": ["LlamaForCausalLM", "Qwen2ForCausalLM"]})", "c")),
      HasSubstr("architectures: there are 2, of which one is served"));
}

TEST(ParseModel, AMillionBracketsAreAnError) {
  const std::string deep(1000000, '[');
  EXPECT_THAT(problem(parse_model("{\"architectures\": " + deep, "c")),
              HasSubstr("c: more than 100 levels of brackets"));
  const std::string closed = deep + std::string(deep.size(), ']');
  EXPECT_THAT(problem(parse_model("{\"architectures\": " + closed + "}", "c")),
              HasSubstr("c: more than 100 levels of brackets"));
}

TEST(ParseModel, BadFieldIsNamed) {
  EXPECT_THAT(problem(with(R"(, "num_key_value_heads": 5)")),
              HasSubstr("config.json: num_key_value_heads: 5 do not divide the 32 heads"));
  EXPECT_THAT(problem(with(R"(, "head_dim": "wide")")),
              HasSubstr("head_dim: it is not a whole number"));
  EXPECT_THAT(problem(with(R"(, "hidden_size": 0)")), HasSubstr("hidden_size: it is 0"));
  EXPECT_THAT(problem(with(R"(, "num_hidden_layers": 99999999)")), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(problem(with(R"(, "vocab_size": null)")),
              HasSubstr("vocab_size: the field is missing"));
}

TEST(ParseModel, QuantizationFollowsTheConfig) {
  const auto blocks =
      with(R"(, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]})");
  ASSERT_TRUE(blocks.ok()) << blocks.error().message;
  EXPECT_EQ(blocks.value().precision.linear, Quantization::kFp8Block);
  const auto whole = with(R"(, "quantization_config": {"quant_method": "compressed-tensors",
      "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}})");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole.value().precision.linear, Quantization::kFp8);
  EXPECT_THAT(problem(with(R"(, "quantization_config": {"quant_method": "bnb"})")),
              HasSubstr("config.json: quantization_config.quant_method: 'bnb' is not known"));
}

TEST(ParseModel, TheContextIsThatOfEngines) {
  const auto context_of = [](const std::string& fields) { return with(fields).value().context; };
  EXPECT_EQ(context_of(""), 0);
  EXPECT_EQ(context_of(R"(, "max_position_embeddings": 40960, "rope_scaling": null)"), 40960);
  EXPECT_EQ(context_of(R"(, "max_position_embeddings": 40960, "rope_scaling": {"rope_type": "yarn",
                          "factor": 4.0, "original_max_position_embeddings": 32768})"),
            131072);
  EXPECT_EQ(context_of(R"(, "max_position_embeddings": 131072, "rope_scaling": {"rope_type":
                          "llama3", "factor": 8.0, "original_max_position_embeddings": 8192})"),
            131072);
  EXPECT_EQ(context_of(R"(, "max_position_embeddings": 4096, "rope_scaling": {"type": "linear",
                          "factor": 2})"),
            8192);
  EXPECT_EQ(context_of(R"(, "max_position_embeddings": "many")"), 0);
  EXPECT_EQ(context_of(R"(, "max_position_embeddings": 4096, "rope_scaling": "yarn")"), 0);
}

// Transformers 5 writes it so.
TEST(ParseModel, TheContextIsThatOfRopeParameters) {
  const auto context_of = [](const std::string& parameters) {
    return with(R"(, "max_position_embeddings": 40960, "rope_parameters": )" + parameters)
        .value()
        .context;
  };
  const std::string yarn = R"({"rope_type": "yarn", "factor": 4.0, "rope_theta": 1000000,
                               "original_max_position_embeddings": 32768})";
  EXPECT_EQ(context_of(yarn), 131072);
  EXPECT_EQ(context_of(R"({"rope_type": "default", "rope_theta": 10000})"), 40960);
  EXPECT_EQ(context_of(R"({"sliding_attention": {"rope_type": "default"}, "full_attention": )" +
                       yarn + "}"),
            131072);
}

TEST(ParseModel, ModelOptsFileTellsOfTheCacheBesideAConfig) {
  const std::string config = std::string(kLlama) +
                             R"(, "quantization_config": {"quant_method": "modelopt",
                                 "quant_algo": "NVFP4", "ignore": ["lm_head"]}})";
  const auto model = parse_model(
      config, "config.json",
      PrecisionFile{R"({"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}})",
                    "hf_quant_config.json"});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value().precision.linear, Quantization::kNvfp4);
  EXPECT_EQ(model.value().precision.cache, Quantization::kFp8);
}

TEST(ParseModel, CompressionConfigIsTheNameOf2024) {
  const auto model = with(R"(, "compression_config": {"quant_method": "compressed-tensors",
      "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}}})");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value().precision, weights_of(Quantization::kFp8));
}

// The config.json of google/gemma-3-4b-it and gemma-3-12b-it.
TEST(ParseModel, Gemma3HasWhatTransformersTakes) {
  const auto gemma = [](const std::string& fields) {
    const auto model = parse_model(R"({"architectures": ["Gemma3ForConditionalGeneration"],
        "text_config": {"rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                        "sliding_window": 1024, )" +
                                       fields + "}}",
                                   "config.json");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
    return model.ok() ? model.value() : Model{};
  };
  const Model small = gemma(R"("hidden_size": 2560, "intermediate_size": 10240,
                               "num_hidden_layers": 34)");
  EXPECT_EQ(small.vocabulary, 262208);
  EXPECT_EQ(small.context, 131072);  // which the factor of 8 has reached already
  ASSERT_EQ(small.layers.size(), 2U);
  EXPECT_EQ(std::get<Attention>(small.layers[1].layer.mixer),
            (Attention{.heads = 8, .kv_heads = 4, .head_dim = 256, .normalises_heads = true}));
  const Model middle = gemma(R"("hidden_size": 3840, "intermediate_size": 15360,
      "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8)");
  ASSERT_EQ(middle.layers.size(), 2U);
  EXPECT_EQ(std::get<Attention>(middle.layers[1].layer.mixer).head_dim, 256);
}

TEST(ParseModel, TransformersFiveNamesTheKindOfEachLayer) {
  const auto nemotron = [](const std::string& layers) {
    return parse_model(R"({"architectures": ["NemotronHForCausalLM"], "hidden_size": 4096,
        "num_attention_heads": 32, "num_key_value_heads": 8, "mamba_num_heads": 128,
        "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4,
        "chunk_size": 128, "intermediate_size": 21504, "vocab_size": 131072, )" +
                           layers + "}",
                       "config.json");
  };
  const auto words = nemotron(
      R"("layers_block_type": ["mamba", "mlp", "attention", "linear_attention", "full_attention"])");
  const auto letters = nemotron(R"("hybrid_override_pattern": "M-*M*", "num_hidden_layers": 5)");
  ASSERT_TRUE(words.ok()) << words.error().message;
  ASSERT_TRUE(letters.ok()) << letters.error().message;
  ASSERT_EQ(words.value().layers.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(words.value().layers[i].layer, letters.value().layers[i].layer);
    EXPECT_EQ(words.value().layers[i].indices, letters.value().layers[i].indices);
  }
  EXPECT_THAT(problem(nemotron(R"("layers_block_type": ["mamba", "ssm"])")),
              HasSubstr("layers_block_type: 'ssm' is not known"));
  const auto glm = parse_model(R"({"architectures": ["Glm4MoeForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 10944, "num_hidden_layers": 4, "num_attention_heads": 96,
      "num_key_value_heads": 8, "vocab_size": 151552, "moe_intermediate_size": 1408,
      "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8,
      "mlp_layer_types": ["dense", "dense", "sparse", "sparse"]})",
                               "config.json");
  ASSERT_TRUE(glm.ok()) << glm.error().message;
  ASSERT_EQ(glm.value().layers.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<FeedForward>(glm.value().layers[0].layer.feed_forward));
  EXPECT_EQ(glm.value().layers[0].count, 2);
}

TEST(ParseModel, DecoderOfAModelThatReadsPicturesLiesInAPart) {
  const auto model = parse_model(R"({"architectures": ["Gemma3ForConditionalGeneration"],
      "text_config": {"hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62,
                      "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128,
                      "sliding_window": 1024, "vocab_size": 262208}})",
                                 "gemma");
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model.value().layers.size(), 2U);
  EXPECT_EQ(model.value().layers[0].count, 52);  // to a window
  EXPECT_EQ(model.value().layers[1].count, 10);
}

constexpr const char* kFourLayers = R"("hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 32000, "num_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 768)";

core::Result<Model> four_layers(const std::string& architecture, const std::string& more) {
  return parse_model("{\"architectures\": [\"" + architecture + "\"], " + kFourLayers + more + "}",
                     "config.json");
}

// The layers by their window, 0 where they have none.
std::map<std::int64_t, std::int64_t> windows_of(const std::string& architecture,
                                                const std::string& more) {
  const auto model = four_layers(architecture, more);
  EXPECT_TRUE(model.ok()) << model.error().message;
  std::map<std::int64_t, std::int64_t> layers;
  if (!model.ok()) return layers;
  for (const EqualLayers& equal : model.value().layers)
    layers[std::get<Attention>(equal.layer.mixer).window] += equal.count;
  return layers;
}

using Layers = std::map<std::int64_t, std::int64_t>;

TEST(ParseModel, MistralHasTheWindowOfItsConfig) {
  const auto windows = [](const std::string& more) {
    return windows_of("MistralForCausalLM", more);
  };
  EXPECT_EQ(windows(R"(, "sliding_window": 1024)"), Layers({{1024, 4}}));
  EXPECT_EQ(windows(R"(, "sliding_window": null)"), Layers({{0, 4}}));
  // Transformers takes 4096 where the field is missing.
  EXPECT_EQ(windows(""), Layers({{4096, 4}}));
  EXPECT_EQ(windows(R"(, "sliding_window": 1024, "layer_types": ["full_attention",
                        "sliding_attention", "sliding_attention", "sliding_attention"])"),
            Layers({{0, 1}, {1024, 3}}));
  EXPECT_THAT(problem(four_layers("MistralForCausalLM", R"(, "sliding_window": true)")),
              HasSubstr("config.json: sliding_window: it is not a whole number"));
  EXPECT_THAT(problem(four_layers("MistralForCausalLM", R"(, "sliding_window": -1)")),
              HasSubstr("config.json: sliding_window: it is -1"));
  EXPECT_THAT(problem(four_layers("MistralForCausalLM", R"(, "layer_types": ["full_attention"])")),
              HasSubstr("layer_types: it has 1 layer,"));
}

// The sizes of Mistral-Small-3.1-24B, beside a tower that reads pictures.
TEST(ParseModel, Mistral3HasAMistralBesideItsTower) {
  const auto model = parse_model(R"({"architectures": ["Mistral3ForConditionalGeneration"],
      "model_type": "mistral3", "vision_config": {"hidden_size": 1024},
      "text_config": {"model_type": "mistral", "head_dim": 128, "hidden_size": 5120,
        "intermediate_size": 32768, "max_position_embeddings": 131072, "num_attention_heads": 32,
        "num_hidden_layers": 40, "num_key_value_heads": 8, "sliding_window": null,
        "vocab_size": 131072}})",
                                 "config.json");
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value().family, "mistral");
  EXPECT_EQ(model.value().context, 131072);
  EXPECT_FALSE(model.value().ties_embedding);
  ASSERT_EQ(model.value().layers.size(), 1U);
  EXPECT_EQ(std::get<Attention>(model.value().layers.front().layer.mixer),
            (Attention{.heads = 32, .kv_heads = 8, .head_dim = 128}));
}

// Mistral Small 4 has latent attention and experts beside its tower.
TEST(ParseModel, ADecoderOfAnotherKindIsNotReadAsDense) {
  for (const std::string field : {"kv_lora_rank", "n_routed_experts", "num_local_experts"}) {
    EXPECT_THAT(problem(four_layers("MistralForCausalLM", ", \"" + field + "\": 64")),
                HasSubstr("config.json: " + field + ": a Mistral is read as dense layers"));
  }
}

TEST(ParseModel, Phi3IsDenseAndHasAWindowOnlyWhereItsConfigNamesOne) {
  const auto windows = [](const std::string& more) { return windows_of("Phi3ForCausalLM", more); };
  EXPECT_EQ(windows(""), Layers({{0, 4}}));
  EXPECT_EQ(windows(R"(, "sliding_window": null)"), Layers({{0, 4}}));
  EXPECT_EQ(windows(R"(, "sliding_window": 2047, "partial_rotary_factor": 0.75)"),
            Layers({{2047, 4}}));
  EXPECT_EQ(four_layers("Phi3ForCausalLM", "").value().family, "phi3");
}

TEST(ParseModel, UpperLayersOfQwenHaveTheWindowThatIsUsed) {
  for (const char* architecture : {"Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
    const auto windows = [&](const std::string& more) { return windows_of(architecture, more); };
    EXPECT_EQ(windows(""), Layers({{0, 4}}));
    EXPECT_EQ(windows(R"(, "use_sliding_window": null, "sliding_window": 1024,
                          "max_window_layers": 0)"),
              Layers({{0, 4}}));
    EXPECT_EQ(windows(R"(, "use_sliding_window": false, "sliding_window": 1024,
                          "max_window_layers": 0)"),
              Layers({{0, 4}}));
    const std::string used = R"(, "use_sliding_window": true, "max_window_layers": 1)";
    EXPECT_EQ(windows(used + R"(, "sliding_window": 1024)"), Layers({{0, 1}, {1024, 3}}));
    EXPECT_EQ(windows(used + R"(, "sliding_window": null)"), Layers({{0, 4}}));
    EXPECT_EQ(windows(used), Layers({{0, 1}, {4096, 3}}));
    // Transformers takes 28 layers without a window where the field is missing.
    EXPECT_EQ(windows(R"(, "use_sliding_window": true, "sliding_window": 1024)"), Layers({{0, 4}}));
    EXPECT_EQ(windows(used + R"(, "sliding_window": 1024, "layer_types": ["sliding_attention",
                        "full_attention", "full_attention", "full_attention"])"),
              Layers({{0, 3}, {1024, 1}}));
    EXPECT_THAT(problem(four_layers(architecture, R"(, "use_sliding_window": 1)")),
                HasSubstr("config.json: use_sliding_window: it is not"));
    EXPECT_THAT(problem(four_layers(architecture, used + R"(, "sliding_window": false)")),
                HasSubstr("config.json: sliding_window: it is not a whole number"));
  }
}

TEST(ParseModel, AllLayersOfQwenWithExpertsHaveTheWindowThatIsUsed) {
  const auto windows = [](const std::string& more) {
    return windows_of("Qwen3MoeForCausalLM", more);
  };
  EXPECT_EQ(windows(R"(, "sliding_window": 1024)"), Layers({{0, 4}}));
  EXPECT_EQ(windows(R"(, "use_sliding_window": true, "sliding_window": 1024,
                        "max_window_layers": 4)"),
            Layers({{1024, 4}}));
}

TEST(ReadModel, EveryShippedModelReads) {
  ASSERT_GE(shipped_models().size(), 20U);
  for (const ShippedModel& shipped : shipped_models()) {
    const auto model = read_model(std::string(shipped.name));
    EXPECT_TRUE(model.ok()) << model.error().message;
  }
}

TEST(ReadModel, FilesTellTheirNames) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("model_names_" + std::to_string(getpid()));
  for (const char* name :
       {"Qwen3-8B/config.json", "Qwen--Qwen3-8B_config.json", "Qwen3-8B.json",
        "models--Qwen--Qwen3-8B/snapshots/b968826d9c46dd6066d109eabc6255188de91218/config.json"}) {
    const std::filesystem::path file = folder / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << find_shipped_model("qwen3-8b")->config;
    const auto model = read_model(file);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model.value().name, "Qwen3-8B") << name;
  }
  std::filesystem::remove_all(folder);
}

TEST(ReadModel, MisspelledNameSaysWhichIsMeant) {
  EXPECT_THAT(problem(read_model("qwen3-32bb")), HasSubstr("did you mean 'qwen3-32b'?"));
  EXPECT_THAT(problem(read_model("nowhere/config.json")), HasSubstr("nowhere/config.json"));
}

TEST(ReadModel, AnIdOfHuggingFaceIsNotDownloaded) {
  EXPECT_THAT(problem(read_model("Qwen/Qwen3-4B")),
              testing::AllOf(HasSubstr("'Qwen/Qwen3-4B' is no file or folder here, and assay "
                                       "downloads no models: give a folder with the model's "
                                       "config.json"),
                             HasSubstr("such as qwen3-14b, "), HasSubstr("qwen3-8b")));
  EXPECT_THAT(problem(read_model("meta-llama/Llama-3.1-8B-Instruct")),
              testing::EndsWith("such as llama-3.1-8b"));
  EXPECT_THAT(problem(read_model("some/Thing")), testing::EndsWith("config.json"));
}

}  // namespace
}  // namespace assay::serving
