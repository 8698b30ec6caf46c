// NVML, opened while the program runs. Its functions are declared by ourselves, so that no CUDA is
// needed to build. Names and layouts are those documented in NVIDIA's "NVML API Reference",
// releases R470 to R580 (nvml.h of CUDA 11.4 to 13.0); a symbol with a version in its name never
// changes its layout.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/shared_library.h"
#include "gpu/devices.h"

namespace assay::gpu::nvml {

using Return = int;                             // nvmlReturn_t
inline constexpr Return kSuccess = 0;           // NVML_SUCCESS
inline constexpr Return kNotSupported = 3;      // NVML_ERROR_NOT_SUPPORTED
inline constexpr Return kNoPermission = 4;      // NVML_ERROR_NO_PERMISSION
inline constexpr Return kInsufficientSize = 7;  // NVML_ERROR_INSUFFICIENT_SIZE
inline constexpr Return kDriverNotLoaded = 9;   // NVML_ERROR_DRIVER_NOT_LOADED
inline constexpr Return kLibraryNotFound = 12;  // NVML_ERROR_LIBRARY_NOT_FOUND
inline constexpr Return kGpuIsLost = 15;        // NVML_ERROR_GPU_IS_LOST

using Handle = struct OpaqueDevice*;  // nvmlDevice_t

inline constexpr unsigned kTextBytes = 96;   // the largest of NVML's *_BUFFER_SIZE for texts
inline constexpr unsigned kSmClock = 1;      // NVML_CLOCK_SM
inline constexpr unsigned kMemoryClock = 2;  // NVML_CLOCK_MEM
inline constexpr unsigned kGpuSensor = 0;    // NVML_TEMPERATURE_GPU

inline constexpr unsigned kSlowdownThreshold = 1;  // NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
inline constexpr unsigned kUncorrectedErrors = 1;  // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
inline constexpr unsigned kSinceDriverLoad = 0;    // NVML_VOLATILE_ECC
inline constexpr unsigned kMostLinks = 18;         // NVML_NVLINK_MAX_LINKS
inline constexpr unsigned kLinkReplays = 0;        // NVML_NVLINK_ERROR_DL_REPLAY
inline constexpr unsigned kLinkRecoveries = 1;     // NVML_NVLINK_ERROR_DL_RECOVERY
inline constexpr unsigned kLinkFlitErrors = 2;     // NVML_NVLINK_ERROR_DL_CRC_FLIT
inline constexpr unsigned kLinkDataErrors = 3;     // NVML_NVLINK_ERROR_DL_CRC_DATA
inline constexpr unsigned kPeerReads = 0;          // NVML_P2P_CAPS_INDEX_READ
inline constexpr unsigned kPeerWrites = 1;         // NVML_P2P_CAPS_INDEX_WRITE

struct PciInfo {  // nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

static_assert(sizeof(PciInfo) == 68);

struct Utilization {  // nvmlUtilization_t
  unsigned gpu_percent;
  unsigned memory_percent;
};

struct ProcessInfo {  // nvmlProcessInfo_v2_t
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

static_assert(sizeof(ProcessInfo) == 24);

// Versions are NVML_STRUCT_VERSION: the size, and the number of the layout in the highest byte.
struct Temperature {  // nvmlTemperature_v1_t
  unsigned version;
  unsigned sensor;
  int celsius;
};

inline constexpr unsigned kTemperatureVersion = sizeof(Temperature) | 1U << 24U;
static_assert(kTemperatureVersion == 0x100000c);

struct MarginTemperature {  // nvmlMarginTemperature_v1_t
  unsigned version;
  int celsius;
};

inline constexpr unsigned kMarginTemperatureVersion = sizeof(MarginTemperature) | 1U << 24U;
static_assert(kMarginTemperatureVersion == 0x1000008);

inline constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE

// Functions that the library lacks are null.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_text)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*nvml_version)(char*, unsigned) = nullptr;
  Return (*cuda_driver_version)(int*) = nullptr;
  Return (*process_name)(unsigned pid, char*, unsigned) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*handle)(unsigned index, Handle*) = nullptr;
  Return (*handle_by_bus_id)(const char*, Handle*) = nullptr;
  Return (*handle_by_uuid)(const char*, Handle*) = nullptr;
  Return (*name)(Handle, char*, unsigned) = nullptr;
  Return (*uuid)(Handle, char*, unsigned) = nullptr;
  Return (*pci_info)(Handle, PciInfo*) = nullptr;
  Return (*clock_mhz)(Handle, unsigned clock, unsigned*) = nullptr;
  Return (*max_clock_mhz)(Handle, unsigned clock, unsigned*) = nullptr;
  Return (*application_clock_mhz)(Handle, unsigned clock, unsigned*) = nullptr;
  Return (*default_application_clock_mhz)(Handle, unsigned clock, unsigned*) = nullptr;
  Return (*temperature)(Handle, Temperature*) = nullptr;  // since driver 570
  Return (*temperature_celsius)(Handle, unsigned sensor, unsigned*) = nullptr;
  Return (*threshold_celsius)(Handle, unsigned threshold, unsigned*) = nullptr;
  Return (*thermal_margin)(Handle, MarginTemperature*) = nullptr;  // since driver 560
  Return (*power_milliwatts)(Handle, unsigned*) = nullptr;
  Return (*power_limit_milliwatts)(Handle, unsigned*) = nullptr;
  Return (*default_power_limit_milliwatts)(Handle, unsigned*) = nullptr;
  Return (*energy_millijoules)(Handle, unsigned long long*) = nullptr;  // since driver load
  Return (*utilization)(Handle, Utilization*) = nullptr;
  Return (*clock_reasons)(Handle, unsigned long long*) = nullptr;
  Return (*persistence_mode)(Handle, unsigned*) = nullptr;
  Return (*ecc_mode)(Handle, unsigned* current, unsigned* pending) = nullptr;
  Return (*mig_mode)(Handle, unsigned* current, unsigned* pending) = nullptr;
  Return (*compute_processes)(Handle, unsigned* count, ProcessInfo*) = nullptr;
  Return (*ecc_errors)(Handle, unsigned type, unsigned since, unsigned long long*) = nullptr;
  Return (*pcie_width)(Handle, unsigned*) = nullptr;
  Return (*max_pcie_width)(Handle, unsigned*) = nullptr;
  Return (*link_is_active)(Handle, unsigned link, unsigned*) = nullptr;
  Return (*link_errors)(Handle, unsigned link, unsigned kind, unsigned long long*) = nullptr;
  Return (*peer_status)(Handle, Handle, unsigned kind, unsigned*) = nullptr;  // 0: OK
  // These change the GPU for everybody and need permission.
  Return (*lock_sm_clock)(Handle, unsigned min_mhz, unsigned max_mhz) = nullptr;
  Return (*unlock_sm_clock)(Handle) = nullptr;
  Return (*lock_memory_clock)(Handle, unsigned min_mhz, unsigned max_mhz) = nullptr;
  Return (*unlock_memory_clock)(Handle) = nullptr;
};

class Library {
 public:
  // Null when there is no library or no driver below it. Error: the library refuses to start, such
  // as after an update of the driver without a reboot.
  static core::Result<std::unique_ptr<Library>> open(const std::string& name);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  // Returns the number of open instances in this process. NVML does not survive fork(): a process
  // that forks a child which will use it must not have it open.
  static int open_count();

