#include "store/database/store_export.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "core/text.h"
#include "store/database/collection_meta.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> file_stems(const std::string& table, FileNames names) {
  std::vector<std::string> stems{table};
  if (names == FileNames::kReadme && table == "nccl_perf") stems.emplace_back("comm_perf");
  if (names == FileNames::kReadme && table == "custom_allreduce_perf") {
    stems.emplace_back("custom_all_reduce");
  }
  return stems;
}

core::Status write_table(const std::string& table,
                         const Frame& frame,
                         const ExportRequest& request,
                         std::vector<WrittenFile>& written) {
  ASSAY_TRY(core::check_file_name(table));
  for (const std::string& stem : file_stems(table, request.names)) {
    ASSAY_TRY(core::check_interrupt());
    const std::filesystem::path path = request.folder / (stem + ending_of(request.style.format));
    ASSAY_TRY(write_perf_file(table, frame, request.style, path));
    written.push_back(
        {.path = path, .table = table, .rows = static_cast<std::int64_t>(frame.num_rows())});
  }
  return {};
}

constexpr const char* kNccl = "nccl";

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

bool fits(const Content& content, const Selection& rows) {
  const auto takes = [](const std::string& wanted, const std::string& has) {
    return wanted.empty() || wanted == has;
  };
  // vLLM writes its name in two ways, so case makes no difference.
  return takes(lower_case(rows.framework), lower_case(content.framework)) &&
         takes(rows.version, content.version) && takes(rows.device, content.device);
}

// One file to write, with the table, framework and version of its rows.
struct Target {
  std::string table;
  std::string framework;
  std::string version;
  fs::path path;
  std::string collected_at;
};

core::Status check_one(const std::set<std::string>& values, const char* what, const char* option) {
  if (values.size() == 1) return {};
  const std::vector<std::string> names(values.begin(), values.end());
  return core::Error{fmt::format("the rows are of {} {}s ({}); choose one with {}", values.size(),
                                 what, core::join(names, ", "), option)};
}

// A system's folder holds tables of one kind of GPU, and a backend's folder those of one framework.
core::Status check_mixture(const std::vector<Content>& contents) {
  std::set<std::string> frameworks;
  std::set<std::string> devices;
  for (const Content& content : contents) {
    frameworks.insert(lower_case(content.framework));
    devices.insert(content.device);
  }
  ASSAY_TRY(check_one(frameworks, "framework", "--framework"));
  return check_one(devices, "device", "--device-name");
}

fs::path path_of(const Content& content, const PlaceRequest& request) {
  const std::string own = request.backend.empty() ? lower_case(content.framework) : request.backend;
  const std::string backend = content.table == "nccl_perf" ? kNccl : own;
  const fs::path data = request.systems / "data" / request.system;
  if (request.layout == PlaceLayout::kFlat) {
    return data / backend / content.version / (content.table + ending_of(FileFormat::kCsv));
  }
  return data / family_of(content.table) / backend / content.version /
         (content.table + ending_of(FileFormat::kParquet));
}

core::Result<std::vector<Content>> selected(const Store& store, const Selection& rows) {
  std::vector<Content> contents = ASSAY_TRY(store.list(rows.points));
  contents.erase(std::remove_if(contents.begin(), contents.end(),
                                [&](const Content& content) { return !fits(content, rows); }),
                 contents.end());
  if (contents.empty()) return no_rows(rows);
  return contents;
}

core::Result<std::vector<Target>> targets_of(const std::vector<Content>& contents,
                                             const PlaceRequest& request) {
  std::vector<Target> targets;
  for (const Content& content : contents) {
    for (const std::string& name : {content.table, content.framework, content.version})
      ASSAY_TRY(core::check_file_name(name));
    const fs::path path = path_of(content, request);
    const auto same = std::find_if(targets.begin(), targets.end(),
                                   [&](const Target& target) { return target.path == path; });
    if (same == targets.end()) {
      targets.push_back({.table = content.table,
                         .framework = content.framework,
                         .version = content.version,
                         .path = path,
                         .collected_at = content.last_at});
    } else if (same->framework != content.framework) {
      return core::Error{fmt::format("rows of {} and of {} would both go to '{}'", same->framework,
                                     content.framework, path.string())};
    } else {
      same->collected_at = std::max(same->collected_at, content.last_at);
    }
  }
  return targets;
}

