#include "model/serving/left_out.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "model/serving/family.h"

namespace assay::serving {
namespace {

using testing::HasSubstr;

constexpr const char* kDense = R"("architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "vocab_size": 128256)";
constexpr const char* kMixture = R"("architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 2048,
    "intermediate_size": 6144, "num_attention_heads": 32, "num_key_value_heads": 4,
    "vocab_size": 151936, "num_experts": 128, "num_experts_per_tok": 8,
    "moe_intermediate_size": 768)";
constexpr const char* kLatent = R"("architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 7168,
    "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
    "num_attention_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280)";
constexpr const char* kLinear = R"("architectures": ["Qwen3_5ForCausalLM"], "hidden_size": 5120,
    "intermediate_size": 17408, "num_attention_heads": 24, "num_key_value_heads": 4,
    "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 48, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4,
    "vocab_size": 248320)";
constexpr const char* kStates = R"("architectures": ["NemotronHForCausalLM"], "hidden_size": 4096,
    "hybrid_override_pattern": "ME*-", "num_attention_heads": 32, "num_key_value_heads": 2,
    "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8,
    "conv_kernel": 4, "chunk_size": 128, "intermediate_size": 2688, "n_routed_experts": 512,
    "num_experts_per_tok": 22, "moe_intermediate_size": 2688, "moe_latent_size": 1024,
    "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 5376, "vocab_size": 131072)";

core::Result<Model> model_of(const char* fields, int layers, const std::string& quantization) {
  return parse_model(fmt::format(R"({{{}, "num_hidden_layers": {}, "quantization_config": {}}})",
                                 fields, layers, quantization),
                     "config.json");
}

core::Result<Model> ignoring(const char* fields, int layers, const std::string& modules) {
  return model_of(fields, layers,
                  fmt::format(R"({{"quant_method": "fp8", "ignore": [{}]}})", modules));
}

constexpr std::array<std::pair<Projection, const char*>, kProjections> kNames = {{
    {Projection::kMixerInput, "input"},
    {Projection::kMixerGates, "gates"},
    {Projection::kMixerOutput, "output"},
    {Projection::kQueryDown, "query_down"},
    {Projection::kLatentDown, "latent_down"},
    {Projection::kQueryUp, "query_up"},
    {Projection::kLatentUp, "latent_up"},
    {Projection::kUp, "up"},
    {Projection::kDown, "down"},
    {Projection::kToLatent, "to_latent"},
    {Projection::kFromLatent, "from_latent"},
    {Projection::kSharedUp, "shared_up"},
    {Projection::kSharedDown, "shared_down"},
    {Projection::kExperts, "experts"},
}};

// "2 input output; 2": the layers by what they leave out.
std::string text_of(const core::Result<Model>& model) {
  if (!model.ok()) return model.error().message;
  std::vector<std::string> all;
  for (const EqualLayers& equal : model.value().layers) {
    std::string one = std::to_string(equal.count);
    for (const auto& [projection, name] : kNames)
      if (equal.layer.left_out.has(projection)) one += std::string(" ") + name;
    all.push_back(one);
  }
  return core::join(all, "; ");
}

struct Case {
  const char* modules;
  const char* left;  // of four layers
};

constexpr auto kDenseCases = std::to_array<Case>({
    {R"("lm_head", "gate")", "4"},
    {R"("re:.*self_attn.*")", "4 input output"},
    {R"("re:model\\.layers\\.[0-9]+\\.self_attn\\..*")", "4 input output"},
    {R"("re:^model.language_model.layers.\\d+.self_attn")", "4 input output"},
    {R"("re:^model\\.layers\\.\\d{1,2}\\.self_attn")", "4 input output"},
    {R"("re:(?i).*SELF_ATTN.*")", "4 input output"},
    {R"("re:.*\\.(?P<part>self_attn)\\.(?P<matrix>o)_proj")", "4 output"},
    {R"("re:^(?!.*self_attn)(?=.*down).*")", "4 down"},
    {R"("re:(?!.*(?=attn|mixer|gate|up)).*proj")", "4 down"},
    {R"("re:.*(?<=mlp\\.)down")", "4 down"},
    {R"("re:.*layers\\.[0-2]\\.self_attn\\.o.*")", "3 output; 1"},
    {R"("model.layers.*.self_attn*")", "4 input output"},
    {R"("*.self_attn")", "4 input output"},
    {R"("self_attn")", "4 input output"},
    {R"("self_attn.o_proj")", "4 output"},
    {R"("re:.*k_proj")", "4 input"},
    // Norms have no matrix.
    {R"("re:.*self_attn.k_norm$", "re:.*self_attn.q_norm$")", "4"},
    {R"("model.layers.0.self_attn.q_norm", "model.layers.1.self_attn.q_norm")", "4"},
    {R"("model.layers.0.self_attn", "model.layers.3.self_attn")", "2 input output; 2"},
    {R"("language_model.model.layers.2.mlp.down_proj")", "3; 1 down"},
    {R"("model.layers.1")", "3; 1 input output up down"},
    // Towers that read pictures have layers, too.
    {R"("re:vision_model.*", "model.vision_tower.layers.0.self_attn", "model.visual.*")", "4"},
});

