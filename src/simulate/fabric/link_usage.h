// How busy each link is over time, in at most kBins equal stretches of time. The stretches become
// twice as long whenever the simulation outgrows them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace assay::simulate {

class LinkUsage {
 public:
  static constexpr std::size_t kBins = 128;

  explicit LinkUsage(std::size_t num_links) : links_(num_links) {}

  // Notes that from now on the link carries `load` in units of its rate, and whether it is full.
  void set(std::uint32_t id, std::int64_t now_ns, double load, bool full);

  // Notes what has not been noted until now.
  void finish(std::int64_t now_ns);

  [[nodiscard]] double load(std::uint32_t link) const { return links_[link].load; }

  // Load times time, in ns.
  [[nodiscard]] double carried_ns(std::uint32_t link) const { return links_[link].carried_ns; }

  [[nodiscard]] std::int64_t full_ns(std::uint32_t link) const { return links_[link].full_ns; }

  // Time that messages lost because the link was full, added up over the messages.
  [[nodiscard]] double lost_ns(std::uint32_t link) const { return links_[link].lost_ns; }

  void add_lost(std::uint32_t link, double ns) { links_[link].lost_ns += ns; }

  [[nodiscard]] std::int64_t bin_ns() const { return bin_ns_; }

  // The mean load in a stretch.
  [[nodiscard]] double mean(std::uint32_t link, std::size_t bin) const;

 private:
  using Bins = std::array<float, kBins>;

  struct Link {
    double load = 0;
    bool full = false;
    std::int64_t since_ns = 0;
    double carried_ns = 0;
    std::int64_t full_ns = 0;
    double lost_ns = 0;
    std::unique_ptr<Bins> bins = nullptr;  // load times time; null while it was idle
  };

  void note(Link& link, std::int64_t now_ns);
  void lengthen();

  std::vector<Link> links_;
  std::int64_t bin_ns_ = 64;
};

}  // namespace assay::simulate
