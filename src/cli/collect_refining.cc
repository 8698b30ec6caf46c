#include "cli/collect_refining.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

#include "cli/collect_options.h"
#include "cli/measure_settings.h"
#include "cli/output.h"
#include "core/files.h"
#include "store/systems/shipped.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBackend = "--backend";
constexpr const char* kLockClocks = "--lock-clocks";

std::string fact_of(const collect::Settings& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

core::Result<store::Store> open_refined(const fs::path& folder, const fs::path& from) {
  if (!from.empty()) return store::open_to_read(from);
  const fs::path file = folder / collect::kStoreFile;
  if (core::is_regular_file(file)) return store::Store::open(file, store::Store::Mode::kRead);
  return core::Error{
      fmt::format("nothing to refine: there is no '{}'; collect a coarse grid first (assay collect "
                  "--grid coarse -o {}), or name a store by --refine-from",
                  file.string(), folder.string())};
}

}  // namespace

core::Result<Refined> find_refined(const fs::path& folder, const fs::path& from) {
  store::Store store = ASSAY_TRY(open_refined(folder, from));
  const auto last = ASSAY_TRY(store.last_run(collect::kCollectRun));
  if (!last) {
    return core::Error{fmt::format(
        "nothing to refine: '{}' holds no collection, and imported tables do not say how they were "
        "measured",
        (from.empty() ? folder / collect::kStoreFile : from).string())};
  }
  store::Run run = ASSAY_TRY(store.run(*last));
  return Refined{.store = std::move(store), .id = *last, .run = std::move(run)};
}

core::Result<Refined> find_refined_before(const fs::path& folder, const fs::path& from) {
  const Refined last = ASSAY_TRY(find_refined(folder, ""));
  const std::optional<std::int64_t> id = refined_by(last.run);
  if (!id) {
    return core::Error{fmt::format(
        "cannot resume the run of {} in '{}' with --refine: it refines no other; give its own "
        "options",
        last.run.started_at, folder.string())};
  }
  store::Store store = ASSAY_TRY(open_refined(folder, from));
  store::Run run = ASSAY_TRY(store.run(*id));
  return Refined{.store = std::move(store), .id = *id, .run = std::move(run)};
}

std::optional<std::int64_t> refined_by(const store::Run& run) {
  const std::string text = fact_of(run.facts, store::kRefinesFact);
  std::int64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return id > 0 ? std::optional(id) : std::nullopt;
}

collect::Settings record_of(const Refined& refined) {
  return {{store::kRefinesFact, std::to_string(refined.id)}};
}

core::Status check_same_measuring(const std::set<std::string>& given,
                                  const collect::Settings& wanted,
                                  const collect::Settings& then) {
  collect::Settings asked;
  for (const auto& [name, value] : then) {
    if (given.contains(name)) asked[name] = value;
  }
  const std::string others = collect::differences(asked, wanted, "");
  if (others.empty()) return {};
  return core::Error{fmt::format(
      "cannot refine points by others that are measured otherwise: {}; leave it out, or "
      "collect into another --output",
      others)};
}

DeviceArguments device_like(const DeviceArguments& device, const store::Run& run) {
  DeviceArguments used = device;
  const bool was_cpu = fact_of(collect::recorded_device(run), "kind") == "cpu";
  if (used.kind == DeviceKind::kUsual && used.gpus.empty() && was_cpu) used.kind = DeviceKind::kCpu;
  return used;
}

core::Status CollectArguments::check_refine() const {
  if (!refine_) return {};
  if (list_) return core::Error{"--refine and --list exclude each other"};
  if (!module_.empty()) return core::Error{"--refine is for assay's own operators, not a --module"};
  if (given_.contains("--grid")) {
    return core::Error{"--refine and --grid exclude each other: the store's points are the grid"};
  }
  for (const auto& [option, list] : axis_values_) {
    if (list.empty()) continue;
    return core::Error{fmt::format(
        "--refine chooses the values of --{} itself; --case-filter chooses among its cases",
        option)};
  }
  return {};
}

core::Result<Refined> CollectArguments::find_refined() const {
  if (resumes()) return find_refined_before(folder_, refine_from_);
  return cli::find_refined(folder_, refine_from_);
}

core::Result<collect::Refinement> CollectArguments::refinement() const {
  const Refined refined = ASSAY_TRY(find_refined());
  return collect::plan_refinement(refined.store, {.run = refined.id,
                                                  .limit = refine_limit_percent_ / 100,
                                                  .options = ASSAY_TRY(plan_options())});
}

std::string CollectArguments::nothing_to_refine(const collect::Refinement& refinement) const {
  if (refinement.tested == 0) {
    return "nothing to refine: no point of these operators has two neighbours along a size";
  }
  if (refinement.beyond == 0) {
    return fmt::format("nothing to refine: each of {} predictions is within {:g} %",
                       refinement.tested, refine_limit_percent_);
  }
  return fmt::format(
      "nothing to refine: {} of {} predictions are off by more than {:g} %, and no case is left to "
      "measure beside them",
      refinement.beyond, refinement.tested, refine_limit_percent_);
}

core::Result<collect::CollectOptions> CollectArguments::refine_options() const {
  const Refined refined = ASSAY_TRY(find_refined());
  const collect::Settings then = collect::recorded_settings(refined.run);
  collect::CollectOptions options = common_options();
  options.request = ASSAY_TRY(request_of(then));
  options.backend = fact_of(then, kBackend);
  collect::Settings measuring = settings_of(options.request);
  measuring[kBackend] = options.backend;
  ASSAY_TRY(check_same_measuring(given_, options.settings, measuring));
  for (const auto& [name, value] : measuring)
    options.settings[name] = value;
  options.record.merge(record_of(refined));
  options.earlier_device = collect::recorded_device(refined.run);
  const std::string clocks = collect::differences(
      {{kLockClocks, fact_of(refined.run.facts, kLockClocks)}}, {{kLockClocks, lock_clocks_}}, "");
  if (!clocks.empty())
    print_warning("points are measured beside others of other clocks: " + clocks);
  const DeviceArguments device = device_like(device_, refined.run);
  options.gpus = ASSAY_TRY(device.used_gpus());
  ASSAY_TRY(choose_worker(device, options));
  return options;
}

}  // namespace assay::cli
