// An NVML for tests, built as libnvidia-ml.so.1. The file named by ASSAY_FAKE_NVML describes the
// GPUs; without it there are none. It is read at every call, so that a test can change it. Its
// lines:
//
//   count 8                      number of GPUs (default 0)
//   sm_clock 1980                for all GPUs; "sm_clock.3 1200" is for GPU 3 alone
//   sm_clock_later 300           the SM clock once a process has asked for clocks 12 times
//   power unsupported            NVML_ERROR_NOT_SUPPORTED
//   used.0 4711 1048576          process 4711 uses 1 MiB of GPU 0; any number of lines
//   process_name.4711 /usr/bin/python3
//   init_error 9, handle_error.1 15, setter_error.0 4
//   inactive_link.0 17           NVLink 17 of GPU 0 is down; any number of lines
//   unreachable.0 1              GPU 0 cannot reach the memory of GPU 1; any number of lines
//
// The functions below show the names of values. Defaults describe a busy H200. A call that changes
// a GPU only appends a line to the file named by ASSAY_FAKE_NVML_CALLS: "0 lock_sm 1980 1980", "0
// unlock_sm".
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines lines() {
  Lines found;
  const char* file = std::getenv("ASSAY_FAKE_NVML");
  std::ifstream stream(file == nullptr ? "" : file);
  for (std::string line; std::getline(stream, line);) {
    const auto space = line.find(' ');
    if (space != std::string::npos)
      found.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return found;
}

// Returns the value for this GPU, or else for all GPUs, or else the default.
std::string value(const std::string& name, const std::string& gpu, const std::string& otherwise) {
  std::string found = otherwise;
  bool own = false;
  for (const auto& [key, text] : lines()) {
    if (key == name + "." + gpu) {
      found = text;
      own = true;
    } else if (key == name && !own) {
      found = text;
    }
  }
  return found;
}

// A handle is the index plus one, so that none is null.
std::string index_of(const void* handle) {
  return std::to_string(reinterpret_cast<std::size_t>(handle) - 1);
}

template <class Number>
int number(const void* handle, const char* name, const char* otherwise, Number* to) {
  const std::string text = value(name, index_of(handle), otherwise);
  if (text == "unsupported") return kNotSupported;
  *to = static_cast<Number>(std::strtoull(text.c_str(), nullptr, 0));
  return 0;
}

int copy(const std::string& text, char* to, unsigned bytes) {
  if (text == "unsupported") return kNotSupported;
  if (text.size() >= bytes) return kInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

int mode(
    const void* handle, const char* name, const char* otherwise, unsigned* now, unsigned* next) {
  *next = 0;
  return number(handle, name, otherwise, now);
}

// Returns whether one of the GPU's lines with this name says `text`.
bool says(const std::string& name, const std::string& gpu, const std::string& text) {
  for (const auto& [key, found] : lines()) {
    if (key == name + "." + gpu && found == text) return true;
  }
  return false;
}

// Finds the first GPU that `name_of` gives this name.
template <class Function>
int find_gpu(const char* wanted, Function name_of, void** to) {
  const std::size_t count = std::strtoull(value("count", "", "0").c_str(), nullptr, 0);
  for (std::size_t handle = 1; handle <= count; ++handle) {
    *to = reinterpret_cast<void*>(handle);
    if (name_of(*to) == wanted) return 0;
  }
  return kNotFound;
}

int record(const void* handle, const std::string& call) {
  const std::string gpu = index_of(handle);
  const int error = std::atoi(value("setter_error", gpu, "0").c_str());
  const char* file = std::getenv("ASSAY_FAKE_NVML_CALLS");
  if (error == 0 && file != nullptr) {
    std::ofstream(file, std::ios::app) << gpu + " " + call + "\n" << std::flush;
  }
  return error;
}

std::string mhz(unsigned min, unsigned max) {
  return " " + std::to_string(min) + " " + std::to_string(max);
}

const char* clock_name(unsigned clock) {
  return clock == 2 ? "memory_clock" : "sm_clock";
}

}  // namespace

extern "C" {

struct FakePciInfo {
  char bus_id_legacy[16];
  unsigned numbers[5];
  char bus_id[32];
};

struct FakeProcess {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

int nvmlInit_v2() {
  return std::atoi(value("init_error", "", "0").c_str());
}

int nvmlShutdown() {
  return 0;
}

const char* nvmlErrorString(int code) {
  static std::string text;
  text = "fake error " + std::to_string(code);
  return text.c_str();
}

int nvmlSystemGetDriverVersion(char* to, unsigned bytes) {
  return copy(value("driver", "", "580.159.04"), to, bytes);
}

int nvmlSystemGetNVMLVersion(char* to, unsigned bytes) {
  return copy(value("nvml", "", "13.580.159.04"), to, bytes);
}

int nvmlSystemGetCudaDriverVersion_v2(int* to) {
  *to = std::atoi(value("cuda", "", "13000").c_str());
  return 0;
}

int nvmlSystemGetProcessName(unsigned pid, char* to, unsigned bytes) {
  return copy(value("process_name", std::to_string(pid), "unsupported"), to, bytes);
}

int nvmlDeviceGetCount_v2(unsigned* to) {
  *to = static_cast<unsigned>(std::atoi(value("count", "", "0").c_str()));
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** to) {
  *to = reinterpret_cast<void*>(std::size_t{index} + 1);
  return std::atoi(value("handle_error", std::to_string(index), "0").c_str());
}

int nvmlDeviceGetName(void* handle, char* to, unsigned bytes) {
  return copy(value("name", index_of(handle), "NVIDIA H200"), to, bytes);
}

int nvmlDeviceGetUUID(void* handle, char* to, unsigned bytes) {
  return copy(value("uuid", index_of(handle), "GPU-fake-" + index_of(handle)), to, bytes);
}

int nvmlDeviceGetPciInfo_v3(void* handle, FakePciInfo* to) {
  *to = {};
  const std::string bus = std::to_string(std::stoi(index_of(handle)) + 1);
  return copy("00000000:0" + bus + ":00.0", to->bus_id, sizeof to->bus_id);
}

int nvmlDeviceGetClockInfo(void* handle, unsigned clock, unsigned* to) {
  const int error = std::atoi(value("clock_error", index_of(handle), "0").c_str());
  if (error != 0) return error;
  static std::atomic<int> asked = 0;
  const std::string later = value("sm_clock_later", index_of(handle), "");
  if (++asked > 12 && clock != 2 && !later.empty()) return number(handle, "sm_clock_later", "", to);
  return number(handle, clock_name(clock), clock == 2 ? "3201" : "1980", to);
}

int nvmlDeviceGetMaxClockInfo(void* handle, unsigned clock, unsigned* to) {
  return number(handle, clock == 2 ? "max_memory_clock" : "max_sm_clock",
                clock == 2 ? "3201" : "1980", to);
}

int nvmlDeviceGetApplicationsClock(void* handle, unsigned clock, unsigned* to) {
  return number(handle, clock == 2 ? "application_memory_clock" : "application_sm_clock",
                clock == 2 ? "3201" : "1980", to);
}

int nvmlDeviceGetTemperature(void* handle, unsigned, unsigned* to) {
  return number(handle, "temperature", "45", to);
}

int nvmlDeviceGetPowerUsage(void* handle, unsigned* to) {
  return number(handle, "power", "400000", to);
}

int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* to) {
  return number(handle, "power_limit", "700000", to);
}

int nvmlDeviceGetUtilizationRates(void* handle, unsigned* to) {  // of the GPU, then of its memory
  to[1] = 0;
  return number(handle, "utilization", "95", to);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle, unsigned long long* to) {
  return number(handle, "reasons", "0", to);
}

int nvmlDeviceGetPersistenceMode(void* handle, unsigned* to) {
  return number(handle, "persistence", "1", to);
}

int nvmlDeviceGetEccMode(void* handle, unsigned* now, unsigned* next) {
  return mode(handle, "ecc", "1", now, next);
}

int nvmlDeviceGetMigMode(void* handle, unsigned* now, unsigned* next) {
  return mode(handle, "mig", "0", now, next);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, FakeProcess* to) {
  std::vector<FakeProcess> found;
  for (const auto& [key, text] : lines()) {
    if (key != "used." + index_of(handle)) continue;
    FakeProcess process{0, 0, ~0U, ~0U};
    std::istringstream(text) >> process.pid >> process.used_bytes;
    found.push_back(process);
  }
  const auto room = *count;
  *count = static_cast<unsigned>(found.size());
  if (found.size() > room) return kInsufficientSize;
  std::copy(found.begin(), found.end(), to);
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** to) {
  const std::string full = std::strlen(bus_id) == 12 ? "0000" + std::string(bus_id) : bus_id;
  return find_gpu(
      full.c_str(),
      [](void* handle) {
        FakePciInfo pci{};
        nvmlDeviceGetPciInfo_v3(handle, &pci);
        return std::string(pci.bus_id);
      },
      to);
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** to) {
  return find_gpu(
      uuid,
      [](void* handle) { return value("uuid", index_of(handle), "GPU-fake-" + index_of(handle)); },
      to);
}

int nvmlDeviceGetDefaultApplicationsClock(void* handle, unsigned clock, unsigned* to) {
  return number(handle, "default_application_clock", clock == 2 ? "3201" : "1980", to);
}

struct FakeTemperature {
  unsigned version;
  unsigned sensor;
  int celsius;
};

int nvmlDeviceGetTemperatureV(void* handle, FakeTemperature* to) {
  if (to->version != 0x100000c) return kInvalidArgument;
  return number(handle, "temperature", "45", &to->celsius);
}

struct FakeMarginTemperature {
  unsigned version;
  int celsius;
};

int nvmlDeviceGetMarginTemperature(void* handle, FakeMarginTemperature* to) {
  if (to->version != 0x1000008) return kInvalidArgument;
  return number(handle, "margin", "42", &to->celsius);
}

int nvmlDeviceGetTemperatureThreshold(void* handle, unsigned, unsigned* to) {
  return number(handle, "slowdown_threshold", "87", to);
}

int nvmlDeviceGetPowerManagementDefaultLimit(void* handle, unsigned* to) {
  return number(handle, "default_power_limit", "700000", to);
}

int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* to) {
  return number(handle, "energy", "123456789", to);
}

int nvmlDeviceGetTotalEccErrors(void* handle, unsigned type, unsigned, unsigned long long* to) {
  return number(handle, type == 1 ? "uncorrected" : "corrected", "0", to);
}

int nvmlDeviceGetCurrPcieLinkWidth(void* handle, unsigned* to) {
  return number(handle, "pcie_width", "16", to);
}

int nvmlDeviceGetMaxPcieLinkWidth(void* handle, unsigned* to) {
  return number(handle, "max_pcie_width", "16", to);
}

int nvmlDeviceGetNvLinkState(void* handle, unsigned link, unsigned* to) {
  const std::string links = value("links", index_of(handle), "18");
  if (link >= std::strtoul(links.c_str(), nullptr, 0)) return kInvalidArgument;
  *to = says("inactive_link", index_of(handle), std::to_string(link)) ? 0 : 1;
  return 0;
}

int nvmlDeviceGetNvLinkErrorCounter(void* handle, unsigned, unsigned kind, unsigned long long* to) {
  static constexpr const char* kNames[] = {"link_replays", "link_recoveries", "link_flit_errors",
                                           "link_data_errors"};
  return kind < 4 ? number(handle, kNames[kind], "0", to) : kNotSupported;
}

int nvmlDeviceGetP2PStatus(void* from, void* other, unsigned, unsigned* to) {
  *to = says("unreachable", index_of(from), index_of(other)) ? 5 : 0;
  return 0;
}

int nvmlDeviceSetGpuLockedClocks(void* handle, unsigned min, unsigned max) {
  return record(handle, "lock_sm" + mhz(min, max));
}

int nvmlDeviceResetGpuLockedClocks(void* handle) {
  return record(handle, "unlock_sm");
}

int nvmlDeviceSetMemoryLockedClocks(void* handle, unsigned min, unsigned max) {
  const int error = std::atoi(value("memory_setter_error", index_of(handle), "0").c_str());
  return error != 0 ? error : record(handle, "lock_memory" + mhz(min, max));
}

int nvmlDeviceResetMemoryLockedClocks(void* handle) {
  return record(handle, "unlock_memory");
}
}
