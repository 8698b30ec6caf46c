#include "simulate/fabric/link_usage.h"

#include <algorithm>

namespace assay::simulate {

void LinkUsage::lengthen() {
  bin_ns_ *= 2;
  for (Link& link : links_) {
    if (!link.bins) continue;
    Bins& bins = *link.bins;
    for (std::size_t i = 0; i < kBins / 2; ++i)
      bins[i] = bins[2 * i] + bins[2 * i + 1];
    std::fill(bins.begin() + kBins / 2, bins.end(), 0.0F);
  }
}

void LinkUsage::note(Link& link, std::int64_t now_ns) {
  if (link.load > 0 && now_ns > link.since_ns) {
    while (now_ns > bin_ns_ * static_cast<std::int64_t>(kBins))
      lengthen();
    if (!link.bins) link.bins = std::make_unique<Bins>(Bins{});
    for (std::int64_t at = link.since_ns; at < now_ns;) {
      const std::int64_t bin = at / bin_ns_;
      const std::int64_t end = std::min(now_ns, (bin + 1) * bin_ns_);
      (*link.bins)[static_cast<std::size_t>(bin)] +=
          static_cast<float>(link.load * static_cast<double>(end - at));
      at = end;
    }
    const std::int64_t length = now_ns - link.since_ns;
    link.carried_ns += link.load * static_cast<double>(length);
    if (link.full) link.full_ns += length;
  }
  link.since_ns = now_ns;
}

void LinkUsage::set(std::uint32_t id, std::int64_t now_ns, double load, bool full) {
  Link& link = links_[id];
  note(link, now_ns);
  link.load = load;
  link.full = full;
}

void LinkUsage::finish(std::int64_t now_ns) {
  for (Link& link : links_)
    note(link, now_ns);
}

double LinkUsage::mean(std::uint32_t link, std::size_t bin) const {
  const auto& bins = links_[link].bins;
  return bins ? static_cast<double>((*bins)[bin]) / static_cast<double>(bin_ns_) : 0;
}

}  // namespace assay::simulate
