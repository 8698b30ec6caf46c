// A topology: the switches of a network and the links between them.
//
// To add one, write topologies/<name>.cc: a Topology, a function that takes its fields of a network
// file, and ASSAY_REGISTER. docs/goal.md has a table of the fields.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/registry.h"
#include "core/result.h"

namespace assay::simulate {

class Fields;

// What a file does not say follows from the topology, or is as without a network.
struct LinkSpec {
  std::optional<double> bytes_per_ns = std::nullopt;
  std::optional<double> latency_ns = std::nullopt;
};

core::Status take_link(Fields& fields, LinkSpec& link);

// Fails unless the field `name` gave a number.
core::Status need(const Fields& fields, std::uint32_t value, const char* name);

// Returns how many groups of `size` hold `count`.
constexpr std::uint32_t num_groups_of(std::uint32_t count, std::uint32_t size) {
  return count / size + (count % size == 0 ? 0 : 1);
}

// Equal links between two switches.
struct Trunk {
  LinkSpec spec = {};
  double default_capacity = 1;  // of one link, in NICs
  std::uint32_t copies = 1;
  // It adds so much to the length of a way; messages take the shortest ways.
  std::uint16_t distance = 1;
};

// A network that is being made, as a topology sees it. Switches and NICs have numbers from 0, NICs
// those of all nodes in turn.
class Wiring {
 public:
  virtual ~Wiring() = default;

  [[nodiscard]] virtual std::uint32_t num_nodes() const = 0;
  [[nodiscard]] virtual std::uint32_t nics_per_node() const = 0;

  virtual std::uint32_t add_switch(const std::string& name) = 0;
  // Every NIC is attached once. What `own` has replaces what the file says of all NICs.
  virtual void attach(std::uint32_t nic, std::uint32_t to, const LinkSpec& own) = 0;
  virtual void connect(std::uint32_t a, std::uint32_t b, const Trunk& trunk) = 0;

  [[nodiscard]] virtual core::Result<std::uint32_t> nic_named(const std::string& name) const = 0;
  // Returns whether equal switches with such names may be one, with as many times the bandwidth:
  // they carry equal parts of everything, and the file does nothing to one of them.
  [[nodiscard]] virtual bool may_merge(const std::string& prefix) const = 0;
};

class Topology {
 public:
  virtual ~Topology() = default;

  // Returns about how many links between switches add() makes. It is asked before anything is made
  // whose size follows from a number in the file.
  [[nodiscard]] virtual std::uint64_t num_links(std::uint32_t nodes,
                                                std::uint32_t nics_per_node) const = 0;
  virtual core::Status add(Wiring& wiring) const = 0;
};

// Makes a topology of a class that takes its fields itself.
template <class Made>
core::Result<std::shared_ptr<const Topology>> take_as(Fields& fields) {
  auto topology = std::make_shared<Made>();
  ASSAY_TRY(topology->take(fields));
  return std::shared_ptr<const Topology>(std::move(topology));
}

struct TopologySpec {
  const char* name;  // the `type` of a network file's `topology`
  core::Result<std::shared_ptr<const Topology>> (*take)(Fields& fields);
};

// Returns one switch for all NICs.
std::shared_ptr<const Topology> non_blocking();

// Takes the network file's `topology`.
core::Result<std::shared_ptr<const Topology>> take_topology(Fields& fields);

}  // namespace assay::simulate
