// Switches and links one by one.
#include <fmt/core.h>

#include <map>
#include <set>
#include <vector>

#include "simulate/fabric/topology.h"
#include "simulate/yaml_fields.h"

namespace assay::simulate {
namespace {

class Custom final : public Topology {
 public:
  core::Status take(Fields& fields) {
    ASSAY_TRY(fields.take_words("switches", switches_));
    std::set<std::string> names;
    for (const std::string& name : switches_) {
      if (!names.insert(name).second) return fields.bad("switches", "names " + name + " twice");
      if (name.starts_with("node")) return fields.bad("switches", "has a name of a node");
    }
    ASSAY_TRY(need(fields, static_cast<std::uint32_t>(names.size()), "switches"));
    return for_each_item(fields, "links", "a link", [&](Fields& item) -> core::Status {
      Link& link = links_.emplace_back();
      ASSAY_TRY(item.take_pair("between", link.a, link.b));
      if (link.a.empty()) return item.error("needs 'between', two names");
      if (link.a == link.b) return item.error("leads from a switch to itself");
      return take_link(item, link.spec);
    });
  }

  [[nodiscard]] std::uint64_t num_links(std::uint32_t /*nodes*/,
                                        std::uint32_t /*nics_per_node*/) const override {
    return links_.size();
  }

  core::Status add(Wiring& wiring) const override {
    std::map<std::string, std::uint32_t> numbers;
    for (const std::string& name : switches_)
      numbers.emplace(name, wiring.add_switch(name));
    std::set<std::uint32_t> attached;
    for (const Link& link : links_) {
      if (auto added = add_link(wiring, link, numbers, attached); !added.ok()) {
        return added.error().context(fmt::format("the link between {} and {}", link.a, link.b));
      }
    }
    return {};
  }

 private:
  struct Link {
    std::string a;
    std::string b;
    LinkSpec spec = {};
  };

  static core::Status add_link(Wiring& wiring,
                               const Link& link,
                               const std::map<std::string, std::uint32_t>& switches,
                               std::set<std::uint32_t>& attached) {
    const auto a = switches.find(link.a);
    const auto b = switches.find(link.b);
    const bool a_is_switch = a != switches.end();
    const bool b_is_switch = b != switches.end();
    if (a_is_switch && b_is_switch) {
      wiring.connect(a->second, b->second, {.spec = link.spec});
      return {};
    }
    if (!a_is_switch && !b_is_switch) return core::Error{"one of the two must be a switch"};
    const std::uint32_t nic = ASSAY_TRY(wiring.nic_named(a_is_switch ? link.b : link.a));
    if (!attached.insert(nic).second) {
      return core::Error{"a NIC has one link: give the node more NICs"};
    }
    wiring.attach(nic, a_is_switch ? a->second : b->second, link.spec);
    return {};
  }

  std::vector<std::string> switches_;
  std::vector<Link> links_;
};

const TopologySpec kCustom{.name = "custom", .take = take_as<Custom>};
ASSAY_REGISTER(TopologySpec, kCustom);

}  // namespace
}  // namespace assay::simulate
