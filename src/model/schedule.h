// A GOAL schedule: for every rank, a graph of sends, receives and calculations, in the binary form
// that LogGOPSim and its relatives read. The bytes of that form are the only representation here: a
// simulation uses the bytes that were written, mapped from the file and never unpacked.
//
//   u64 magic
//   u32 num_ranks, u8 max_cpu, u8 max_nic                 offsets below count from here
//   num_ranks x {u64 start, u64 end}
//   per rank: u32 num_ops, u32 num_roots, u32 roots[], ScheduleOp ops[], u32 dependents[]
//
// All numbers are little endian and unaligned. A root is an operation without dependencies.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "core/result.h"

namespace assay::model {

enum class OpKind : std::uint8_t { kSend = 1, kReceive = 2, kCalc = 3 };

// The peer and the tag of a receive from any rank, or with any tag.
inline constexpr std::uint32_t kAnyPeer = 0xFFFFFFFF;
inline constexpr std::uint32_t kAnyTag = 0xFFFFFFFF;

// The simulators count resources in a byte after adding one, so 255 would overflow to 0.
inline constexpr unsigned kMostCpu = 254;
inline constexpr unsigned kMostNic = 254;

// Tags and sizes are signed 32-bit numbers in some simulators.
inline constexpr std::uint64_t kMostSize = 0x7FFFFFFF;
inline constexpr std::uint32_t kMostTag = 0x7FFFFFFF;

#pragma pack(push, 1)

struct PackedIndex {
  std::uint32_t value = 0;
};

struct ScheduleOp {
  std::uint32_t dependencies = 0;  // number of operations it waits for
  OpKind kind = OpKind::kCalc;
  std::uint32_t peer = 0;  // rank it sends to or receives from
  std::uint64_t size = 0;  // bytes; for a calculation, nanoseconds
  std::uint32_t tag = 0;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
  // The operations that wait for the end of this one, then those that wait for its start; both are
  // in RankView::dependents.
  std::uint32_t finish_dependents = 0;
  std::uint32_t first_finish_dependent = 0;
  std::uint32_t start_dependents = 0;
  std::uint32_t first_start_dependent = 0;
};

#pragma pack(pop)

static_assert(sizeof(ScheduleOp) == 39);

// The graph of one rank. Operations are numbered from 0 in the order of the file.
struct RankView {
  std::span<const PackedIndex> roots;
  std::span<const ScheduleOp> ops;
  std::span<const PackedIndex> dependents;

  [[nodiscard]] std::span<const PackedIndex> after_finish(const ScheduleOp& op) const {
    return dependents.subspan(op.first_finish_dependent, op.finish_dependents);
  }

  [[nodiscard]] std::span<const PackedIndex> after_start(const ScheduleOp& op) const {
    return dependents.subspan(op.first_start_dependent, op.start_dependents);
  }
};

// The bytes of one rank in the binary form, and the highest resources that its operations use.
struct RankImage {
  std::vector<char> bytes;
  unsigned max_cpu = 0;
  unsigned max_nic = 0;
};

// Reads the graph in these bytes. Fails when a count or an index points outside them, so that code
// that uses the view needs no checks. `rank` is for messages. Peers are not checked.
core::Result<RankView> view_rank(std::span<const char> bytes, std::uint32_t rank);

class Schedule {
 public:
  // Maps a binary schedule. Fails when the file is of another kind, cut short, or contradicts
  // itself (a peer that is not a rank, an index out of range, a wrong dependency count).
  static core::Result<Schedule> open(const std::filesystem::path& path);

  // Read a file that is already open, or bytes in memory; `name` stands for the file in messages.
  static core::Result<Schedule> from_file(core::MappedFile file, std::string_view name);
  static core::Result<Schedule> from_bytes(std::vector<char> bytes, std::string_view name);

  [[nodiscard]] const std::vector<RankView>& ranks() const { return ranks_; }

  [[nodiscard]] unsigned max_cpu() const { return max_cpu_; }

  [[nodiscard]] unsigned max_nic() const { return max_nic_; }

 private:
  static core::Result<Schedule> parse(std::shared_ptr<const void> owner,
                                      std::span<const char> bytes,
                                      std::string_view name);

  std::shared_ptr<const void> owner_;
  std::vector<RankView> ranks_;
  unsigned max_cpu_ = 0;
  unsigned max_nic_ = 0;
};

// Returns whether a file with these first bytes is a binary schedule.
bool is_binary_schedule(std::string_view first_bytes);

// The LogGOPS parameters of one kind of link, in the units of the public simulators
// (A. Alexandrov et al., "LogGP" (1995); T. Hoefler et al., "LogGOPSim" (2010)).
struct LogGops {
  double latency_ns = 3700;         // L: the network, per message
  double overhead_ns = 200;         // o: the CPU, per message on each side
  double gap_ns = 5;                // g: the NIC, between two messages
  double gap_ns_per_byte = 0.04;    // G: the NIC and the network, per byte
  double overhead_ns_per_byte = 0;  // O: the CPU, per byte
  double rendezvous_bytes = 0;      // S: larger messages wait for their receive to be posted
};

}  // namespace assay::model
