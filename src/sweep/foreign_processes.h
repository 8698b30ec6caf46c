// Detects processes on the GPUs that are not part of the run, before the run and during it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/devices.h"

namespace assay::sweep {

class ForeignProcesses {
 public:
  // `root` is the folder that holds proc/.
  explicit ForeignProcesses(std::filesystem::path root) : root_(std::move(root)) {}

  // Call this before the run's first process exists.
  void begin_run(const gpu::Machine& machine);

  void look(const gpu::Machine& machine, std::span<const pid_t> processes);

  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct Use {
    std::string name;
    std::set<int> gpus;
  };

  using Uses = std::map<std::int64_t, Use>;

  void add(Uses& uses, const gpu::Process& process, int gpu) const;
  [[nodiscard]] bool is_ours(std::int64_t process) const;
  [[nodiscard]] bool numbers_are_ours() const;

  std::filesystem::path root_;
  std::set<std::int64_t> ours_;
  Uses before_;
  Uses during_;
  bool ours_seen_on_gpus_ = false;
};

}  // namespace assay::sweep
