// The processes, threads and ids of one rank, numbered so that no other rank has the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/trace.h"

namespace assay::trace::fuse {

// The critical path's own process; those of ranks begin at kProcessesPerRank.
inline constexpr int kPathProcess = 1;
inline constexpr int kProcessesPerRank = 1000;

class RankIds {
 public:
  // `position` is that of the rank among all.
  RankIds(const model::Trace& trace, int rank, std::size_t position)
      : trace_(trace), rank_(rank), position_(position) {}

  // Return the number of the process or thread that a file spells so, quotes included. Perfetto
  // wants integers.
  int process(std::string_view spelt);
  std::int64_t thread(std::string_view process_spelt, std::string_view spelt);

  // The same for the track of a GPU event.
  std::pair<int, std::int64_t> track_of(const model::GpuEvent& event);

  // Returns an id, as it should be spelt, that no other rank has; `spelt` where it is no number.
  [[nodiscard]] std::string id(std::string_view spelt) const;

  // Returns the events that name the processes and threads seen so far and put them in order,
  // separated by commas.
  [[nodiscard]] std::string metadata() const;

 private:
  [[nodiscard]] std::string process_name(const std::string& text) const;

  const model::Trace& trace_;
  int rank_;
  std::size_t position_;
  std::map<std::string, int, std::less<>> processes_;  // by text without quotes
  std::map<std::pair<int, std::string>, std::int64_t> named_threads_;
};

}  // namespace assay::trace::fuse
