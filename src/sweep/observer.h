// Watches what a run is measured with: the GPUs and what else runs on them, the driver, and the
// NCCL or RCCL that its processes really loaded. Looks only; changes nothing.
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

// Where to look; other places are for tests.
struct ObserverSources {
  std::string nvml_library = "libnvidia-ml.so.1";  // as dlopen finds it
  std::filesystem::path root = "/";                // of /proc and /sys
};

struct Observation {
  model::Facts facts;
  // What makes the run doubtful: "librccl.so of /opt/rocm was loaded, not the expected …",
  // "GPU 3 was used by process 812 (python3) before the run".
  std::vector<std::string> warnings;
};

class Observer {
 public:
  Observer(const ObserverSources& sources, const std::filesystem::path& expected_library);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  ~Observer();

  // Before the run's first process: GPUs, driver, foreign processes. Forgets the last run.
  void begin_run(const Variables& variables);

  // GPUs are the dearer part of a look, and idle while a run begins.
  enum class Gpus { kLook, kSkip };

  // While it runs, a few times: libraries and environment of these processes, clocks under load.
  void look(std::span<const pid_t> processes, Gpus gpus = Gpus::kLook);

  // What was seen of the run.
  [[nodiscard]] Observation end_run() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::sweep
