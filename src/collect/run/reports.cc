#include "collect/run/reports.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <array>
#include <ctime>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"
#include "store/files/perf_file.h"

namespace assay::collect {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kLongestNames = 80;  // letters of operators' names in the name of a folder
constexpr bool kThrow = false;

std::string timestamp() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::localtime(std::time(nullptr)));
}

std::string text_of(const ordered_json& json) {
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

ordered_json device_id_of(const std::string& text) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return number ? ordered_json(std::stoi(text)) : ordered_json(text);
}

std::string module_of(const std::string& backend, const std::string& operator_name) {
  return backend + '.' + operator_name;
}

ordered_json detail_of(const FinishedCase& finished, const std::string& backend) {
  const PlannedCase& planned = *finished.planned;
  return {{"module", module_of(backend, planned.operator_name)},
          {"device_id", device_id_of(finished.device_id)},
          {"task_id", planned.id},
          {"task_params", ordered_json::parse(planned.json, nullptr, kThrow)},
          {"error_type", finished.error_class},
          {"error_message", finished.reason},
          {"traceback", finished.traceback},
          {"doing", finished.doing},
          {"timestamp", timestamp()}};
}

ordered_json error_of(const store::StoredCase& failure) {
  ordered_json error = ordered_json::parse(failure.detail, nullptr, kThrow);
  if (error.is_object()) return error;
  return {{"task_id", failure.id},
          {"error_type", failure.error_class},
          {"error_message", failure.reason}};
}

ordered_json counts_of(const OperatorTally& tally) {
  return {{"expected", tally.expected},
          {"measured", tally.measured},
          {"skipped", tally.skipped},
          {"failed", tally.failed},
          {"missing", tally.missing()}};
}

ordered_json time_of(const std::vector<TimeUse>& times) {
  ordered_json time = ordered_json::object();
  for (const TimeUse& one : times) {
    time[one.operator_name] = {{"cases", one.cases},
                               {"time_s", one.wall_seconds},
                               {"kernels_s", one.kernel_seconds},
                               {"prepare_s", one.prepare_seconds},
                               {"check_s", one.check_seconds},
                               {"rest_s", one.rest_seconds},
                               {"overhead_median_ms", one.overhead_median_ms},
                               {"overhead_p90_ms", one.overhead_p90_ms}};
  }
  return time;
}

ordered_json summary_of(const ReportHeading& heading, const Tally& tally) {
  ordered_json by_module = ordered_json::object();
  ordered_json by_type = ordered_json::object();
  const auto add_one = [](ordered_json& counts, const std::string& name) {
    counts[name] = counts.value(name, 0) + 1;
  };
  for (const store::StoredCase& failure : tally.failures()) {
    add_one(by_module, module_of(heading.backend, failure.operator_name));
    add_one(by_type, failure.error_class);
  }
  ordered_json operators = ordered_json::object();
  for (const OperatorTally& one : tally.operators())
    operators[one.name] = counts_of(one);
  ordered_json skips = ordered_json::object();
  for (const auto& [what, count] : tally.skips())
    skips[what.first][what.second] = count;
  ordered_json summary = {
      {"backend", heading.backend},    {"version", heading.version},
      {"timestamp", timestamp()},      {"total_errors", tally.failures().size()},
      {"errors_by_module", by_module}, {"errors_by_type", by_type}};
  summary.update(counts_of(tally.total()));
  summary["operators"] = operators;
  summary["skipped_by_reason"] = skips;
  return summary;
}

core::Status write_errors(const fs::path& folder,
                          const ReportHeading& heading,
                          const Tally& tally,
                          const std::string& operator_name) {
  ordered_json errors = ordered_json::array();
  for (const store::StoredCase& failure : tally.failures()) {
    if (failure.operator_name == operator_name) errors.push_back(error_of(failure));
  }
  if (errors.empty()) return {};
  const std::string name = fmt::format("errors_{}.json", module_of(heading.backend, operator_name));
  ASSAY_TRY(core::check_file_name(name));
  return core::write_file(folder / name, text_of(errors));
}

model::Table counts_table(const Tally& tally) {
  model::Table table{.name = "collection",
                     .title = "Cases by outcome",
                     .columns = {{.name = "operator"},
                                 {.name = "expected"},
                                 {.name = "measured"},
                                 {.name = "skipped"},
                                 {.name = "failed"},
                                 {.name = "missing"}}};
  const auto add = [&](const OperatorTally& one) {
    table.add_row({one.name, one.expected, one.measured, one.skipped, one.failed, one.missing()});
  };
  for (const OperatorTally& one : tally.operators())
    add(one);
  if (tally.operators().size() > 1) add(tally.total());
  return table;
}

