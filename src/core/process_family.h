// Everything that a process started, and how to end exactly that.
//
// Launchers put their workers into sessions and process groups of their own (torchrun, mpirun), so
// a process group is not enough: descendants count, and orphans whom a subreaper adopted.
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
  pid_t root = 0;  // its living descendants belong to the family; itself does not
  // So does whoever has this "NAME=value" in its environment; "" for nobody.
  std::string mark = {};
  std::uint64_t since = 0;  // start time before which nobody was born into it
};

// The caller itself is never one of them. Zombies are dead. Reads all of /proc, which takes tens
// of milliseconds where there are thousands of processes.
std::vector<ProcessId> members(const ProcessFamily& family);

// All process numbers of now, in order; cheap.
std::vector<pid_t> all_pids();

// Living descendants of `root` that are not among `known` (in order): cheap where `known` are the
// processes from before.
std::vector<pid_t> descendants(pid_t root, const std::vector<pid_t>& known);

// Of a living process; 0 when there is none.
std::uint64_t start_time(pid_t pid);

struct EndedFamily {
  int asked = 0;      // processes that got SIGTERM
  int forced = 0;     // of these, needed SIGKILL
  int remaining = 0;  // would not even die of that: stuck in the kernel
};

// SIGTERM to all, SIGKILL after `grace`; returns when they are gone, or 10 s after SIGKILL.
EndedFamily end_family(const ProcessFamily& family, std::chrono::milliseconds grace);

// Orphans among this process's descendants become its children from now on.
void adopt_orphans();

}  // namespace assay::core
