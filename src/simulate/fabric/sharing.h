// Max-min fair rates of flows that share links, found again only where a change is felt.
//
// A flow puts `weight` times its rate on each link of its path (1, or less where it is spread over
// several links). Rates are max-min fair when every flow has a link that is full and on which no
// other flow has a higher rate: its bottleneck. Rates are found by filling: the rates of all flows
// grow together until a link is full, whose flows then keep theirs.
//
// After a change only those flows are filled again that could feel it: the new ones, those whose
// bottleneck the change touches, and so on from bottleneck to bottleneck. Then the others are
// checked on the links that were touched, and the few that have lost their bottleneck, or that take
// more than a new one's share, join; that is repeated until all flows have a bottleneck.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace assay::simulate {

struct LinkShare {
  std::uint32_t link = 0;
  double weight = 1;
};

class Sharing {
 public:
  static constexpr std::uint32_t kNoLink = 0xFFFFFFFF;

  // Capacities are above 0.
  explicit Sharing(const std::vector<double>& capacities);

  // Returns the number of the new flow, whose rate is 0 until settle(). A path has at least one
  // link, and no link twice. Numbers are used again.
  std::uint32_t add(std::span<const LinkShare> path);
  void remove(std::uint32_t flow);

  // Leads a flow along another path; its rate is 0 until settle().
  void reroute(std::uint32_t flow, std::span<const LinkShare> path);

  // Above 0.
  void set_capacity(std::uint32_t link, double capacity);

  // Returns whether something has changed since settle().
  [[nodiscard]] bool dirty() const { return !dirty_flows_.empty(); }

  // Makes the rates fair. Returns the flows whose rates have changed; valid until the next call.
  std::span<const std::uint32_t> settle();

  [[nodiscard]] double rate(std::uint32_t flow) const { return flows_[flow].rate; }

  // The full link that keeps the flow from being faster.
  [[nodiscard]] std::uint32_t bottleneck(std::uint32_t flow) const {
    return flows_[flow].bottleneck;
  }

  [[nodiscard]] std::uint32_t flows_on(std::uint32_t link) const {
    return static_cast<std::uint32_t>(links_[link].flows.size());
  }

  // Calls visit(flow) for each flow on the link.
  template <class Visit>
  void for_each_flow(std::uint32_t link, const Visit& visit) const {
    for (const Entry& entry : links_[link].flows)
      visit(entry.flow);
  }

  // Calls visit(link, weight) for each link of the flow's path.
  template <class Visit>
  void for_each_link(std::uint32_t flow, const Visit& visit) const {
    for (const Part& part : paths_[flow])
      visit(part.link, part.weight);
  }

 private:
  // A flow's part of a link, and the link's entry for it.
  struct Part {
    std::uint32_t link;
    std::uint32_t place;  // in Link::flows
    double weight;
  };

  struct Entry {
    std::uint32_t flow;
    std::uint32_t part;  // in its path
    double weight;
  };

  // Without its path, so that many are near each other: links look at all of theirs.
  struct Flow {
    double rate = 0;
    double old_rate = 0;  // of a flow that is being filled
    std::uint32_t bottleneck = kNoLink;
    bool inside = false;  // it is being filled
    bool filled = false;
  };

  struct Link {
    double capacity;
    std::vector<Entry> flows = {};
    // While flows are filled:
    double left = 0;            // capacity without the flows that keep their rates
    double weight = 0;          // of the flows that still grow
    std::uint32_t growing = 0;  // their number
    bool touched = false;
  };

  void enter_links(std::uint32_t flow, std::span<const LinkShare> path);
  void leave_links(std::uint32_t flow);
  void take_in(std::uint32_t flow);
  void take_in_all_felt();
  void take_in_dirty();
  void prepare();
  void fill();
  void fill_link(std::uint32_t full);
  bool take_in_unfair();
  bool take_in_unfair_on(std::uint32_t id);
  void collect_changed();
  void push(std::uint32_t link);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::vector<Part>> paths_;  // by flow
  std::vector<std::uint32_t> free_flows_;
  // Added, led elsewhere, removed, or on a link that was changed since the rates were fair.
  std::vector<std::uint32_t> dirty_flows_;
  std::vector<std::uint32_t> removed_flows_;  // those of them that are no more
  std::vector<std::uint32_t> inside_;
  std::size_t felt_ = 0;  // so many of inside_ have told the flows that they touch
  std::vector<std::uint32_t> touched_;
  std::vector<std::pair<double, std::uint32_t>> heap_;  // the rate at which a link would be full
  std::vector<std::uint32_t> changed_;
};

}  // namespace assay::simulate
