// The links of a network, and the ways of messages through it.
//
// Links are numbered from 0: those of NICs into their switch and out of it, then those of ranks
// into the NVLink switch of their domain and out of it, then those between switches. Every NIC is
// at one switch. Capacities are in units of what a NIC sends: 1 for a NIC as the file describes it;
// for NVLink, of what a rank sends there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "model/schedule.h"
#include "simulate/fabric/fabric_spec.h"
#include "simulate/fabric/sharing.h"
#include "simulate/network.h"

namespace assay::simulate {

struct FabricLink {
  std::string name = {};  // "leaf0 > spine1"
  double capacity = 1;    // as built
  double changed = 1;     // by the changes that hold now; 0: failed
  double best = 1;        // the most that it was
  double background = 0;  // what other traffic takes
  std::int64_t latency_ns = 0;
  std::uint32_t copies = 1;  // equal links of equal load that it stands for
  bool nvlink = false;

  // What is left for messages.
  [[nodiscard]] double left() const { return changed - background; }

  [[nodiscard]] double most_left() const { return best - background; }
};

struct Path {
  std::vector<LinkShare> links = {};
  std::int64_t latency_ns = 0;
  double store_ns_per_byte = 0;  // of a packet, which each switch has whole before it sends it on
};

// The parts of LogGOPS that the file replaces.
struct FabricParameters {
  model::LogGops inter = {};
  std::optional<model::LogGops> intra = std::nullopt;
};

struct FabricJob {
  std::uint32_t num_ranks = 0;
  std::vector<std::uint32_t> node_of_rank = {};  // where the file names no nodes; may be empty
  FabricParameters parameters = {};
};

class Fabric {
 public:
  // Fails when the file does not fit the job.
  static core::Result<Fabric> make(const FabricSpec& spec, const FabricJob& job);

  [[nodiscard]] const std::vector<FabricLink>& links() const { return links_; }

  // Of the file.
  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const FabricParameters& parameters() const { return parameters_; }

  // Link i leads out of NIC i, link num_nics() + i into it.
  [[nodiscard]] std::uint32_t num_nics() const { return num_nics_; }

  // The parameters that the file replaces, by the names of their options: "L", "intra-G".
  [[nodiscard]] const std::vector<std::string>& replaced() const { return replaced_; }

  // The ranks of an NVLink domain, or of a node without one, by rank.
  [[nodiscard]] const std::vector<std::uint32_t>& domain_of_rank() const { return domain_of_rank_; }

  [[nodiscard]] bool same_domain(std::uint32_t a, std::uint32_t b) const {
    return domain_of_rank_[a] == domain_of_rank_[b];
  }

  [[nodiscard]] bool has_nvlink() const { return nvlink_begin_ != nvlink_end_; }

  // Bytes per ns of a capacity of 1.
  [[nodiscard]] double unit_bytes_per_ns(bool nvlink) const;

  [[nodiscard]] const Packets& packets() const { return packets_; }

  struct Message {
    std::uint32_t source = 0;  // ranks
    std::uint32_t target = 0;
    std::uint32_t nic = 0;  // of the sender's operation
    std::uint32_t cpu = 0;
    std::uint64_t bytes = 1;
  };

  // Finds the way of a message between two ranks of different domains, or of one NVLink domain.
  // Returns false when nothing is left of it.
  bool find_path(const Message& message, Path& path);

  // Names the NIC of a rank: "node3.nic1".
  [[nodiscard]] std::string nic_name(std::uint32_t rank, std::uint32_t nic) const;

  struct Calculation {
    std::uint32_t rank = 0;
    std::uint32_t op = 0;
    std::uint64_t ns = 0;  // on a rank that nothing slows down
    std::int64_t start_ns = 0;
  };

  // How long a calculation takes, and what is added to the latency of a message.
  [[nodiscard]] std::int64_t calc_ns(const Calculation& calculation) const;
  [[nodiscard]] std::int64_t latency_noise_ns(std::uint32_t rank, std::uint32_t op) const;

  // The time from which the rank does nothing any more; kForeverNs if it does not fail.
  [[nodiscard]] std::int64_t fails_ns(std::uint32_t rank) const {
    return fails_ns_.empty() ? kForeverNs : fails_ns_[rank];
  }

  // The times at which links change, ascending; what holds from the start on is none.
  [[nodiscard]] std::vector<std::int64_t> change_times() const;

  // Makes the links what they are from now on. Returns those that have another rate than before.
  std::vector<std::uint32_t> change_links(std::int64_t now_ns);

 private:
  friend class FabricBuilder;

  // It says what a link is for some time, unless another change that holds then makes it less.
  struct LinkChange {
    std::uint32_t link = 0;
    std::int64_t from_ns = 0;
    std::int64_t until_ns = 0;
    double capacity = 0;
  };

  // From this time on until the next one of its rank, calculations take so many times as long.
  struct Pace {
    std::int64_t from_ns = 0;
    double factor = 1;
  };

  struct Hop {
    std::uint32_t link;
    std::uint32_t to;
    std::uint16_t distance;
  };

  // Of a message between two NICs.
  struct Ends {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t cpu;
  };

  struct Route {
    std::uint32_t from;  // NICs
    std::uint32_t to;
    Path path;
  };

  [[nodiscard]] std::uint32_t nic_of(std::uint32_t rank, std::uint32_t nic) const;
  [[nodiscard]] const std::vector<std::uint16_t>& distances_to(std::uint32_t target);
  bool find_way(const Ends& ends, Path& path);
  bool add_one_way(const Ends& ends, Path& path);
  [[nodiscard]] const Route* fixed_route(const Ends& ends) const;
  void next_hops(std::uint32_t at, std::uint32_t target, std::vector<Hop>& found);
  Path make_spread(std::uint32_t from, std::uint32_t to);
  void add_link(std::uint32_t id, double weight, Path& path) const;
  void add_nvlink(const Message& message, Path& path) const;
  void finish_latency(const Message& message, Path& path) const;

  std::string name_;
  std::vector<FabricLink> links_;
  std::uint32_t num_nics_ = 0;
  std::uint32_t nvlink_begin_ = 0;
  std::uint32_t nvlink_end_ = 0;
  std::vector<std::uint32_t> switch_of_nic_;
  std::vector<std::vector<Hop>> hops_;  // by switch
  std::vector<std::string> switch_names_;
  std::vector<std::vector<std::uint16_t>> distances_;  // by target switch; empty until asked
  // What a message between two switches takes when it is spread; by both.
  std::unordered_map<std::uint64_t, Path> spreads_;
  std::vector<Hop> found_;
  std::vector<Route> routes_;  // sorted by from and to
  std::vector<std::uint32_t> first_nic_of_rank_;
  std::uint32_t nics_per_rank_ = 1;
  std::uint32_t nics_per_node_ = 1;
  std::vector<std::uint32_t> domain_of_rank_;
  FabricParameters parameters_;
  std::vector<std::string> replaced_;
  bool own_latency_ = false;  // the file has latencies of links outside NVLink
  bool own_nvlink_latency_ = false;
  Packets packets_;
  Routing routing_ = Routing::kEcmp;
  std::uint64_t seed_ = 1;
  std::vector<std::vector<Pace>> paces_;  // by rank, ascending from 0; empty: nothing is slower
  std::vector<std::int64_t> fails_ns_;    // by rank; empty: none fails
  std::vector<LinkChange> link_changes_;  // by link and time
  NoiseSpec noise_;
};

}  // namespace assay::simulate
