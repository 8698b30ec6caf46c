// What planning needs to know of a system beside its tables, from its systems/NAME.yaml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/systems/system_yaml.h"

namespace assay::store {

struct SystemFacts {
  std::string name;      // "h200_sxm", of the file
  std::string data_dir;  // the folder of its tables, from the file's own; "": the file names none
  Peaks peaks;           // memory, links within a node, and operations by type; of one GPU

  double memory_bytes = 0;  // of one GPU
  // What of it was free to a process that had just begun, where assay measured the system of this
  // name that it ships; 0: it ships none, or these are its facts.
  double measured_free_bytes = 0;
  double power_watts = 0;  // 0: unknown
  int sm_version = 0;      // 90 is Hopper; 0: unknown

  // A kernel that only moves data takes bytes / (memory_share x peaks.memory_bytes_per_s) +
  // memory_latency_s.
  double memory_share = 0.8;
  double memory_latency_s = 3e-6;

  // Bytes per second of one GPU in one direction; 0: unknown. Within a node:
  // peaks.link_bytes_per_s.
  double between_nodes_bytes_per_s = 0;
  // What a message reached from one GPU of a node to another (measured.intra_node_bw); 0: nobody
  // measured it.
  double reached_link_bytes_per_s = 0;
  double between_racks_bytes_per_s = 0;
  double host_bytes_per_s = 0;  // PCIe
  double peer_latency_s = 1e-5;
  std::int64_t gpus_per_node = 8;
  std::int64_t gpus_per_rack = 0;  // that a switch joins as those of a node; 0: no such rack

  double other_bytes = 3.5 * 1024 * 1024 * 1024;   // on a GPU, of the serving program itself
  std::map<std::int64_t, double> nccl_bytes = {};  // on a GPU, by how many GPUs communicate
  std::string nccl_version;                        // that of the system's NCCL tables; "": unknown
  std::string oneccl_version;

  // The fields that the file lacks and whose value is assumed, each with it: "node.p2p_latency =
  // 1e-05".
  std::vector<std::string> assumed = {};

  // Returns what a program can have of a GPU's memory: no more than was measured to be free.
  [[nodiscard]] double usable_bytes() const;

  // What communication within so many GPUs keeps on each. That of the next larger known number, or
  // of the largest.
  [[nodiscard]] double nccl_bytes_of(std::int64_t gpus) const;

  // The bytes per second between two of so many GPUs that communicate, in one direction: those of
  // the slowest link that they need. 0: unknown.
  [[nodiscard]] double link_bytes_per_s(std::int64_t gpus) const;

  // A rate at which one GPU sends to another, and whether it was measured or is the link's own.
  struct SendingRate {
    double bytes_per_s = 0;
    bool is_measured = false;
  };

  // Between two of so many GPUs: what was measured, where they are in one node; else as above.
  [[nodiscard]] SendingRate sending_rate(std::int64_t gpus) const;
};

// Reads the public files and those of assay. Fields that it does not know are passed over, since
// others may be added. The error names file, line and field: gpu.mem_bw or gpu.mem_capacity is
// missing, or a value is not what it must be.
core::Result<SystemFacts> read_system_facts(const std::filesystem::path& yaml);

// Does the same with the text of a file, which errors call `called`.
core::Result<SystemFacts> parse_system_facts(std::string_view yaml,
                                             const std::string& name,
                                             const std::string& called);

}  // namespace assay::store
