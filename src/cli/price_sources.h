// Where the prices of assay plan come from.
#pragma once

#include <filesystem>
#include <string>

namespace assay::cli {

class App;

struct PriceSources {
  // A folder of public tables; empty: what ships with assay.
  std::filesystem::path systems = {};
  // A store of one's own measurements, whose rows come before those that ship and behind an
  // engine's own; empty: none.
  std::filesystem::path store = {};

  // " --store perf.db --systems-paths systems"; "" where what ships with assay is all.
  [[nodiscard]] std::string words() const;

  // "perf.db, then what ships with assay"
  [[nodiscard]] std::string text() const;
};

// Declares --systems-paths and --store.
void add_price_sources(App& app, PriceSources& sources);

}  // namespace assay::cli
