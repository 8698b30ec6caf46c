#include "store/database/store_export.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/output_file.h"
#include "core/text.h"
#include "store/database/collection_meta.h"
#include "store/database/power_between.h"
#include "store/database/store_key.h"
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
  Frame rows = {};
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

// The name under which the planner looks for the rows.
core::Result<std::string> backend_of(const std::string& framework, const PlaceRequest& request) {
  const std::string backend = request.backend.empty() ? lower_case(framework) : request.backend;
  if (is_planner_backend(backend)) return backend;
  return core::Error{
      fmt::format("no planner looks for tables of a backend '{}'; choose the one in "
                  "whose name it shall find them with --backend: {}",
                  backend, planner_backends())};
}

bool is_nccl(const Content& content) {
  return content.table == "nccl_perf";
}

// Returns the version whose rows are the latest, of one table or, without a name, of all but
// NCCL's.
std::string latest_version(const std::vector<Content>& contents, const std::string& table) {
  const Content* latest = nullptr;
  for (const Content& content : contents) {
    const bool counts = table.empty() ? !is_nccl(content) : content.table == table;
    const auto age = [](const Content& one) { return std::tie(one.last_at, one.version); };
    if (counts && (latest == nullptr || age(content) > age(*latest))) latest = &content;
  }
  return latest == nullptr ? "" : latest->version;
}

fs::path path_of(const Content& content,
                 const PlaceRequest& request,
                 const std::string& backend,
                 const std::string& version) {
  const fs::path data = request.systems / "data" / request.system;
  const fs::path family =
      request.layout == PlaceLayout::kFamily ? data / family_of(content.table) : data;
  const fs::path folder =
      is_nccl(content) ? family / kNccl / content.version
                       : family / backend / version_folder(backend, content.framework, version);
  const FileFormat format =
      request.layout == PlaceLayout::kFamily ? FileFormat::kParquet : FileFormat::kCsv;
  return folder / (content.table + ending_of(format));
}

// Of rows of another framework the planner can use those of the tables that planner_tables() names.
bool is_read(const std::string& table, bool is_own) {
  return is_own || find_planner_table(table) != nullptr;
}

void leave_out(const Content& content, const std::string& reason, std::vector<LeftOut>& left_out) {
  const auto same = std::find_if(left_out.begin(), left_out.end(), [&](const LeftOut& other) {
    return other.table == content.table && other.reason == reason;
  });
  if (same != left_out.end()) {
    same->rows += content.rows;
    return;
  }
  left_out.push_back({.table = content.table, .reason = reason, .rows = content.rows});
}

const char* why_not_read(const std::string& table) {
  return find_table_spec(table) == nullptr
             ? "the planner has no such table"
             : "the planner does not find these rows by assay's kernels";
}

core::Result<std::vector<Content>> selected(const Store& store, const Selection& rows) {
  std::vector<Content> contents = ASSAY_TRY(store.list(rows.points));
  contents.erase(std::remove_if(contents.begin(), contents.end(),
                                [&](const Content& content) { return !fits(content, rows); }),
                 contents.end());
  if (contents.empty()) return no_rows(rows);
  return contents;
}