model::Table failures_table(const Tally& tally) {
  struct Kind {
    std::int64_t count = 0;
    const store::StoredCase* first = nullptr;
  };

  std::map<std::pair<std::string, std::string>, Kind> kinds;
  for (const store::StoredCase& failure : tally.failures()) {
    Kind& kind = kinds[{failure.operator_name, failure.error_class}];
    if (++kind.count == 1) kind.first = &failure;
  }
  model::Table table{.name = "failures",
                     .title = "Failures by class",
                     .columns = {{.name = "operator"},
                                 {.name = "class"},
                                 {.name = "cases"},
                                 {.name = "first case"},
                                 {.name = "its message"}}};
  for (const auto& [what, kind] : kinds)
    table.add_row({what.first, what.second, kind.count, kind.first->id, kind.first->reason});
  return table;
}

model::Table skips_table(const Tally& tally) {
  model::Table table{.name = "skips",
                     .title = "Skipped cases by reason",
                     .columns = {{.name = "operator"}, {.name = "reason"}, {.name = "cases"}}};
  for (const auto& [what, count] : tally.skips())
    table.add_row({what.first, what.second, count});
  return table;
}

struct SecondName {
  std::string_view table;
  const char* file;
};

constexpr std::array<SecondName, 2> kSecondNames = {
    {{"nccl_perf", "comm_perf.txt"}, {"custom_allreduce_perf", "custom_all_reduce.txt"}}};

std::vector<fs::path> files_of(const std::string& table, const fs::path& folder) {
  std::vector<fs::path> files = {folder / (table + ".txt")};
  for (const SecondName& second : kSecondNames) {
    if (second.table == table) files.push_back(folder / second.file);
  }
  return files;
}

}  // namespace

core::Result<fs::path> make_report_folder(const fs::path& folder,
                                          const std::vector<std::string>& operators) {
  std::string names = core::join(operators, "+");
  if (names.size() > kLongestNames) names = fmt::format("{}_operators", operators.size());
  const std::string stem =
      fmt::format("{}_{:%Y%m%d_%H%M%S}", names, fmt::localtime(std::time(nullptr)));
  // A run that was killed wrote into a folder of its own.
  core::remove_left_behind_below(folder / "reports", 1);
  fs::path made = folder / "reports" / stem;
  for (int number = 2; fs::exists(made); ++number)
    made = folder / "reports" / fmt::format("{}_{}", stem, number);
  const auto status = core::make_directories(made);
  if (!status.ok()) return status.error();
  return made;
}

void link_latest(const fs::path& folder) {
  // It is a convenience: a collection goes on without it.
  static_cast<void>(core::replace_link(folder.parent_path() / "latest", folder.filename()).ok());
}

store::CaseRecord record_of(FinishedCase finished, const std::string& backend) {
  store::CaseRecord record{.operator_name = finished.planned->operator_name,
                           .id = finished.planned->id,
                           .outcome = finished.outcome,
                           .reason = finished.reason,
                           .error_class = finished.error_class,
                           .detail = {}};
  if (finished.outcome == store::CaseOutcome::kFailed) {
    record.detail =
        detail_of(finished, backend).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }
  record.rows = std::move(finished.rows);
  return record;
}

core::Status write_reports(const fs::path& folder,
                           const ReportHeading& heading,
                           const Tally& tally,
                           const std::vector<TimeUse>& times) {
  for (const OperatorTally& one : tally.operators())
    ASSAY_TRY(write_errors(folder, heading, tally, one.name));
  ordered_json errors = ordered_json::array();
  for (const store::StoredCase& failure : tally.failures())
    errors.push_back(error_of(failure));
  ordered_json summary = summary_of(heading, tally);
  summary["time"] = time_of(times);
  const ordered_json document = {{"summary", std::move(summary)}, {"errors", errors}};
  return core::write_file(folder / fmt::format("collection_summary_{}.json", heading.backend),
                          text_of(document));
}

model::Book tally_book(const Tally& tally) {
  model::Book book{.title = "Collection"};
  book.tables.push_back(counts_table(tally));
  if (!tally.failures().empty()) book.tables.push_back(failures_table(tally));
  if (!tally.skips().empty()) book.tables.push_back(skips_table(tally));
  return book;
}

core::Result<std::vector<fs::path>> write_public_tables(const store::Store& store,
                                                        const fs::path& folder) {
  std::set<std::string> tables;
  for (const store::Content& content : ASSAY_TRY(store.list()))
    tables.insert(content.table);
  std::vector<fs::path> files;
  for (const std::string& table : tables) {
    ASSAY_TRY(core::check_file_name(table));
    const store::Frame frame =
        ASSAY_TRY(store.table({.table = table}, store::Store::Columns::kPublic));
    for (const fs::path& file : files_of(table, folder)) {
      ASSAY_TRY(store::write_perf_file(table, frame, {}, file));
      files.push_back(file);
    }
  }
  return files;
}

}  // namespace assay::collect
