// Looks at the GPUs and the host for conditions that spoil measurements on this machine. It changes
// nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "gpu/devices.h"
#include "gpu/nvidia_state.h"
#include "model/facts.h"
#include "model/table.h"

namespace assay::doctor {

struct DoctorRequest {
  std::vector<int> gpus = {};  // as nvidia-smi counts; empty for all
  std::string nvml_library = "libnvidia-ml.so.1";
  std::filesystem::path root = "/";  // where /proc and /sys are
};

// kNote: good to know; kWarning: results may differ because of it; kProblem: results will differ.
enum class Level : std::uint8_t { kOk, kNote, kWarning, kProblem };

struct Finding {
  Level level = Level::kOk;
  std::string where = {};                  // "GPUs 0-3", "host"
  std::string seen;                        // "persistence mode is off"
  std::string why = {};                    // why it matters; empty with kOk
  std::string hint = {};                   // what to do, in words
  std::vector<std::string> commands = {};  // commands that do it, or that show more
};

struct LibraryFound {
  std::string name;     // "cuDNN"
  std::string version;  // "9.14.0"
  std::string file;
};

struct Diagnosis {
  gpu::Machine machine = {};  // the chosen GPUs
  std::vector<gpu::Health> health = {};
  std::vector<LibraryFound> libraries = {};
  std::vector<Finding> findings = {};  // worst first
  std::vector<std::string> lock_commands = {};
  std::vector<std::string> unlock_commands = {};
};

// A machine without GPUs gives a finding, not an error. Errors: the driver does not work, or a
// chosen GPU is not there.
core::Result<Diagnosis> diagnose(const DoctorRequest& request);

// Finds the work of others on the processors, or on the GPUs of the request. It is quicker than
// diagnose(), but looks again after a second at a GPU that is busy without a process, because that
// may be what ended just now. A driver that does not answer finds nothing.
std::vector<Finding> other_work_on_processors(const DoctorRequest& request);
std::vector<Finding> other_work_on_gpus(const DoctorRequest& request);

Level worst(const Diagnosis& diagnosis);

// Tables "gpus", "libraries", "findings" and "commands"; empty ones are left out.
model::Book doctor_book(const Diagnosis& diagnosis);

// The table "findings" alone.
std::string findings_csv(const Diagnosis& diagnosis);

// The text for a terminal of `width` columns; commands are never broken.
std::string doctor_text(const Diagnosis& diagnosis, std::size_t width);

// The facts of a run's environment: host, GPUs and their settings, libraries.
core::Result<model::Facts> environment_facts(const DoctorRequest& request = {});

}  // namespace assay::doctor
