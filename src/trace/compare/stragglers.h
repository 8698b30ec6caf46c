// Which ranks the others wait for in the collectives of any number of settings: who, how often, how
// stable that is, and why.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/table.h"
#include "trace/compare/setting_figures.h"

namespace assay::trace {

// One rank in one setting. Collectives are those that no rank leaves before all have arrived.
struct RankArrivals {
  std::size_t setting = 0;
  int rank = 0;
  std::int64_t last = 0;         // collectives to which it came last, over all runs
  std::int64_t collectives = 0;  // in which it took part
  // Every run is cut in two halves: in how many of them no rank came last more often.
  std::int64_t halves_led = 0;
  std::int64_t halves = 0;
  double others_wait_ms = 0;  // what another rank waits for it, per step; NaN without steps
  double compute_ms = kNaN;   // of a step, beyond the middle rank
  double host_ms = kNaN;      // that it waits for its host in a step, beyond the middle rank
  // It comes last most often, and the others wait for it longer than for any other rank, beyond the
  // noise between parts of runs; a long wait counts as three median ones.
  bool steady = false;

  [[nodiscard]] double last_percent() const {
    return collectives == 0 ? 0
                            : 100 * static_cast<double>(last) / static_cast<double>(collectives);
  }
};

// Returns them by setting, the rank that comes last most often first.
std::vector<RankArrivals> rank_arrivals(std::span<const SettingFigures> settings);

// Names the largest cause that the traces show why the rank comes last, and its share of what the
// others wait.
std::string why_last(const RankArrivals& rank);

// Names the straggler of each setting that has a stable one.
std::string stragglers_in_words(std::span<const SettingFigures> settings,
                                std::span<const RankArrivals> ranks);

// Makes the sheet Stragglers.
inline constexpr const char* kStragglersSheet = "Stragglers";
model::Table stragglers_table(std::span<const SettingFigures> settings);

}  // namespace assay::trace