  [[nodiscard]] const Functions& functions() const { return functions_; }

  [[nodiscard]] std::string error_text(Return code) const;

 private:
  explicit Library(core::SharedLibrary library);

  core::SharedLibrary library_;
  Functions functions_;
  bool initialised_ = false;
};

// The questions below have an answer, or none where the function is missing or fails.

// Returns what the function writes to its last parameter.
template <class Value, class Function, class... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != kSuccess) return {};
  return value;
}

// "" for no answer.
template <class Function, class... Arguments>
std::string ask_text(Function function, Arguments... arguments) {
  std::array<char, kTextBytes> text{};
  if (function == nullptr || function(arguments..., text.data(), kTextBytes) != kSuccess) return {};
  text.back() = '\0';
  return text.data();
}

// Watts of milliwatts, joules of millijoules.
template <class Number>
std::optional<double> thousandths(std::optional<Number> value) {
  if (!value) return {};
  return static_cast<double>(*value) / 1000.0;
}

std::optional<double> temperature_celsius(const Functions& nvml, Handle handle);

// Degrees that the GPU may still heat up before it slows itself down.
std::optional<double> thermal_margin_celsius(const Functions& nvml, Handle handle);

// NVML's clocks event reasons (called throttle reasons before driver 535) in words.
std::vector<ClockReason> clock_reasons(unsigned long long bits);

}  // namespace assay::gpu::nvml
