#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gpu/devices.h"

namespace assay::gpu {
namespace {

namespace fs = std::filesystem;

class AmdReader : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) /
            (std::string("assay_amd_") + test->name() + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& content) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }

  void write_card(const std::string& card, const std::string& address) const {
    const std::string folder = "sys/class/drm/" + card + "/device/";
    write(folder + "vendor", "0x1002\n");
    write(folder + "device", "0x74a1\n");
    write(folder + "unique_id", "b0f1c2d3e4a59687\n");
    write(folder + "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=" + address + "\n");
    write(folder + "pp_dpm_sclk", "0: 132Mhz\n1: 1850Mhz *\n2: 2100Mhz\n");
    write(folder + "pp_dpm_mclk", "0: 900Mhz\n1: 1300Mhz *\n");
    write(folder + "gpu_busy_percent", "97\n");
    write(folder + "hwmon/hwmon3/temp1_input", "51000\n");
    write(folder + "hwmon/hwmon3/temp2_input", "63500\n");
    write(folder + "hwmon/hwmon3/power1_average", "512250000\n");
    write(folder + "hwmon/hwmon3/power1_cap", "750000000\n");
  }

  [[nodiscard]] Machine read() const {
    return amd_reader(root_)->read(DeviceReader::Detail::kAll).value();
  }

  fs::path root_;
};

TEST_F(AmdReader, NoDriverIsNoDevices) {
  EXPECT_TRUE(read().devices.empty());
}

TEST_F(AmdReader, ReadsTheDriversFiles) {
  write_card("card1", "0000:c1:00.0");
  write("sys/class/drm/card1-DP-1/status", "disconnected\n");
  write("sys/class/drm/card0/device/vendor", "0x1a03\n");  // a server's own graphics chip
  write("sys/module/amdgpu/version", "6.12.12\n");
  const Machine machine = read();
  EXPECT_EQ(machine.driver_version, "6.12.12");
  ASSERT_EQ(machine.devices.size(), 1U);
  const Device& device = machine.devices[0];
  EXPECT_EQ(device.name, "AMD GPU 0x74a1");
  EXPECT_EQ(device.uuid, "b0f1c2d3e4a59687");
  EXPECT_EQ(device.bus_id, "0000:c1:00.0");
  EXPECT_EQ(device.sm.now_mhz, 1850);
  EXPECT_EQ(device.sm.max_mhz, 2100);
  EXPECT_EQ(device.memory.now_mhz, 1300);
  EXPECT_EQ(device.utilization_percent, 97);
  EXPECT_DOUBLE_EQ(device.temperature_celsius.value_or(0), 63.5);
  EXPECT_DOUBLE_EQ(device.power_watts.value_or(0), 512.25);
  EXPECT_DOUBLE_EQ(device.power_limit_watts.value_or(0), 750);
  EXPECT_FALSE(device.ecc.has_value());
}

TEST_F(AmdReader, NumbersByBusAndFindsProcesses) {
  write_card("card1", "0000:c1:00.0");
  write_card("card2", "0000:1d:00.0");
  write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
  write("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51234\n");
  // 0xc1 << 8
  write("sys/class/kfd/kfd/topology/nodes/1/properties", "domain 0\nlocation_id 49408\n");
  write("sys/class/kfd/kfd/proc/812/vram_51234", "4096\n");
  write("sys/class/kfd/kfd/proc/813/vram_51234", "0\n");
  write("proc/812/comm", "python3\n");
  const Machine machine = read();
  ASSERT_EQ(machine.devices.size(), 2U);
  EXPECT_EQ(machine.devices[0].bus_id, "0000:1d:00.0");
  EXPECT_TRUE(machine.devices[0].processes.empty());
  const Device& used = machine.devices[1];
  EXPECT_EQ(used.index, 1);
  ASSERT_EQ(used.processes.size(), 1U);
  EXPECT_EQ(used.processes[0].pid, 812);
  EXPECT_EQ(used.processes[0].name, "python3");
  EXPECT_EQ(used.processes[0].used_bytes, 4096U);
}

TEST_F(AmdReader, OddFilesLeaveFieldsEmpty) {
  write_card("card0", "0000:c1:00.0");
  write("sys/class/drm/card0/device/pp_dpm_sclk", "\n*\nS: Mhz *\n0:\n");
  write("sys/class/drm/card0/device/hwmon/hwmon3/power1_cap", "none\n");
  const Machine machine = read();
  ASSERT_EQ(machine.devices.size(), 1U);
  EXPECT_FALSE(machine.devices[0].sm.now_mhz.has_value());
  EXPECT_FALSE(machine.devices[0].power_limit_watts.has_value());
  EXPECT_EQ(machine.devices[0].memory.now_mhz, 1300);
}

}  // namespace
}  // namespace assay::gpu
