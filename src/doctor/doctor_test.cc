#include "doctor/doctor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gpu/fake_nvml_test_util.h"

namespace assay::doctor {
namespace {

const model::Fact* find(const model::Facts& facts, const std::string& item) {
  for (const model::Fact& fact : facts) {
    if (fact.item == item) return &fact;
  }
  return nullptr;
}

TEST(EnvironmentFacts, TellOfTheChosenGpus) {
  const gpu::FakeNvml fake("count 3\nname.2 NVIDIA H100\npower_limit 650000\n");
  const auto facts = environment_facts({.gpus = {0, 1}, .nvml_library = gpu::FakeNvml::library()});
  ASSERT_TRUE(facts.ok());
  ASSERT_NE(find(facts.value(), "GPUs"), nullptr);
  EXPECT_EQ(model::text(find(facts.value(), "GPUs")->value), "2 x NVIDIA H200");
  EXPECT_EQ(model::text(find(facts.value(), "driver")->value), "580.159.04");
  EXPECT_EQ(model::text(find(facts.value(), "GPU power limit")->value), "650");
  EXPECT_NE(find(facts.value(), "kernel"), nullptr);
}

TEST(EnvironmentFacts, OfAMachineWithoutGpusAreThoseOfItsHost) {
  const auto facts = environment_facts({.nvml_library = "/nonexistent/libnvidia-ml.so.1"});
  ASSERT_TRUE(facts.ok());
  EXPECT_NE(find(facts.value(), "kernel"), nullptr);
  EXPECT_EQ(find(facts.value(), "GPUs"), nullptr);
}

TEST(Doctor, CommandsAreOfGpusWithTheSameClocks) {
  const gpu::FakeNvml fake("count 3\nmax_sm_clock.1 1755\nmax_memory_clock.1 2619\n");
  const auto diagnosis = diagnose({.nvml_library = gpu::FakeNvml::library()});
  ASSERT_TRUE(diagnosis.ok());
  EXPECT_EQ(diagnosis.value().lock_commands,
            (std::vector<std::string>{
                "sudo nvidia-smi -i 1 -lgc 1755,1755", "sudo nvidia-smi -i 1 -lmc 2619,2619",
                "sudo nvidia-smi -i 0,2 -lgc 1980,1980", "sudo nvidia-smi -i 0,2 -lmc 3201,3201"}));
  EXPECT_EQ(diagnosis.value().unlock_commands[2], "sudo nvidia-smi -i 0,2 -rgc");
}

TEST(Doctor, AGovernorThatIsNotKnownIsNoGoodOne) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / ("governor" + std::to_string(getpid()));
  const fs::path cpu = root / "sys/devices/system/cpu/cpu0/cpufreq";
  fs::create_directories(cpu);
  const auto level = [&root] {
    const auto diagnosis = diagnose({.nvml_library = gpu::FakeNvml::library(), .root = root});
    for (const Finding& finding : diagnosis.value().findings)
      if (finding.seen.starts_with("the CPU governor")) return finding.level;
    return Level::kProblem;
  };
  EXPECT_EQ(level(), Level::kNote);
  std::ofstream(cpu / "scaling_governor") << "performance";
  EXPECT_EQ(level(), Level::kOk);
  fs::remove_all(root);
}

// Tries the new layouts of gpu/nvml.h with the real library, where there is one.
TEST(Doctor, RealDriver) {
  const auto health = gpu::nvidia_health("libnvidia-ml.so.1");
  ASSERT_TRUE(health.ok()) << health.error().message;
  if (health.value().empty()) GTEST_SKIP() << "no NVIDIA GPU here";
  for (const gpu::Health& gpu : health.value()) {
    EXPECT_GT(gpu.default_power_limit_watts.value_or(1), 0);
    EXPECT_LT(gpu.thermal_margin_celsius.value_or(0), 120);
    EXPECT_GT(gpu.thermal_margin_celsius.value_or(0), -40);
    EXPECT_LE(gpu.pcie_width.value_or(0), gpu.max_pcie_width.value_or(32));
    EXPECT_LE(gpu.links.size(), 18U);
  }
}

}  // namespace
}  // namespace assay::doctor
