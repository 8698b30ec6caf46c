// `store check --rerun`: measures points of the newest collection again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "cli/summary_output.h"
#include "cli/workers.h"
#include "collect/plan/plan_from_store.h"
#include "collect/run/collection.h"
#include "core/result.h"
#include "model/table.h"
#include "store/database/store.h"

namespace assay::cli {

class App;

class RerunArguments {
 public:
  // Declares the options.
  explicit RerunArguments(App& app);

  [[nodiscard]] bool asked_for() const { return points_ > 0; }

  // Fails for wrong usage. `store` is empty if none was given.
  [[nodiscard]] core::Status check(const std::filesystem::path& store) const;

  // Measures, keeps the measurements in the store, and adds its tables to the book. Returns whether
  // the shares are within --max-share.
  core::Result<bool> run(const std::filesystem::path& store,
                         const Presentation& presentation,
                         model::Book& book) const;

 private:
  struct Earlier {
    std::int64_t id = 0;
    store::Run run;
    collect::RerunPlan again;
  };

  [[nodiscard]] core::Result<Earlier> find_earlier(const std::filesystem::path& store) const;
  [[nodiscard]] core::Result<collect::CollectOptions> collect_options(
      const std::filesystem::path& store, const store::Run& earlier) const;
  core::Result<bool> add_tables(const std::filesystem::path& store,
                                const Earlier& earlier,
                                const collect::CollectResult& measured,
                                const Presentation& presentation,
                                model::Book& book) const;

  std::int64_t points_ = 0;
  std::uint64_t seed_ = 42;
  std::optional<double> max_share_;  // a fraction, not a percentage
  DeviceArguments device_;
};

}  // namespace assay::cli
