// Everything that a process started, and how to end exactly that.
//
// Launchers put their workers into sessions and process groups of their own (torchrun, mpirun), so
// a process group is not enough: descendants belong to the family, and orphans that a subreaper
// adopted.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::core {

struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot: tells a reused pid
};

struct ProcessFamily {
  pid_t root = 0;  // its living descendants belong to the family, the root itself does not
  // Processes with this "NAME=value" in their environment belong to it, too; "" adds none.
  std::string mark = {};
  std::uint64_t since = 0;  // processes that started earlier do not belong to it by their mark
};

// The living processes of the family, without the caller and without zombies. Reads all of /proc,
// which takes tens of milliseconds where there are thousands of processes.
std::vector<ProcessId> members(const ProcessFamily& family);

// All current process numbers, sorted; cheap.
std::vector<pid_t> all_pids();

// Living descendants of `root` that are not in `known`, which must be sorted. This is cheap where
// `known` has the processes that ran before `root` did.
std::vector<pid_t> descendants(pid_t root, const std::vector<pid_t>& known);

// The start time of a living process; 0 when there is none.
std::uint64_t start_time(pid_t pid);

struct EndedFamily {
  int asked = 0;      // processes that got SIGTERM
  int forced = 0;     // of these, needed SIGKILL
  int remaining = 0;  // survived SIGKILL, because they are stuck in the kernel
};

// SIGTERM to all, SIGKILL after `grace`; returns when they are gone, or 10 s after SIGKILL.
EndedFamily end_family(const ProcessFamily& family, std::chrono::milliseconds grace);

// Orphans among this process's descendants become its children from now on.
void adopt_orphans();

}  // namespace assay::core
