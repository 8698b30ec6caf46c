// Watches the conditions under which a run is measured: the GPUs and the other processes on them,
// the driver, and the NCCL or RCCL that the run's processes really loaded. Changes nothing.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/facts.h"
#include "sweep/setting.h"

namespace assay::sweep {

// The places to look in; tests set other places.
struct ObserverSources {
  std::string nvml_library = "libnvidia-ml.so.1";  // the name that dlopen() searches for
  std::filesystem::path root = "/";                // holds proc/ and sys/
};

struct Observation {
  model::Facts facts;
  // The reasons to doubt the run, such as "librccl.so of /opt/rocm was loaded, not the expected …"
  // or "GPU 3 was used by process 812 (python3) before the run".
  std::vector<std::string> warnings;
  // The variables of the setting that reached none of the processes that loaded NCCL or RCCL.
  std::vector<std::string> not_applied = {};
  // Those that are named as variables of NCCL or RCCL and that no loaded library has.
  std::vector<std::string> not_read = {};
};

class Observer {
 public:
  Observer(const ObserverSources& sources, const std::filesystem::path& expected_library);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  ~Observer();

  // Call this before the run's first process exists. Forgets the last run, and reads the state of
  // the GPUs, the driver and foreign processes.
  void begin_run(const Variables& variables);

  // Reading the GPUs is the more expensive part of a look, and they are idle while a run begins.
  enum class Gpus { kLook, kSkip };

  // Call this a few times during the run. Reads the libraries and the environment of these
  // processes and the clocks under load.
  void look(std::span<const pid_t> processes, Gpus gpus = Gpus::kLook);

  // Returns what was seen during the run.
  [[nodiscard]] Observation end_run() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::sweep
