#include "cli/store_rerun.h"

#include <fmt/core.h>

#include "cli/collecting.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/version.h"
#include "cli/workers.h"
#include "collect/run/earlier_run.h"
#include "collect/run/reports.h"
#include "core/interrupt.h"
#include "store/judging/rerun.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGroup = "Rerun options";

}  // namespace

RerunArguments::RerunArguments(App& app) {
  Option* points = app.add_option("--rerun", points_,
                                  "measure N points of the newest collection in --store "
                                  "again, as it measured them")
                       ->type_name("N")
                       ->check(whole_number_problem)
                       ->group(kGroup);
  app.add_option("--seed", seed_,
                 "the seed of the choice of points, which takes as many of each operator as it can")
      ->type_name("N")
      ->check(count_problem)
      ->default_str("42")
      ->needs(points)
      ->group(kGroup);
  app.add_option(
         "--max-share", [this](double percent) { max_share_ = percent / 100; },
         "fail if more points of a table than this differ by more than 10 %")
      ->type_name("PERCENT")
      ->check(not_negative_problem)
      ->default_str("none")
      ->needs(points)
      ->group(kGroup);
  add_device_options(app, device_, "as the collection", kGroup);
  for (const char* name : {"--device", "--gpus", "--worker"})
    app.find(name)->needs(points);
}

core::Status RerunArguments::check(const fs::path& store) const {
  ASSAY_TRY(device_.check());
  if (asked_for() && store::shipped_at(store) != nullptr) {
    return core::Error{fmt::format(
        "--rerun keeps what it measures in the store, and {} ships with assay: nothing may be "
        "written into it",
        store.string())};
  }
  if (!asked_for() || !store.empty()) return {};
  return core::Error{"--rerun needs --store: files do not say how they were measured"};
}

core::Result<bool> RerunArguments::run(const fs::path& store,
                                       const Presentation& presentation,
                                       model::Book& book) const {
  const Earlier earlier = ASSAY_TRY(find_earlier(store));
  if (!earlier.again.unknown.empty()) {
    print_warning(fmt::format("{} of the points are left out: no operator here measures them ({})",
                              earlier.again.unknown.size(), earlier.again.unknown.front()));
  }
  const collect::CollectOptions options = ASSAY_TRY(collect_options(store, earlier.run));
  const auto result = collect_with_progress(options, earlier.again.plan, presentation);
  if (!result.ok()) return result.error();
  const collect::CollectResult& measured = result.value();
  if (core::interrupted() && measured.run == 0) return true;
  if (measured.end == collect::SupervisorEnd::kNoWorkers) {
    return core::Error{"no worker is left to measure points again: see " +
                       measured.files.back().string()};
  }
  return add_tables(store, earlier, measured, presentation, book);
}

core::Result<RerunArguments::Earlier> RerunArguments::find_earlier(const fs::path& store) const {
  const store::Store opened = ASSAY_TRY(store::Store::open(store, store::Store::Mode::kRead));
  const auto id = ASSAY_TRY(opened.last_run(collect::kCollectRun));
  if (!id) {
    return core::Error{store.string() +
                       " holds no collection whose points could be measured again, only imports"};
  }
  return Earlier{.id = *id,
                 .run = ASSAY_TRY(opened.run(*id)),
                 .again = ASSAY_TRY(collect::plan_rerun(opened, *id, points_, seed_))};
}

core::Result<collect::CollectOptions> RerunArguments::collect_options(
    const fs::path& store, const store::Run& earlier) const {
  const collect::Settings settings = collect::recorded_settings(earlier);
  const DeviceArguments device =
      collect::was_on_cpu(earlier) ? device_.with_default(DeviceKind::kCpu) : device_;
  collect::CollectOptions options;
  options.folder = store.has_parent_path() ? store.parent_path() : fs::path(".");
  options.beginning = collect::Beginning::kFresh;
  options.settings = settings;
  options.record = {{"command line", own_command_line()}, {"made by", program_version()}};
  options.request = ASSAY_TRY(collect::request_of(settings));
  options.backend = collect::fact_of(settings, "--backend");
  options.deadlines.of_case = ASSAY_TRY(collect::recorded_deadline(earlier));
  options.again = {.store_file = store.filename().string()};
  options.earlier_device = collect::recorded_device(earlier);
  options.gpus = ASSAY_TRY(device.used_gpus());
  options.worker = worker_of(ASSAY_TRY(device.worker_program()));
  warn_of_other_work(options);
  return options;
}

core::Result<bool> RerunArguments::add_tables(const fs::path& store,
                                              const Earlier& earlier,
                                              const collect::CollectResult& measured,
                                              const Presentation& presentation,
                                              model::Book& book) const {
  // A program that is asked to stop still shows what it has measured.
  const core::FinishingTouches touches;
  const store::Store opened = ASSAY_TRY(store::Store::open(store, store::Store::Mode::kRead));
  const auto reruns = ASSAY_TRY(store::reruns_of(opened, earlier.id, measured.run));
  store::RerunReport report = store::rerun_report(earlier.run.started_at, reruns, max_share_);
  if (!presentation.shows_summary()) {
    for (const std::string& failure : report.failures)
      print_warning(failure);
  }
  report.tables.front().notes.push_back("reports: " + measured.files.back().string());
  for (model::Table& table : report.tables)
    book.tables.push_back(std::move(table));
  for (model::Table& table : collect::tally_book(measured.tally).tables) {
    if (table.name == "collection") continue;
    table.name = "rerun_" + table.name;
    table.title += ", when measured again";
    book.tables.push_back(std::move(table));
  }
  return report.failures.empty();
}

}  // namespace assay::cli
