#include "sweep/setting.h"

#include <gtest/gtest.h>

#include "core/registry.h"
#include "sweep/preset.h"

namespace assay::sweep {
namespace {

const PresetSpec& preset(std::string_view name) {
  for (const PresetSpec* spec : core::Registry<PresetSpec>::all())
    if (spec->name == name) return *spec;
  ADD_FAILURE() << "no preset " << name;
  return *core::Registry<PresetSpec>::all().front();
}

std::vector<std::string> names(const Settings& settings) {
  std::vector<std::string> result;
  for (const Setting& setting : settings)
    result.push_back(setting.name);
  return result;
}

std::string value_of(const Setting& setting, const std::string& variable) {
  for (const auto& [name, text] : setting.variables)
    if (name == variable) return text;
  return "(no word on it)";
}

using Names = std::vector<std::string>;

TEST(Preset, RcclWarpSpeedIsThePublicScriptsDefault) {
  const PresetSpec& spec = preset(kDefaultPreset);
  const Settings settings = preset_settings(spec, spec.default_pairs).value();
  EXPECT_EQ(names(settings), (Names{"56cu_256threads", "37cu_384threads", "32cu_512threads"}));
  EXPECT_EQ(value_of(settings[1], "RCCL_WARP_SPEED_CU_COUNT"), "37");
  EXPECT_EQ(value_of(settings[1], "RCCL_THREADS_PER_BLOCK"), "384");
  EXPECT_EQ(value_of(settings[1], "RCCL_WARP_SPEED_ENABLE"), "1");
  EXPECT_EQ(value_of(settings[1], "RCCL_UNROLL_FACTOR"), "1");
  EXPECT_EQ(value_of(settings[1], "HSA_ENABLE_SDMA"), "0");
  EXPECT_EQ(value_of(settings[1], "PYTORCH_ROCM_PROFILER_ENABLE_TRACING"), "1");
}

TEST(Preset, DefaultSettingUnsetsWhatOthersSet) {
  Settings settings = preset_settings(preset("nccl-ctas"), "default 16,256").value();
  ASSERT_TRUE(complete(settings).ok());
  EXPECT_EQ(names(settings), (Names{"default", "16cta_256threads"}));
  EXPECT_EQ(value_of(settings[0], "NCCL_MIN_CTAS"), "");
  EXPECT_EQ(value_of(settings[0], "NCCL_NTHREADS"), "");
  EXPECT_EQ(value_of(settings[1], "NCCL_MIN_CTAS"), "16");
  EXPECT_EQ(value_of(settings[1], "NCCL_MAX_CTAS"), "16");
}

TEST(Preset, DefaultAloneUnsetsWhatThePresetSets) {
  const PresetSpec& spec = preset("nccl-ctas");
  Settings settings = preset_settings(spec, "default").value();
  ASSERT_TRUE(complete(settings, preset_settings(spec, spec.default_pairs).value()).ok());
  EXPECT_EQ(names(settings), Names{"default"});
  EXPECT_EQ(settings[0].variables,
            (Variables{{"NCCL_MIN_CTAS", ""}, {"NCCL_MAX_CTAS", ""}, {"NCCL_NTHREADS", ""}}));
}

TEST(Preset, RefusesWhatIsNoPair) {
  for (const char* pairs : {"", "56", "56,", ",256", "56,256,1", "a,b", "0,256", "-1,256", " "})
    EXPECT_FALSE(preset_settings(preset(kDefaultPreset), pairs).ok()) << "'" << pairs << "'";
}

TEST(Preset, AllDefaultsAreSettings) {
  for (const PresetSpec* spec : core::Registry<PresetSpec>::all()) {
    auto settings = preset_settings(*spec, spec->default_pairs);
    ASSERT_TRUE(settings.ok()) << settings.error().message;
    EXPECT_TRUE(complete(settings.value()).ok()) << spec->name;
  }
}

TEST(Axis, ValuesMayHoldCommasAndBeEmpty) {
  const Axis axis = parse_axis("NCCL_ALGO=,Ring\\,Tree,a=b").value();
  EXPECT_EQ(axis.variable, "NCCL_ALGO");
  EXPECT_EQ(axis.values, (Names{"", "Ring,Tree", "a=b"}));
  for (const char* wrong : {"NCCL_ALGO", "=x", "1A=x", "A B=x", "A=x,x", ""})
    EXPECT_FALSE(parse_axis(wrong).ok()) << wrong;
}

TEST(Axis, RefusesWhatTheSweepItselfSets) {
  for (const char* variable : {"ASSAY_RUN_DIR", "ASSAY_RUN_SETTING", "ASSAY_SWEEP_ID"}) {
    const auto axis = parse_axis(std::string(variable) + "=x");
    ASSERT_FALSE(axis.ok()) << variable;
    EXPECT_NE(axis.error().message.find("the sweep itself sets"), std::string::npos);
  }
  EXPECT_TRUE(parse_axis("ASSAY_RUN_DIRECTORY=x").ok());
}

TEST(Axis, CombinesWithEverySetting) {
  Settings settings = preset_settings(preset("nccl-ctas"), "8,512 4,512").value();
  settings = with_axis(settings, {"NCCL_BUFFSIZE", {"", "1048576"}});
  EXPECT_EQ(names(settings),
            (Names{"8cta_512threads_default-buffsize", "8cta_512threads_1048576buffsize",
                   "4cta_512threads_default-buffsize", "4cta_512threads_1048576buffsize"}));
  EXPECT_EQ(names(with_axis({}, {"NCCL_PROTO", {"LL", "Simple"}})),
            (Names{"ll-proto", "simple-proto"}));
}

TEST(Setting, IsGivenOnceAndSoIsEachVariable) {
  Settings equal = preset_settings(preset("nccl-ctas"), "8,512 8,512").value();
  EXPECT_FALSE(complete(equal).ok());
  Settings twice =
      with_axis(preset_settings(preset("nccl-ctas"), "8,512").value(), {"NCCL_MIN_CTAS", {"1"}});
  EXPECT_FALSE(complete(twice).ok());
}

TEST(Setting, DifferentSettingsHaveDifferentNames) {
  Settings alike = with_axis({}, {"A", {"x/y", "x:y", "X Y", "x-y-a_2"}});
  ASSERT_TRUE(complete(alike).ok());
  EXPECT_EQ(names(alike), (Names{"x-y-a", "x-y-a_2", "x-y-a_3", "x-y-a_2-a"}));
  Settings alphabets = with_axis({}, {"A", {"ä", "ü", "Ж", "ж", "中", "文"}});
  ASSERT_TRUE(complete(alphabets).ok());
  EXPECT_EQ(names(alphabets), (Names{"ä-a", "ü-a", "Ж-a", "ж-a", "中-a", "文-a"}));
  EXPECT_FALSE(parse_axis("A=\xFF").ok());
}

TEST(Setting, NamesAreNeitherHiddenNorOptionsNorTooLong) {
  Settings settings = with_axis({}, {"A", {".5", "-1", ".."}});
  ASSERT_TRUE(complete(settings).ok());
  EXPECT_EQ(names(settings), (Names{"_.5-a", "_-1-a", "_..-a"}));
  Settings too_long = with_axis({}, {"A", {std::string(300, 'x')}});
  EXPECT_FALSE(complete(too_long).ok());
  EXPECT_EQ(folder_text("x\xE2\x80\xAEy"), "x\xEF\xBF\xBDy");
}

TEST(Setting, FolderNamesHoldNothingThatAPathOrShellMinds) {
  EXPECT_EQ(folder_text("allreduce:tree;../ $x"), "allreduce-tree-..---x");
  EXPECT_EQ(name_part("MY_VARIABLE", "On"), "on-my_variable");
  EXPECT_EQ(name_part("NCCL_NTHREADS", "256"), "256threads");
}

}  // namespace
}  // namespace assay::sweep
