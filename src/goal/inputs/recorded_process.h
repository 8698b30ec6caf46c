// The records of one process, sorted by kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/recording_file.h"
#include "model/warnings.h"

namespace assay::goal {

template <class Record>
struct Numbered {
  std::uint32_t number = 0;
  Record record;
};

// In the order of their numbers.
template <class Record>
using Records = std::vector<Numbered<Record>>;

template <class Record>
const Numbered<Record>* find_record(const Records<Record>& records, std::uint32_t number) {
  const auto found =
      std::lower_bound(records.begin(), records.end(), number,
                       [](const auto& entry, std::uint32_t n) { return entry.number < n; });
  return found != records.end() && found->number == number ? &*found : nullptr;
}

struct RecordedProcess {
  std::string file;
  model::recording::Header header;
  std::map<std::uint32_t, std::string> texts;
  std::vector<std::string> notes;
  Records<model::recording::Communicator> communicators;
  Records<model::recording::CollApi> coll_apis;
  Records<model::recording::P2pApi> p2p_apis;
  Records<model::recording::KernelLaunch> launches;
  Records<model::recording::Plan> plans;
  Records<model::recording::Coll> colls;
  Records<model::recording::P2p> p2ps;
  Records<model::recording::Kernel> kernels;
  Records<model::recording::Correlation> correlations;
  std::vector<model::recording::Clock> clocks;
  std::uint64_t damaged_blocks = 0;

  [[nodiscard]] const std::string& text(std::uint32_t id) const;

  // A time of CUPTI's clock in CLOCK_REALTIME.
  [[nodiscard]] std::int64_t realtime_ns(std::uint64_t cupti_ns) const;

  // Of the last thing that was recorded.
  [[nodiscard]] std::int64_t end_ns() const;
};

RecordedProcess sort_records(const model::recording::File& file, const std::string& name);

}  // namespace assay::goal