// The planner reads one version of a backend. Rows that go by its name, though another framework
// measured them, lie in one folder for that reason, of each table those of its latest version.
core::Result<std::vector<Target>> targets_of(const std::vector<Content>& contents,
                                             const PlaceRequest& request,
                                             Placed& placed) {
  std::vector<Target> targets;
  for (const Content& content : contents) {
    for (const std::string& name : {content.table, content.framework, content.version})
      ASSAY_TRY(core::check_file_name(name));
    const bool is_own = lower_case(content.framework) == placed.backend;
    if (!is_read(content.table, is_own)) {
      leave_out(content, why_not_read(content.table), placed.left_out);
      continue;
    }
    const std::string latest = latest_version(contents, content.table);
    if (!is_own && !is_nccl(content) && content.version != latest) {
      leave_out(
          content,
          fmt::format("of version {}, while there are later rows of {}", content.version, latest),
          placed.left_out);
      continue;
    }
    const std::string folder = is_own ? content.version : latest_version(contents, "");
    const fs::path path = path_of(content, request, placed.backend, folder);
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

PerfFileStyle style_of(const PlaceRequest& request) {
  return {
      .format = request.layout == PlaceLayout::kFamily ? FileFormat::kParquet : FileFormat::kCsv,
      .labels = request.labels};
}

// A file that holds the same already is no obstacle: NCCL's table is the same for every backend.
core::Status check_existing(const std::vector<Target>& targets, const PlaceRequest& request) {
  if (request.existing == Existing::kReplace) return {};
  for (const Target& target : targets) {
    std::error_code code;
    if (!fs::exists(target.path, code)) continue;
    const auto there = core::read_file(target.path);
    const auto made = format_perf_file(target.table, target.rows, style_of(request));
    if (there.ok() && made.ok() && there.value() == made.value()) continue;
    return core::Error{
        fmt::format("'{}' is there already; nothing was written. --force replaces it and others",
                    target.path.string())};
  }
  return {};
}

// Adds the state of the cache as a column to the rows of a selection, where they have one.
core::Result<Frame> with_cache_state(const Store& store, const Selection& selection, Frame rows) {
  const Frame more = ASSAY_TRY(store.table(selection, Store::Columns::kWithStatistics));
  const FrameColumn* state = more.find(kL2Column);
  if (state != nullptr && state->size() == rows.num_rows()) rows.columns.push_back(*state);
  return rows;
}

core::Result<Frame> rows_of(const Store& store,
                            const Target& target,
                            Points points,
                            const std::string& device) {
  const Selection selection{.table = target.table,
                            .framework = target.framework,
                            .version = target.version,
                            .device = device,
                            .points = points};
  Frame rows = ASSAY_TRY(store.table(selection, Store::Columns::kPublic));
  return with_cache_state(store, selection, std::move(rows));
}

void drop_column(Frame& rows, std::string_view name) {
  const auto is_it = [&](const FrameColumn& column) { return column.name == name; };
  rows.columns.erase(std::remove_if(rows.columns.begin(), rows.columns.end(), is_it),
                     rows.columns.end());
}

// Gives the rows without power one by a model, or that between their neighbours. `key` tells one
// row's work from another's; rows that have a power have a source of it.
Frame with_filled_power(const std::string& table,
                        const std::vector<std::string_view>& key,
                        const RowLoads& loads,
                        Frame rows,
                        std::vector<PowerFit>& fits) {
  return with_power_between(key, with_modelled_power(table, loads, std::move(rows), fits));
}

// Returns the rows of each device, framework and version: the power of some tells nothing of that
// of others.
std::vector<Frame> frames_by_program(const Frame& rows) {
  std::vector<TextColumn> names;
  for (const std::string_view name : {"device", "framework", "version"}) {
    if (const FrameColumn* column = rows.find(name)) names.push_back(as_text(*column));
  }
  std::map<std::vector<std::uint32_t>, std::vector<std::size_t>> rows_of;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    std::vector<std::uint32_t> program;
    for (const TextColumn& column : names)
      program.push_back(column.codes[row]);
    rows_of[program].push_back(row);
  }
  std::vector<Frame> frames;
  for (const auto& [program, numbers] : rows_of)
    frames.push_back(picked_rows(rows, numbers));
  return frames;
}

// Returns what tells rows apart that no planner has chosen from: all but what was measured.
std::vector<std::string_view> names_of_work(const Frame& rows) {
  std::vector<std::string_view> names;
  for (const FrameColumn& column : rows.columns) {
    if (!is_value_column(column.name) && column.name != kPowerSourceColumn)
      names.emplace_back(column.name);
  }
  return names;
}

// Gives rows without power that of others of their own program.
core::Result<Frame> with_power_of_programs(const Store& store,
                                           const Selection& selection,
                                           const RowLoads& loads,
                                           Frame rows,
                                           std::vector<PowerFit>& fits) {
  rows = with_power_sources(std::move(rows));
  if (rows.find(kPowerSourceColumn) == nullptr) return rows;
  rows = ASSAY_TRY(with_cache_state(store, selection, std::move(rows)));
  const std::vector<std::string_view> key = names_of_work(rows);
  std::vector<Frame> frames = frames_by_program(rows);
  for (Frame& frame : frames)
    frame = with_filled_power(selection.table, key, loads, std::move(frame), fits);
  Frame filled = frames.size() == 1 ? std::move(frames.front()) : joined_frames(frames);
  drop_column(filled, kL2Column);
  return filled;
}

// The rows of a file. A table that is not public has no readers who refuse gaps.
core::Result<Frame> rows_to_export(const Store& store,
                                   const std::string& table,
                                   const ExportRequest& request,
                                   Exported& exported) {
  Selection selection = request.rows;
  selection.table = table;
  Frame rows = ASSAY_TRY(store.table(selection, Store::Columns::kPublic));
  if (find_planner_table(table) != nullptr)
    rows = ASSAY_TRY(
        with_power_of_programs(store, selection, request.loads, std::move(rows), exported.power));
  if (find_table_spec(table) == nullptr) return rows;
  return with_power_of_all(table, std::move(rows), exported.left_out);
}

// Fills in the rows of a file.
core::Status read_rows(const Store& store,
                       const PlaceRequest& request,
                       Target& target,
                       Placed& placed) {
  target.rows = ASSAY_TRY(rows_of(store, target, request.rows.points, request.rows.device));
  target.rows = with_absent_sizes(std::move(target.rows));
  const PlannerTable* table = find_planner_table(target.table);
  const bool is_own = lower_case(target.framework) == placed.backend;
  if (table != nullptr && !is_own) {
    if (request.rows.points == Points::kGrid && !table->curve.empty()) {
      const Frame all = ASSAY_TRY(rows_of(store, target, Points::kAll, request.rows.device));
      target.rows = with_points_of_curves(*table, target.rows, all);
    }
    target.rows = with_names_of_steps(*table, std::move(target.rows));
    target.rows = rows_for_planner(*table, target.rows, placed.left_out);
    target.rows = with_filled_power(target.table, table->key, request.loads,
                                    with_power_sources(std::move(target.rows)), placed.power);
  } else {
    target.rows = rows_without_flaws(target.table, target.rows, placed.left_out);
  }
  drop_column(target.rows, kL2Column);
  target.rows = with_power_of_all(target.table, std::move(target.rows), placed.left_out);
  return {};
}

PlacedTable described(const Target& target) {
  PlacedTable table{.table = target.table,
                    .version = target.version,
                    .rows = static_cast<std::int64_t>(target.rows.num_rows()),
                    .collected_at = target.collected_at};
  const FrameColumn* kernels = target.rows.find(kMeasuredKernelColumn);
  if (kernels == nullptr) kernels = target.rows.find("kernel_source");
  std::set<std::string> names;
  for (std::size_t row = 0; kernels != nullptr && row < kernels->size(); ++row)
    if (!kernels->is_missing(row)) names.insert(value_text(kernels->value(row)));
  table.kernels.assign(names.begin(), names.end());
  return table;
}

// Adds the tables that are composed, each beside the first of the rows of its family. A table that
// the store has itself stays as it is.
core::Status add_composed(const PlaceRequest& request,
                          std::vector<Target>& targets,
                          Placed& placed) {
  if (!request.compose || lower_case(placed.framework) == placed.backend) return {};
  std::vector<RowsToPlace> rows;
  for (const Target& target : targets)
    rows.push_back({.table = target.table, .rows = target.rows});
  for (ComposedTable& composed : ASSAY_TRY(request.compose(rows))) {
    const auto is_same = [&](const Target& target) { return target.table == composed.table; };
    const auto is_near = [&](const Target& target) {
      return family_of(target.table) == family_of(composed.table);
    };
    const auto near = std::find_if(targets.begin(), targets.end(), is_near);
    if (near == targets.end() || std::any_of(targets.begin(), targets.end(), is_same)) continue;
    Target made = *near;
    made.table = composed.table;
    made.path.replace_filename(composed.table + near->path.extension().string());
    made.rows = with_power_of_all(composed.table, std::move(composed.rows), placed.left_out);
    targets.push_back(std::move(made));
    placed.left_out.insert(placed.left_out.end(), composed.left_out.begin(),
                           composed.left_out.end());
  }
  return {};
}

struct MetaFile {
  fs::path path;
  std::string text;
};

// What lies beside the tables of each folder. Only the layout of families has it.
core::Result<std::vector<MetaFile>> metas_of(const std::vector<Target>& targets,
                                             const PlaceRequest& request) {
  std::vector<MetaFile> metas;
  if (request.layout == PlaceLayout::kFlat) return metas;
  std::map<fs::path, PlacedFolder> folders;
  for (const Target& target : targets) {
    PlacedFolder& folder = folders[target.path.parent_path()];
    // NCCL's version is no version of what measured it.
    folder.framework = target.table == "nccl_perf" ? kNccl : target.framework;
    folder.collector = target.framework;
    folder.version = std::max(folder.version, target.version);
    folder.tables.push_back(described(target));
  }
  for (const auto& [path, folder] : folders) {
    const fs::path file = path / kCollectionMetaName;
    auto text = collection_meta_text(file, folder);
    // A file that is no such description has nothing to say about other tables.
    if (!text.ok() && request.existing == Existing::kReplace) {
      text = collection_meta_text({}, folder);
    }
    if (!text.ok()) return text.error();
    metas.push_back({file, std::move(text).value()});
  }
  return metas;
}

core::Status write_tables(const std::vector<Target>& targets,
                          const PlaceRequest& request,
                          Placed& placed) {
  const PerfFileStyle style = style_of(request);
  for (const Target& target : targets) {
    ASSAY_TRY(core::check_interrupt());
    ASSAY_TRY(core::make_directories(target.path.parent_path()));
    ASSAY_TRY(write_perf_file(target.table, target.rows, style, target.path));
    if (target.rows.find(kPowerColumns.front()) == nullptr)
      placed.without_power.push_back(target.table);
    placed.files.push_back({.path = target.path,
                            .table = target.table,
                            .rows = static_cast<std::int64_t>(target.rows.num_rows())});
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

core::Result<Exported> export_tables(const Store& store, const ExportRequest& request) {
  const bool asked = !request.tables.empty();
  const std::vector<std::string> tables = asked ? request.tables : ASSAY_TRY(store.tables());
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(request.folder));
  Exported exported;
  for (const std::string& table : tables) {
    const Frame frame = ASSAY_TRY(rows_to_export(store, table, request, exported));
    if (frame.num_rows() > 0) {
      ASSAY_TRY(write_table(table, frame, request, exported.files));
    } else if (asked) {
      return core::Error{
          fmt::format("no rows of {} are of this framework, version and device", table)};
    }
  }
  if (exported.files.empty()) return no_rows(request.rows);
  return exported;
}

std::string family_of(const std::string& table) {
  constexpr std::string_view kEnding = "_perf";
  if (const TableSpec* spec = find_table_spec(table)) return spec->family;
  const bool has_ending = table.size() > kEnding.size() && table.ends_with(kEnding);
  return has_ending ? table.substr(0, table.size() - kEnding.size()) : table;
}

std::string version_folder(const std::string& backend,
                           const std::string& framework,
                           const std::string& version) {
  return lower_case(framework) == backend ? version : framework + '-' + version;
}

core::Result<Placed> place(const Store& store, const PlaceRequest& request) {
  const std::vector<Content> contents = ASSAY_TRY(selected(store, request.rows));
  ASSAY_TRY(check_mixture(contents));
  Placed placed{.framework = contents.front().framework, .device = contents.front().device};
  placed.backend = ASSAY_TRY(backend_of(placed.framework, request));
  std::vector<Target> targets = ASSAY_TRY(targets_of(contents, request, placed));
  for (Target& target : targets) {
    ASSAY_TRY(core::check_interrupt());
    ASSAY_TRY(read_rows(store, request, target, placed));
    const bool of_nccl = target.table == "nccl_perf";
    if (of_nccl) placed.nccl_version = target.version;
    if (!of_nccl) placed.version = target.path.parent_path().filename().string();
  }
  ASSAY_TRY(add_composed(request, targets, placed));
  const auto is_empty = [](const Target& target) { return target.rows.num_rows() == 0; };
  targets.erase(std::remove_if(targets.begin(), targets.end(), is_empty), targets.end());
  if (targets.empty()) return core::Error{"the planner can read none of the store's rows"};
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(request.systems));
  ASSAY_TRY(check_existing(targets, request));
  const std::vector<MetaFile> metas = ASSAY_TRY(metas_of(targets, request));
  ASSAY_TRY(write_tables(targets, request, placed));
  for (const MetaFile& meta : metas) {
    ASSAY_TRY(core::write_file(meta.path, meta.text));
    placed.files.push_back({.path = meta.path, .table = "", .rows = 0});
  }
  return placed;
}

}  // namespace assay::store
