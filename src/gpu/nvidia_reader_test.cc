#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/devices.h"
#include "gpu/fake_nvml_test_util.h"
#include "gpu/nvml.h"

namespace assay::gpu {
namespace {

TEST(NvidiaReader, NoLibraryIsNoDevices) {
  const auto machine =
      nvidia_reader("/nonexistent/libnvidia-ml.so.1")->read(DeviceReader::Detail::kAll);
  ASSERT_TRUE(machine.ok());
  EXPECT_TRUE(machine.value().devices.empty());
}

TEST(NvidiaReader, NoDriverIsNoDevices) {
  const FakeNvml fake("init_error 9\n");
  const auto machine = nvidia_reader(FakeNvml::library())->read(DeviceReader::Detail::kAll);
  ASSERT_TRUE(machine.ok());
  EXPECT_TRUE(machine.value().devices.empty());
}

TEST(NvidiaReader, ABrokenDriverIsAnError) {
  const FakeNvml fake("init_error 18\n");
  const auto reader = nvidia_reader(FakeNvml::library());
  for (int i = 0; i < 2; ++i) {
    const auto machine = reader->read(DeviceReader::Detail::kAll);
    ASSERT_FALSE(machine.ok());
    EXPECT_NE(machine.error().message.find("fake error 18"), std::string::npos);
  }
}

TEST(NvidiaReader, ReadsAllThatThereIs) {
  const FakeNvml fake(
      "count 2\nname NVIDIA H200\nsm_clock.1 1200\nreasons.1 0x44\nused.1 4711 1048576\n"
      "used.1 4712 18446744073709551615\nprocess_name.4711 /usr/bin/python3 a/b.py\npower "
      "350500\n");
  const Machine machine =
      nvidia_reader(FakeNvml::library())->read(DeviceReader::Detail::kAll).value();
  EXPECT_EQ(machine.driver_version, "580.159.04");
  EXPECT_EQ(machine.cuda_driver_version, "13.0");
  ASSERT_EQ(machine.devices.size(), 2U);
  EXPECT_EQ(machine.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(machine.devices[0].uuid, "GPU-fake-0");
  EXPECT_EQ(machine.devices[0].bus_id, "00000000:01:00.0");
  EXPECT_EQ(machine.devices[0].sm.now_mhz, 1980);
  EXPECT_TRUE(machine.devices[0].clock_reasons.empty());
  EXPECT_DOUBLE_EQ(machine.devices[0].power_watts.value_or(0), 350.5);
  EXPECT_EQ(machine.devices[0].persistence_mode, true);
  EXPECT_EQ(machine.devices[0].mig, false);
  const Device& second = machine.devices[1];
  EXPECT_EQ(second.sm.now_mhz, 1200);
  ASSERT_EQ(second.clock_reasons.size(), 2U);
  EXPECT_EQ(second.clock_reasons[1].words, "hardware thermal slowdown");
  ASSERT_EQ(second.processes.size(), 2U);
  EXPECT_EQ(second.processes[0].name, "python3");
  EXPECT_EQ(second.processes[0].used_bytes, 1048576U);
  EXPECT_FALSE(second.processes[1].used_bytes.has_value());
}

TEST(NvidiaReader, SeesChanges) {
  const FakeNvml fake("count 1\n");
  const auto reader = nvidia_reader(FakeNvml::library());
  EXPECT_EQ(reader->read(DeviceReader::Detail::kAll).value().devices[0].sm.now_mhz, 1980);
  fake.set("count 1\nsm_clock 345\n");
  EXPECT_EQ(reader->read(DeviceReader::Detail::kAll).value().devices[0].sm.now_mhz, 345);
}

TEST(NvidiaReader, UnsupportedFieldsStayEmpty) {
  const FakeNvml fake("count 1\nsm_clock unsupported\nmig unsupported\npower unsupported\n");
  const Machine machine =
      nvidia_reader(FakeNvml::library())->read(DeviceReader::Detail::kAll).value();
  ASSERT_EQ(machine.devices.size(), 1U);
  EXPECT_FALSE(machine.devices[0].sm.now_mhz.has_value());
  EXPECT_FALSE(machine.devices[0].mig.has_value());
  EXPECT_FALSE(machine.devices[0].power_watts.has_value());
  EXPECT_EQ(machine.devices[0].memory.now_mhz, 3201);
}

TEST(NvidiaReader, ALostGpuIsNamed) {
  const FakeNvml fake("count 2\nhandle_error.1 15\n");
  const Machine machine =
      nvidia_reader(FakeNvml::library())->read(DeviceReader::Detail::kAll).value();
  ASSERT_EQ(machine.devices.size(), 2U);
  EXPECT_TRUE(machine.devices[0].problem.empty());
  EXPECT_EQ(machine.devices[1].problem, "fake error 15");
}

TEST(NvidiaReader, ManyProcessesNeedASecondCall) {
  std::string values = "count 1\n";
  for (int i = 0; i < 100; ++i)
    values += "used.0 " + std::to_string(5000 + i) + " 1\n";
  const FakeNvml fake(values);
  const Machine machine =
      nvidia_reader(FakeNvml::library())->read(DeviceReader::Detail::kAll).value();
  ASSERT_EQ(machine.devices[0].processes.size(), 100U);
  EXPECT_EQ(machine.devices[0].processes[99].pid, 5099);
}

TEST(ClockReasons, NewBitsAreNotLost) {
  const auto reasons = nvml::clock_reasons(0x1001);
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].kind, ClockReason::Kind::kExpected);
  EXPECT_EQ(reasons[1].words, "unknown reason 0x1000");
  EXPECT_EQ(reasons[1].kind, ClockReason::Kind::kSlowdown);
}

// Checks the layouts of nvml.h against the real library, where there is one.
TEST(NvidiaReader, RealDriver) {
  const auto machine = nvidia_reader("libnvidia-ml.so.1")->read(DeviceReader::Detail::kAll);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  if (machine.value().devices.empty()) GTEST_SKIP() << "no NVIDIA GPU here";
  EXPECT_FALSE(machine.value().driver_version.empty());
  EXPECT_FALSE(machine.value().cuda_driver_version.empty());
  for (const Device& device : machine.value().devices) {
    ASSERT_EQ(device.problem, "");
    EXPECT_TRUE(device.uuid.starts_with("GPU-")) << device.uuid;
    EXPECT_EQ(std::count(device.bus_id.begin(), device.bus_id.end(), ':'), 2) << device.bus_id;
    EXPECT_GT(device.sm.now_mhz.value_or(0), 0);
    EXPECT_LE(device.sm.now_mhz.value_or(0), device.sm.max_mhz.value_or(0));
    EXPECT_GT(device.temperature_celsius.value_or(0), 0);
    EXPECT_LT(device.temperature_celsius.value_or(200), 120);
    EXPECT_GT(device.power_watts.value_or(0), 0);
    EXPECT_LT(device.power_limit_watts.value_or(1e6), 3000);
  }
}

}  // namespace
}  // namespace assay::gpu
