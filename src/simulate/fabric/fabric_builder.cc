// Builds the links of a network from what a file says.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/counted.h"
#include "simulate/fabric/fabric.h"

namespace assay::simulate {
namespace {

constexpr std::uint64_t kMostLinks = 4'000'000;

// Takes `word` and a number from the front of the text.
bool take_number(std::string_view word, std::string_view& text, std::uint32_t& number) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

class FabricBuilder final : public Wiring {
 public:
  FabricBuilder(const FabricSpec& spec, const FabricJob& job) : spec_(spec), job_(job) {}

  core::Result<Fabric> build();

 private:
  core::Status place_ranks();
  core::Status take_listed_nodes();
  core::Status place_nics();
  core::Status place_domains();
  core::Status take_parameters();
  core::Status check_size() const;
  void note_replaced();
  void add_nic_links();
  void add_nvlinks();

  core::Status add_topology();

  [[nodiscard]] std::uint32_t num_nodes() const override { return num_nodes_; }

  [[nodiscard]] std::uint32_t nics_per_node() const override { return fabric_.nics_per_node_; }

  std::uint32_t add_switch(const std::string& name) override;
  void attach(std::uint32_t nic, std::uint32_t to, const LinkSpec& own) override;
  void connect(std::uint32_t a, std::uint32_t b, const Trunk& trunk) override;
  [[nodiscard]] bool may_merge(const std::string& prefix) const override;
  [[nodiscard]] core::Result<std::uint32_t> nic_named(const std::string& name) const override;

  std::uint32_t add_link(const std::string& name,
                         const LinkSpec& spec,
                         double default_capacity,
                         std::uint32_t copies);

  [[nodiscard]] core::Result<std::vector<std::uint32_t>> links_between(const std::string& a,
                                                                       const std::string& b) const;
  [[nodiscard]] core::Result<std::vector<std::uint32_t>> links_of_switch(
      const std::string& name) const;
  [[nodiscard]] core::Result<std::uint32_t> switch_named(const std::string& name) const;
  core::Status apply_changes();
  core::Status apply_rank_change(const Change& change);
  static void slow_down(const Change& change, std::vector<Fabric::Pace>& paces);
  core::Status apply_link_change(const Change& change);
  [[nodiscard]] double most_capacity(std::uint32_t link) const;
  [[nodiscard]] core::Error too_fast_error(const FabricLink& link, const Change& change) const;
  void finish_changes();
  core::Status apply_routes();
  core::Status apply_route(const FixedRoute& route);
  core::Status apply_background();
  core::Status apply_background(const Background& background);
  core::Status check_background();
  [[nodiscard]] double rate_of(const FabricLink& link) const;

