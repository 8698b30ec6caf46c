#include "store/database/place.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/text.h"
#include "store/database/collection_meta.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNccl = "nccl";

// Beginnings of the tables' names; the longest that fits counts.
constexpr std::array<std::pair<const char*, const char*>, 30> kFamilies{{
    {"attention", "attention"},
    {"context_attention", "attention"},
    {"generation_attention", "attention"},
    {"encoder_attention", "encoder_attention"},
    {"context_mla", "mla"},
    {"generation_mla", "mla"},
    {"mla_context_module", "mla"},
    {"mla_generation_module", "mla"},
    {"wideep_context_mla", "mla"},
    {"wideep_generation_mla", "mla"},
    {"mla_bmm", "mla_bmm"},
    {"dsa_", "sparse_attention"},
    {"dsv4_", "sparse_attention"},
    {"glm5_", "sparse_attention"},
    {"moe", "moe"},
    {"wideep_moe", "moe"},
    {"wideep_context_moe", "moe"},
    {"wideep_generation_moe", "moe"},
    {"wideep_context_mlp", "mlp"},
    {"wideep_generation_mlp", "mlp"},
    {"computescale", "quantize"},
    {"scale_matrix", "quantize"},
    {"gdn", "linear_attention"},
    {"mamba2", "linear_attention"},
    {"mhc_module", "mhc"},
    {"msa_", "msa"},
    {"nccl", "comm"},
    {"oneccl", "comm"},
    {"custom_allreduce", "comm"},
    {"wideep_deepep", "comm"},
}};

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
  // vLLM writes its name in two ways.
  return takes(lower_case(rows.framework), lower_case(content.framework)) &&
         takes(rows.version, content.version) && takes(rows.device, content.device);
}

// What goes into one file.
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

// A folder of a system has tables of one kind of GPU; a backend's are of one framework.
core::Status check_mixture(const std::vector<Content>& contents) {
  std::set<std::string> frameworks;
  std::set<std::string> devices;
  for (const Content& content : contents) {
    frameworks.insert(lower_case(content.framework));
    devices.insert(content.device);
  }
  ASSAY_TRY(check_one(frameworks, "framework", "--framework"));
  return check_one(devices, "device", "--device");
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
    // Names become folders.
    if (content.version.empty() || content.version.find('/') != std::string::npos) {
      return core::Error{fmt::format("{} has rows of the version '{}', which cannot be a folder",
                                     content.table, content.version)};
    }
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
    // What stands in the path: ".../BACKEND/VERSION".
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

std::string family_of(const std::string& table) {
  constexpr std::string_view kEnd = "_perf";
  std::string stem = table;
  if (stem.size() > kEnd.size() && std::string_view(stem).substr(stem.size() - kEnd.size()) == kEnd)
    stem.resize(stem.size() - kEnd.size());
  std::string family = stem;
  std::size_t longest = 0;
  for (const auto& [beginning, name] : kFamilies) {
    const std::string_view start = beginning;
    if (start.size() <= longest || stem.compare(0, start.size(), start) != 0) continue;
    longest = start.size();
    family = name;
  }
  return family;
}

core::Result<std::vector<WrittenFile>> place(const Store& store, const PlaceRequest& request) {
  const std::vector<Content> contents = ASSAY_TRY(selected(store, request.rows));
  ASSAY_TRY(check_mixture(contents));
  const std::vector<Target> targets = ASSAY_TRY(targets_of(contents, request));
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
