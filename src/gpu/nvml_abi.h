// The few functions of NVML that we call, declared by ourselves, so that no CUDA is needed to
// build. Names and layouts are those documented in NVIDIA's "NVML API Reference", releases R470 to
// R580 (nvml.h of CUDA 11.4 to 13.0); a symbol with a version in its name never changes its layout.
#pragma once

namespace assay::gpu::nvml {

using Return = int;                             // nvmlReturn_t
inline constexpr Return kSuccess = 0;           // NVML_SUCCESS
inline constexpr Return kNoPermission = 4;      // NVML_ERROR_NO_PERMISSION
inline constexpr Return kInsufficientSize = 7;  // NVML_ERROR_INSUFFICIENT_SIZE
inline constexpr Return kDriverNotLoaded = 9;   // NVML_ERROR_DRIVER_NOT_LOADED
inline constexpr Return kLibraryNotFound = 12;  // NVML_ERROR_LIBRARY_NOT_FOUND

using Handle = struct OpaqueDevice*;  // nvmlDevice_t

inline constexpr unsigned kTextBytes = 96;   // the largest of NVML's *_BUFFER_SIZE for texts
inline constexpr unsigned kSmClock = 1;      // NVML_CLOCK_SM
inline constexpr unsigned kMemoryClock = 2;  // NVML_CLOCK_MEM
inline constexpr unsigned kGpuSensor = 0;    // NVML_TEMPERATURE_GPU

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

inline constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE

// A function that the library lacks is null.
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
  Return (*name)(Handle, char*, unsigned) = nullptr;
  Return (*uuid)(Handle, char*, unsigned) = nullptr;
  Return (*pci_info)(Handle, PciInfo*) = nullptr;
  Return (*clock_mhz)(Handle, unsigned clock, unsigned*) = nullptr;
  Return (*max_clock_mhz)(Handle, unsigned clock, unsigned*) = nullptr;
  Return (*application_clock_mhz)(Handle, unsigned clock, unsigned*) = nullptr;
  Return (*temperature_celsius)(Handle, unsigned sensor, unsigned*) = nullptr;
  Return (*power_milliwatts)(Handle, unsigned*) = nullptr;
  Return (*power_limit_milliwatts)(Handle, unsigned*) = nullptr;
  Return (*utilization)(Handle, Utilization*) = nullptr;
  Return (*clock_reasons)(Handle, unsigned long long*) = nullptr;
  Return (*persistence_mode)(Handle, unsigned*) = nullptr;
  Return (*ecc_mode)(Handle, unsigned* current, unsigned* pending) = nullptr;
  Return (*mig_mode)(Handle, unsigned* current, unsigned* pending) = nullptr;
  Return (*compute_processes)(Handle, unsigned* count, ProcessInfo*) = nullptr;
};

}  // namespace assay::gpu::nvml