  const FabricSpec& spec_;
  const FabricJob& job_;
  Fabric fabric_;
  std::vector<std::uint32_t> node_of_rank_;
  std::uint32_t num_nodes_ = 0;
  std::map<std::string, std::uint32_t> switches_;
  std::map<std::string, std::vector<std::uint32_t>> links_by_name_;
};

core::Status FabricBuilder::take_listed_nodes() {
  constexpr std::uint32_t kNowhere = UINT32_MAX;
  node_of_rank_.assign(job_.num_ranks, kNowhere);
  for (std::uint32_t node = 0; node < spec_.nodes.size(); ++node) {
    for (const std::uint32_t rank : spec_.nodes[node]) {
      if (rank >= job_.num_ranks) {
        return core::Error{fmt::format("'nodes' names rank {}: the schedule has {}", rank,
                                       core::counted(job_.num_ranks, "rank"))};
      }
      if (node_of_rank_[rank] != kNowhere) {
        return core::Error{fmt::format("'nodes' names rank {} twice", rank)};
      }
      node_of_rank_[rank] = node;
    }
  }
  const auto missing = std::find(node_of_rank_.begin(), node_of_rank_.end(), kNowhere);
  if (missing == node_of_rank_.end()) return {};
  return core::Error{fmt::format("'nodes' leaves out rank {}", missing - node_of_rank_.begin())};
}

core::Status FabricBuilder::place_ranks() {
  if (!spec_.nodes.empty()) {
    ASSAY_TRY(take_listed_nodes());
  } else if (spec_.ranks_per_node > 0 || job_.node_of_rank.empty()) {
    const std::uint32_t each = std::max(spec_.ranks_per_node, 1U);
    for (std::uint32_t rank = 0; rank < job_.num_ranks; ++rank)
      node_of_rank_.push_back(rank / each);
  } else {
    node_of_rank_ = job_.node_of_rank;
  }
  for (const std::uint32_t node : node_of_rank_)
    num_nodes_ = std::max(num_nodes_, node + 1);
  num_nodes_ = std::max<std::uint32_t>(num_nodes_, static_cast<std::uint32_t>(spec_.nodes.size()));
  return {};
}

// The ranks of a node share its NICs evenly, in the order of their numbers.
core::Status FabricBuilder::place_nics() {
  std::vector<std::uint32_t> ranks_of_node(num_nodes_);
  std::vector<std::uint32_t> place(job_.num_ranks);
  for (std::uint32_t rank = 0; rank < job_.num_ranks; ++rank)
    place[rank] = ranks_of_node[node_of_rank_[rank]]++;
  const std::uint32_t most_ranks = std::max(
      spec_.ranks_per_node,
      ranks_of_node.empty() ? 1U : *std::max_element(ranks_of_node.begin(), ranks_of_node.end()));
  const std::uint32_t nics = spec_.nics_per_node > 0 ? spec_.nics_per_node : most_ranks;
  fabric_.nics_per_node_ = nics;
  fabric_.nics_per_rank_ = std::max(nics / most_ranks, 1U);
  fabric_.num_nics_ = num_nodes_ * nics;
  for (std::uint32_t rank = 0; rank < job_.num_ranks; ++rank) {
    const std::uint64_t own = std::uint64_t{place[rank]} * nics / most_ranks;
    fabric_.first_nic_of_rank_.push_back(node_of_rank_[rank] * nics +
                                         static_cast<std::uint32_t>(own));
  }
  return {};
}

core::Status FabricBuilder::place_domains() {
  std::vector<std::uint32_t>& domains = fabric_.domain_of_rank_;
  if (!spec_.nvlink && !job_.parameters.intra) {
    domains.resize(job_.num_ranks);
    std::iota(domains.begin(), domains.end(), 0U);
    return {};
  }
  if (!spec_.nvlink || spec_.nvlink->ranks == 0) {
    domains = node_of_rank_;
    return {};
  }
  for (std::uint32_t rank = 0; rank < job_.num_ranks; ++rank)
    domains.push_back(rank / spec_.nvlink->ranks);
  return {};
}

core::Status FabricBuilder::take_parameters() {
  FabricParameters& parameters = fabric_.parameters_;
  parameters = job_.parameters;
  if (spec_.nic.bytes_per_ns) parameters.inter.gap_ns_per_byte = 1 / *spec_.nic.bytes_per_ns;
  if (!(parameters.inter.gap_ns_per_byte > 0)) {
    return core::Error{"G is 0, so 'nics' needs a bandwidth"};
  }
  fabric_.packets_ = spec_.packets;
  if (!spec_.nvlink) return {};
  if (!parameters.intra) parameters.intra = parameters.inter;
  const LinkSpec& nvlink = spec_.nvlink->link;
  if (nvlink.bytes_per_ns) parameters.intra->gap_ns_per_byte = 1 / *nvlink.bytes_per_ns;
  if (!(parameters.intra->gap_ns_per_byte > 0)) {
    return core::Error{"G within a node is 0, so 'nvlink' needs a bandwidth"};
  }
  fabric_.own_nvlink_latency_ = nvlink.latency_ns.has_value();
  return {};
}

void FabricBuilder::note_replaced() {
  const auto note = [&](bool has, const char* name) {
    if (has) fabric_.replaced_.emplace_back(name);
  };
  note(fabric_.own_latency_, "L");
  note(spec_.nic.bytes_per_ns.has_value(), "G");
  note(fabric_.own_nvlink_latency_, "intra-L");
  note(spec_.nvlink && spec_.nvlink->link.bytes_per_ns, "intra-G");
}

std::uint32_t FabricBuilder::add_link(const std::string& name,
                                      const LinkSpec& spec,
                                      double default_capacity,
                                      std::uint32_t copies) {
  const double unit = fabric_.unit_bytes_per_ns(false);
  FabricLink link{.name = name, .copies = copies};
  link.capacity =
      spec.bytes_per_ns ? *spec.bytes_per_ns / unit * copies : default_capacity * copies;
  link.changed = link.capacity;
  link.latency_ns = std::llround(spec.latency_ns.value_or(0));
  fabric_.own_latency_ |= spec.latency_ns.has_value();
  const auto id = static_cast<std::uint32_t>(fabric_.links_.size());
  fabric_.links_.push_back(std::move(link));
  links_by_name_[name].push_back(id);
  return id;
}

// NICs have no switch yet; attach() names their links.
void FabricBuilder::add_nic_links() {
  constexpr std::uint32_t kNowhere = UINT32_MAX;
  fabric_.switch_of_nic_.assign(fabric_.num_nics_, kNowhere);
  fabric_.links_.resize(std::size_t{2} * fabric_.num_nics_);
  for (FabricLink& link : fabric_.links_)
    link.latency_ns = std::llround(spec_.nic.latency_ns.value_or(0));
  fabric_.own_latency_ |= spec_.nic.latency_ns.has_value();
}

void FabricBuilder::add_nvlinks() {
  fabric_.nvlink_begin_ = static_cast<std::uint32_t>(fabric_.links_.size());
  fabric_.nvlink_end_ = fabric_.nvlink_begin_;
  if (!spec_.nvlink) return;
  const double latency = spec_.nvlink->link.latency_ns.value_or(0) / 2;
  for (const bool out : {true, false}) {
    for (std::uint32_t rank = 0; rank < job_.num_ranks; ++rank) {
      FabricLink link{.nvlink = true};
      // Two links make the latency, also where it is odd.
      link.latency_ns = out ? std::llround(std::floor(latency)) : std::llround(std::ceil(latency));
      const std::string domain = fmt::format("nvlink{}", fabric_.domain_of_rank_[rank]);
      const std::string self = fmt::format("rank{}", rank);
      link.name = out ? self + " > " + domain : domain + " > " + self;
      links_by_name_[link.name].push_back(static_cast<std::uint32_t>(fabric_.links_.size()));
      fabric_.links_.push_back(std::move(link));
    }
  }
  fabric_.nvlink_end_ = static_cast<std::uint32_t>(fabric_.links_.size());
}

std::uint32_t FabricBuilder::add_switch(const std::string& name) {
  const auto id = static_cast<std::uint32_t>(fabric_.hops_.size());
  fabric_.hops_.emplace_back();
  fabric_.switch_names_.push_back(name);
  switches_.emplace(name, id);
  return id;
}

void FabricBuilder::attach(std::uint32_t nic, std::uint32_t to, const LinkSpec& own) {
  const std::uint32_t each = fabric_.nics_per_node_;
  const std::string self =
      each == 1 ? fmt::format("node{}", nic) : fmt::format("node{}.nic{}", nic / each, nic % each);
  const std::string& other = fabric_.switch_names_[to];
  fabric_.switch_of_nic_[nic] = to;
  for (const bool out : {true, false}) {
    const std::uint32_t id = out ? nic : fabric_.num_nics_ + nic;
    FabricLink& link = fabric_.links_[id];
    link.name = out ? self + " > " + other : other + " > " + self;
    links_by_name_[link.name].push_back(id);
    if (own.bytes_per_ns) link.capacity = *own.bytes_per_ns / fabric_.unit_bytes_per_ns(false);
    link.changed = link.capacity;
    if (own.latency_ns) link.latency_ns = std::llround(*own.latency_ns);
  }
  fabric_.own_latency_ |= own.latency_ns.has_value();
}

void FabricBuilder::connect(std::uint32_t a, std::uint32_t b, const Trunk& trunk) {
  const auto one_way = [&](std::uint32_t from, std::uint32_t to) {
    const std::string name = fabric_.switch_names_[from] + " > " + fabric_.switch_names_[to];
    const std::uint32_t id = add_link(name, trunk.spec, trunk.default_capacity, trunk.copies);
    fabric_.hops_[from].push_back({id, to, trunk.distance});
  };
  one_way(a, b);
  one_way(b, a);
}

bool FabricBuilder::may_merge(const std::string& prefix) const {
  if (spec_.routing.routing != Routing::kSpray || !spec_.routing.routes.empty()) return false;
  const auto is_named = [&](const std::string& name) {
    return name.find(prefix) != std::string::npos;
  };
  return std::none_of(spec_.changes.begin(), spec_.changes.end(),
                      [&](const Change& c) { return is_named(c.a) || is_named(c.b); }) &&
         std::none_of(spec_.background.begin(), spec_.background.end(),
                      [&](const Background& b) { return is_named(b.from) || is_named(b.to); });
}

core::Status FabricBuilder::add_topology() {
  ASSAY_TRY(spec_.topology->add(*this));
  const auto loose =
      std::find(fabric_.switch_of_nic_.begin(), fabric_.switch_of_nic_.end(), UINT32_MAX);
  if (loose == fabric_.switch_of_nic_.end()) return {};
  const auto nic = static_cast<std::uint32_t>(loose - fabric_.switch_of_nic_.begin());
  const std::uint32_t each = fabric_.nics_per_node_;
  return core::Error{each == 1
                         ? fmt::format("no link leads to node{}", nic)
                         : fmt::format("no link leads to node{}.nic{}", nic / each, nic % each)};
}

core::Result<std::uint32_t> FabricBuilder::nic_named(const std::string& name) const {
  const std::uint32_t each = fabric_.nics_per_node_;
  std::uint32_t node = UINT32_MAX;
  std::uint32_t nic = each == 1 ? 0 : UINT32_MAX;
  std::string_view rest = name;
  const bool whole = take_number("node", rest, node) &&
                     (each == 1 || take_number(".nic", rest, nic)) && rest.empty();
  if (whole && node < num_nodes_ && nic < each) return node * each + nic;
  return core::Error{fmt::format("there is no NIC '{}': the NICs are node0{} to node{}{}", name,
                                 each == 1 ? "" : ".nic0", num_nodes_ == 0 ? 0 : num_nodes_ - 1,
                                 each == 1 ? "" : fmt::format(".nic{}", each - 1))};
}

core::Result<std::uint32_t> FabricBuilder::switch_named(const std::string& name) const {
  const auto found = switches_.find(name);
  if (found != switches_.end()) return found->second;
  const std::vector<std::string>& names = fabric_.switch_names_;
  return core::Error{fmt::format("there is no switch '{}': the first of {} is {}", name,
                                 names.size(), names.empty() ? "none" : names.front())};
}

core::Result<std::vector<std::uint32_t>> FabricBuilder::links_between(const std::string& a,
                                                                      const std::string& b) const {
  std::vector<std::uint32_t> found;
  for (const std::string& name : {a + " > " + b, b + " > " + a}) {
    const auto links = links_by_name_.find(name);
    if (links != links_by_name_.end()) {
      found.insert(found.end(), links->second.begin(), links->second.end());
    }
  }
  if (!found.empty()) return found;
  const auto some = links_by_name_.begin();
  return core::Error{fmt::format("there is no link between {} and {}; a link is '{}'", a, b,
                                 some == links_by_name_.end() ? "nowhere" : some->first)};
}

core::Result<std::vector<std::uint32_t>> FabricBuilder::links_of_switch(
    const std::string& name) const {
  const std::uint32_t self = ASSAY_TRY(switch_named(name));
  std::vector<std::uint32_t> found;
  for (const Fabric::Hop& hop : fabric_.hops_[self]) {
    found.push_back(hop.link);
    for (const Fabric::Hop& back : fabric_.hops_[hop.to]) {
      if (back.to == self) found.push_back(back.link);
    }
  }
  for (std::uint32_t nic = 0; nic < fabric_.num_nics_; ++nic) {
    if (fabric_.switch_of_nic_[nic] != self) continue;
    found.push_back(nic);
    found.push_back(fabric_.num_nics_ + nic);
  }
  return found;
}

double FabricBuilder::rate_of(const FabricLink& link) const {
  return link.capacity / link.copies * fabric_.unit_bytes_per_ns(link.nvlink);
}

core::Status FabricBuilder::apply_rank_change(const Change& change) {
  if (*change.rank >= job_.num_ranks) {
    return core::Error{fmt::format("'changes' names rank {}: the schedule has {}", *change.rank,
                                   core::counted(job_.num_ranks, "rank"))};
  }
  if (change.failed) {
    std::vector<std::int64_t>& fails_ns = fabric_.fails_ns_;
    if (fails_ns.empty()) fails_ns.assign(job_.num_ranks, kForeverNs);
    fails_ns[*change.rank] = std::min(fails_ns[*change.rank], change.from_ns);
    return {};
  }
  if (fabric_.paces_.empty()) fabric_.paces_.resize(job_.num_ranks);
  slow_down(change, fabric_.paces_[*change.rank]);
  return {};
}

void FabricBuilder::slow_down(const Change& change, std::vector<Fabric::Pace>& paces) {
  if (paces.empty()) paces.push_back({});
  // Divides the stretch in which the change begins or ends.
  for (const std::int64_t time : {change.from_ns, change.until_ns}) {
    const auto next = std::find_if(paces.begin(), paces.end(),
                                   [&](const Fabric::Pace& pace) { return pace.from_ns >= time; });
    if (next != paces.end() && next->from_ns == time) continue;
    paces.insert(next, {.from_ns = time, .factor = std::prev(next)->factor});
  }
  for (Fabric::Pace& pace : paces) {
    if (pace.from_ns >= change.from_ns && pace.from_ns < change.until_ns) {
      pace.factor *= change.slower;
    }
  }
}

// No change makes a NIC, or what a rank has of NVLink, faster than the file says it sends.
double FabricBuilder::most_capacity(std::uint32_t link) const {
  if (link >= fabric_.nvlink_end_) return std::numeric_limits<double>::infinity();
  return std::max(fabric_.links_[link].capacity, 1.0);
}

core::Error FabricBuilder::too_fast_error(const FabricLink& link, const Change& change) const {
  return core::Error{fmt::format(
      "the change between {} and {} is more than the {:g} GB/s that {} has: give '{}' more "
      "bandwidth, and lower it by changes",
      change.a, change.b, rate_of(link), link.nvlink ? "a rank's NVLink" : "the NIC",
      link.nvlink ? "nvlink" : "nics")};
}

core::Status FabricBuilder::apply_link_change(const Change& change) {
  const auto links =
      ASSAY_TRY(change.b.empty() ? links_of_switch(change.a) : links_between(change.a, change.b));
  for (const std::uint32_t id : links) {
    const FabricLink& link = fabric_.links_[id];
    const double share = change.bytes_per_ns ? *change.bytes_per_ns / rate_of(link) : change.share;
    const double wanted = change.failed ? 0 : link.capacity * share;
    const double most = most_capacity(id);
    if (wanted > most * (1 + 1e-9) && !change.b.empty()) return too_fast_error(link, change);
    fabric_.link_changes_.push_back({.link = id,
                                     .from_ns = change.from_ns,
                                     .until_ns = change.until_ns,
                                     .capacity = std::min(wanted, most)});
  }
  return {};
}

// Applies the changes that hold from the start on; the others come while the schedule runs.
void FabricBuilder::finish_changes() {
  std::stable_sort(fabric_.link_changes_.begin(), fabric_.link_changes_.end(),
                   [](const auto& a, const auto& b) {
                     return std::pair(a.link, a.from_ns) < std::pair(b.link, b.from_ns);
                   });
  fabric_.change_links(0);
  for (FabricLink& link : fabric_.links_)
    link.best = link.changed;
}

core::Status FabricBuilder::apply_changes() {
  for (const Change& change : spec_.changes)
    ASSAY_TRY(change.rank ? apply_rank_change(change) : apply_link_change(change));
  finish_changes();
  return {};
}

core::Status FabricBuilder::apply_route(const FixedRoute& route) {
  Fabric::Route made{
      .from = ASSAY_TRY(nic_named(route.from)), .to = ASSAY_TRY(nic_named(route.to)), .path = {}};
  std::uint32_t at = fabric_.switch_of_nic_[made.from];
  const auto wrong = [&](const std::string& what) {
    return core::Error{fmt::format("the route from {} to {} {}", route.from, route.to, what)};
  };
  if (route.via.empty() || ASSAY_TRY(switch_named(route.via.front())) != at) {
    return wrong(fmt::format("begins at {}", fabric_.switch_names_[at]));
  }
  for (std::size_t i = 1; i < route.via.size(); ++i) {
    const std::uint32_t next = ASSAY_TRY(switch_named(route.via[i]));
    const auto& hops = fabric_.hops_[at];
    const auto hop =
        std::find_if(hops.begin(), hops.end(), [&](const Fabric::Hop& h) { return h.to == next; });
    if (hop == hops.end()) {
      return wrong(
          fmt::format("needs a link between {} and {}", fabric_.switch_names_[at], route.via[i]));
    }
    made.path.links.push_back({hop->link, 1});
    at = next;
  }
  if (at != fabric_.switch_of_nic_[made.to]) {
    return wrong(fmt::format("ends at {}", fabric_.switch_names_[fabric_.switch_of_nic_[made.to]]));
  }
  std::set<std::uint32_t> once;
  for (const LinkShare& share : made.path.links) {
    if (!once.insert(share.link).second) return wrong("takes a link twice");
  }
  fabric_.routes_.push_back(std::move(made));
  return {};
}

core::Status FabricBuilder::apply_routes() {
  for (const FixedRoute& route : spec_.routing.routes)
    ASSAY_TRY(apply_route(route));
  return {};
}

core::Status FabricBuilder::apply_background(const Background& background) {
  std::vector<LinkShare> shares;
  if (background.link) {
    for (const std::uint32_t link : ASSAY_TRY(links_between(background.from, background.to)))
      shares.push_back({link, 1});
  } else {
    const Fabric::Ends ends{ASSAY_TRY(nic_named(background.from)),
                            ASSAY_TRY(nic_named(background.to)), 0};
    Path path;
    if (ends.from == ends.to || !fabric_.find_way(ends, path)) {
      return core::Error{
          fmt::format("no way for the background from {} to {}", background.from, background.to)};
    }
    shares = path.links;
  }
  for (const LinkShare& share : shares) {
    FabricLink& link = fabric_.links_[share.link];
    const double capacity = background.bytes_per_ns
                                ? *background.bytes_per_ns / fabric_.unit_bytes_per_ns(link.nvlink)
                                : link.capacity * background.share;
    link.background += capacity * share.weight;
  }
  return {};
}

// Checks the links as they are at each time: of several changes, the one that leaves least holds.
core::Status FabricBuilder::check_background() {
  std::vector<std::int64_t> times = fabric_.change_times();
  times.push_back(0);  // the last one: the links begin so
  for (const std::int64_t time : times) {
    fabric_.change_links(time);
    for (const FabricLink& link : fabric_.links_) {
      if (link.changed == 0 || link.changed - link.background > 1e-6 * link.capacity) continue;
      return core::Error{fmt::format("the background leaves nothing of '{}'", link.name)};
    }
  }
  for (FabricLink& link : fabric_.links_)
    link.best = link.changed;
  return {};
}

core::Status FabricBuilder::apply_background() {
  for (const Background& background : spec_.background)
    ASSAY_TRY(apply_background(background));
  return check_background();
}

core::Status FabricBuilder::check_size() const {
  const std::uint64_t links = std::uint64_t{num_nodes_} * fabric_.nics_per_node_ +
                              spec_.topology->num_links(num_nodes_, fabric_.nics_per_node_);
  if (links <= kMostLinks) return {};
  return core::Error{fmt::format("this makes {} links; the most are {}", links, kMostLinks)};
}

core::Result<Fabric> FabricBuilder::build() {
  ASSAY_TRY(place_ranks());
  ASSAY_TRY(place_nics());
  ASSAY_TRY(check_size());
  ASSAY_TRY(place_domains());
  ASSAY_TRY(take_parameters());
  fabric_.name_ = spec_.name;
  fabric_.routing_ = spec_.routing.routing;
  fabric_.seed_ = spec_.routing.seed;
  fabric_.noise_ = spec_.noise;
  add_nic_links();
  add_nvlinks();
  ASSAY_TRY(add_topology());
  note_replaced();
  fabric_.distances_.resize(fabric_.hops_.size());
  ASSAY_TRY(apply_changes());
  ASSAY_TRY(apply_routes());
  ASSAY_TRY(apply_background());
  return std::move(fabric_);
}

core::Result<Fabric> Fabric::make(const FabricSpec& spec, const FabricJob& job) {
  auto made = FabricBuilder(spec, job).build();
  if (!made.ok()) return made.error().context(spec.name);
  return made;
}

}  // namespace assay::simulate
