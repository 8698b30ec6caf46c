#include "cli/price_sources.h"

#include <fmt/core.h>

#include "cli/options.h"
#include "cli/store_options.h"

namespace assay::cli {

std::string PriceSources::words() const {
  std::string words;
  if (!store.empty()) words += " --store " + store.string();
  if (!systems.empty()) words += " --systems-paths " + systems.string();
  return words;
}

std::string PriceSources::text() const {
  std::string rest = systems.empty() ? "shipped with assay" : systems.string();
  if (store.empty()) return rest;
  return systems.empty() ? store.string() + ", then what ships with assay"
                         : fmt::format("engines' own of {}, then {}", rest, store.string());
}

void add_price_sources(App& app, PriceSources& sources) {
  app.add_option("--systems-paths", sources.systems,
                 "a folder of public tables: NAME.yaml and data/NAME for each system; without it, "
                 "what ships with assay")
      ->type_name("DIR");
  app.add_option("--store", sources.store,
                 "measurements of one's own (assay collect): before what ships with assay, behind "
                 "the engine's own of --systems-paths")
      ->type_name("STORE")
      ->suggest(shipped_words());
}

}  // namespace assay::cli