TEST(LeaveOut, PatternsAndNamesAreThoseOfProjections) {
  for (const Case& one : kDenseCases)
    EXPECT_EQ(text_of(ignoring(kDense, 4, one.modules)), one.left) << one.modules;
}

TEST(LeaveOut, ANumberIsWhole) {
  EXPECT_EQ(text_of(ignoring(kDense, 12, R"("model.layers.1")")), "11; 1 input output up down");
}

TEST(LeaveOut, EveryKindOfLayerHasItsModules) {
  EXPECT_EQ(text_of(ignoring(kLatent, 4, R"("re:.*self_attn.kv_a_proj_with_mqa$")")),
            "1 latent_down; 3 latent_down");
  EXPECT_EQ(text_of(ignoring(kLatent, 4, R"("re:.*self_attn.*")")),
            "1 output query_down latent_down query_up latent_up; "
            "3 output query_down latent_down query_up latent_up");
  EXPECT_EQ(text_of(ignoring(kLatent, 4, R"("re:.*mlp.(gate|up)_proj", "*shared_experts*")")),
            "1 up; 3 shared_up shared_down");
  EXPECT_EQ(text_of(ignoring(kLatent, 4, R"("model.layers.2.mlp.experts")")), "1; 2; 1 experts");
  EXPECT_EQ(text_of(ignoring(kLinear, 4, R"("re:.*linear_attn.*")")), "3 input gates output; 1");
  EXPECT_EQ(text_of(ignoring(kLinear, 4, R"("model.layers.0.linear_attn.in_proj_ba",
                                            "model.layers.1.linear_attn.conv1d")")),
            "1 gates; 2; 1");
  EXPECT_EQ(text_of(ignoring(kStates, 4, R"("backbone.layers.0.mixer.in_proj",
      "backbone.layers.1.mixer.fc1_latent_proj", "backbone.layers.1.mixer.fc2_latent_proj",
      "backbone.layers.2.mixer.q_proj", "backbone.layers.3.mixer")")),
            "1 input; 1 to_latent from_latent; 1 input; 1 up down");
}

TEST(LeaveOut, AttentionThatIsLeftOutStaysInBfloat16BesideExperts) {
  const auto precision = [](const char* fields, const std::string& modules) {
    const auto model = model_of(
        fields, 60, fmt::format(R"({{"quant_algo": "NVFP4", "exclude_modules": [{}]}})", modules));
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
    return model.ok() ? model.value().precision : Precision{};
  };
  const std::string pattern = R"("lm_head", "model.layers.*.self_attn*")";
  EXPECT_EQ(precision(kMixture, pattern), Precision{.experts = Quantization::kNvfp4});
  // A model without experts has its feed-forward layers beside attention.
  EXPECT_EQ(precision(kDense, pattern).linear, Quantization::kNvfp4);
  std::string layers;
  for (int layer = 0; layer < 60; ++layer)
    layers += fmt::format(R"({}"model.layers.{}.self_attn")", layer == 0 ? "" : ", ", layer);
  EXPECT_EQ(precision(kMixture, layers).linear, Quantization::kBfloat16);
  EXPECT_EQ(precision(kMixture, R"("model.layers.0.self_attn", "lm_head")").linear,
            Quantization::kNvfp4);
  EXPECT_EQ(precision(kMixture, R"("re:.*")"), Precision{});
}

TEST(LeaveOut, AllListsOfModulesCount) {
  for (const char* field :
       {"ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers"})
    EXPECT_EQ(text_of(model_of(
                  kDense, 4,
                  fmt::format(R"({{"quant_method": "fp8", "{}": ["re:.*self_attn.*"]}})", field))),
              "4 input output")
        << field;
}

TEST(LeaveOut, ALoneWordIsAList) {
  EXPECT_EQ(text_of(model_of(kDense, 4, R"({"quant_method": "fp8", "ignore": "lm_head"})")), "4");
  EXPECT_EQ(text_of(model_of(
                kDense, 4, R"({"quant_method": "fp8", "modules_to_not_convert": "re:.*o_proj"})")),
            "4 output");
}

TEST(LeaveOut, ManyPatternsCount) {
  std::string modules = "\"re:" + std::string(1000, 'a') + "\"";
  for (int i = 0; i < 1000; ++i)
    modules += fmt::format(", \"re:.*module_{}{}.*\"", std::string(1 + i % 40, 'x'),
                           static_cast<char>('a' + i / 40));
  EXPECT_EQ(text_of(ignoring(kLatent, 61, modules + R"(, "re:.*kv_b_proj")")),
            "1 latent_up; 60 latent_up");
}

TEST(LeaveOut, ARegularExpressionThatDoesNotReadIsAnError) {
  EXPECT_EQ(text_of(ignoring(kDense, 4, R"("re:.*self_attn(")")),
            "config.json: the regular expression '.*self_attn(' cannot be read: missing closing "
            "parenthesis at character 13");
}

TEST(LeaveOut, ARegularExpressionThatTakesTooLongIsAnError) {
  EXPECT_THAT(text_of(ignoring(kDense, 4, R"("re:((((((.*)*)*)*)*)*)*\\d$")")),
              HasSubstr("cannot be matched with 'model.layers.0.self_attn.q_proj': match limit"));
}

}  // namespace
}  // namespace assay::serving