core::Status check_existing(const std::vector<Target>& targets, Existing existing) {
  if (existing == Existing::kReplace) return {};
  for (const Target& target : targets) {
    std::error_code code;
    if (!fs::exists(target.path, code)) continue;
    return core::Error{
        fmt::format("'{}' is there already; nothing was written. --force replaces it and others",
                    target.path.string())};
  }
  return {};
}

core::Status write_metas(const std::vector<Target>& targets,
                         const PlaceRequest& request,
                         std::vector<WrittenFile>& written) {
  std::map<fs::path, std::vector<PlacedTable>> folders;
  std::map<fs::path, std::pair<std::string, std::string>> runtimes;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Target& target = targets[i];
    const fs::path folder = target.path.parent_path();
    folders[folder].push_back(
        {.table = target.table, .rows = written[i].rows, .collected_at = target.collected_at});
    // The file names the runtime as the path does: ".../BACKEND/VERSION".
    runtimes[folder] = {folder.parent_path().filename().string(), target.version};
  }
  if (request.layout == PlaceLayout::kFlat) return {};
  for (const auto& [folder, tables] : folders) {
    const fs::path path = folder / kCollectionMetaName;
    const auto& runtime = runtimes.at(folder);
    const std::string text =
        ASSAY_TRY(collection_meta_text(path, runtime.first, runtime.second, tables));
    ASSAY_TRY(core::write_file(path, text));
    written.push_back({.path = path, .table = "", .rows = 0});
  }
  return {};
}

}  // namespace

core::Error no_rows(const Selection& rows) {
  const char* hint = rows.points == Points::kGrid ? " of a grid (--points all: of any)" : "";
  return core::Error{fmt::format("the store has no such rows{}; see 'assay store list'", hint)};
}

const char* ending_of(FileFormat format) {
  return format == FileFormat::kCsv ? ".txt" : ".parquet";
}

core::Result<std::vector<WrittenFile>> export_tables(const Store& store,
                                                     const ExportRequest& request) {
  const bool asked = !request.tables.empty();
  const std::vector<std::string> tables = asked ? request.tables : ASSAY_TRY(store.tables());
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(request.folder));
  std::vector<WrittenFile> written;
  for (const std::string& table : tables) {
    Selection selection = request.rows;
    selection.table = table;
    const Frame frame = ASSAY_TRY(store.table(selection, Store::Columns::kPublic));
    if (frame.num_rows() > 0) {
      ASSAY_TRY(write_table(table, frame, request, written));
    } else if (asked) {
      return core::Error{
          fmt::format("no rows of {} are of this framework, version and device", table)};
    }
  }
  if (written.empty()) return no_rows(request.rows);
  return written;
}

std::string family_of(const std::string& table) {
  constexpr std::string_view kEnding = "_perf";
  if (const TableSpec* spec = find_table_spec(table)) return spec->family;
  const bool has_ending = table.size() > kEnding.size() && table.ends_with(kEnding);
  return has_ending ? table.substr(0, table.size() - kEnding.size()) : table;
}

core::Result<std::vector<WrittenFile>> place(const Store& store, const PlaceRequest& request) {
  const std::vector<Content> contents = ASSAY_TRY(selected(store, request.rows));
  ASSAY_TRY(check_mixture(contents));
  const std::vector<Target> targets = ASSAY_TRY(targets_of(contents, request));
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(request.systems));
  ASSAY_TRY(check_existing(targets, request.existing));
  const PerfFileStyle style{
      .format = request.layout == PlaceLayout::kFlat ? FileFormat::kCsv : FileFormat::kParquet,
      .labels = request.labels};
  std::vector<WrittenFile> written;
  for (const Target& target : targets) {
    ASSAY_TRY(core::check_interrupt());
    const Frame frame = ASSAY_TRY(store.table({.table = target.table,
                                               .framework = target.framework,
                                               .version = target.version,
                                               .device = request.rows.device,
                                               .points = request.rows.points},
                                              Store::Columns::kPublic));
    ASSAY_TRY(core::make_directories(target.path.parent_path()));
    ASSAY_TRY(write_perf_file(target.table, frame, style, target.path));
    written.push_back({.path = target.path,
                       .table = target.table,
                       .rows = static_cast<std::int64_t>(frame.num_rows())});
  }
  ASSAY_TRY(write_metas(targets, request, written));
  return written;
}

}  // namespace assay::store
