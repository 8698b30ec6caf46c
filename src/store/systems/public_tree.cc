#include "store/systems/public_tree.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/files.h"
#include "core/text.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReuse = "reuse.yaml";

// Names of folders beside those of engines: libraries that all engines call.
bool is_library(std::string_view backend) {
  return backend == "nccl" || backend == "oneccl";
}

enum class EntryKind { kFolder, kFile };

// The names of one kind in a folder, sorted; none if it is no folder or may not be entered. What
// the folder itself tells of its entries is believed, since asking each of hundreds takes
// milliseconds.
std::vector<fs::path> names_in(const fs::path& folder, EntryKind kind) {
  std::vector<fs::path> names;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    std::error_code unknown;
    if (it->is_directory(unknown) == (kind == EntryKind::kFolder))
      names.push_back(it->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_table_file(const fs::path& name) {
  const fs::path kind = name.extension();
  return name.stem().string().ends_with("_perf") &&
         (kind == ".parquet" || kind == ".csv" || kind == ".txt");
}

// What there is instead of a word that there is not.
std::string instead_of(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = core::nearest(word, known);
  return fmt::format("{}it has {}", near.empty() ? "" : "did you mean " + near + "? ",
                     core::join(known, ", "));
}

TreeSource tree_source(const auto& file, TreeOrigin origin, const std::string& reason) {
  return {.file = file.path,
          .backend = file.backend,
          .version = file.version,
          .origin = origin,
          .reason = reason};
}

bool is_same_version(const std::string& version, const std::string& asked) {
  const auto place = Version::parse(asked);
  return version == asked || (place && Version::parse(version) == place);
}

// Files by their version, ascending, around the asked one.
template <class File>
void add_by_distance(const std::vector<const File*>& files,
                     const Version& asked,
                     const std::string& version,
                     std::vector<TreeSource>& sources) {
  const char* nearest = "the nearest ";
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (!(*file)->place || *(*file)->place >= asked) continue;
    sources.push_back(tree_source(**file, TreeOrigin::kEarlier,
                                  fmt::format("{}earlier version than {}", nearest, version)));
    nearest = "an ";
  }
  nearest = "the nearest ";
  for (const File* file : files) {
    if (!file->place || *file->place <= asked) continue;
    sources.push_back(tree_source(*file, TreeOrigin::kLater,
                                  fmt::format("{}later version than {}", nearest, version)));
    nearest = "a ";
  }
  for (const File* file : files) {
    if (!file->place)
      sources.push_back(tree_source(*file, TreeOrigin::kNewest,
                                    fmt::format("{} has no place among versions", file->version)));
  }
}

template <class File>
void add_newest_first(const std::vector<const File*>& files,
                      const std::string& version,
                      std::vector<TreeSource>& sources) {
  const std::string why = version.empty()
                              ? "no version was asked for"
                              : fmt::format("'{}' has no place among versions", version);
  const char* which = "this is the newest";
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    sources.push_back(tree_source(**file, TreeOrigin::kNewest, fmt::format("{}; {}", why, which)));
    which = "this is an older one";
  }
}

core::Result<std::string> field_of(const YAML::Node& entry, const char* name) {
  const YAML::Node field = entry[name];
  if (field && field.IsScalar()) return field.Scalar();
  return core::Error{
      fmt::format("line {}: an entry of 'reuse' has no {}", entry.Mark().line + 1, name)};
}

core::Result<std::vector<TreeReuse>> reuses_in(const YAML::Node& root) {
  std::vector<TreeReuse> reuses;
  if (!root.IsMap() || !root["reuse"] || !root["reuse"].IsSequence())
    return core::Error{"no list 'reuse'"};
  for (const YAML::Node& entry : root["reuse"]) {
    if (!entry.IsMap()) {
      return core::Error{
          fmt::format("line {}: an entry of 'reuse' is no mapping", entry.Mark().line + 1)};
    }
    TreeReuse reuse{.table = table_name(ASSAY_TRY(field_of(entry, "table"))),
                    .from_version = ASSAY_TRY(field_of(entry, "from_version")),
                    .reason = {}};
    if (const YAML::Node reason = entry["reason"]; reason && reason.IsScalar())
      reuse.reason = reason.Scalar();
    reuses.push_back(std::move(reuse));
  }
  return reuses;
}

core::Error no_such_system(const fs::path& root, const std::string& system) {
  if (!core::is_folder(root))
    return core::Error{
        fmt::format("{}: no such folder; a tree of tables has SYSTEM.yaml files", root.string())};
  const std::vector<std::string> systems = PublicTree::systems_of(root);
  if (!systems.empty()) {
    return core::Error{fmt::format("{} has no system '{}'; {}", root.string(), system,
                                   instead_of(system, systems))};
  }
  const bool is_above = !PublicTree::systems_of(root / "systems").empty();
  const bool is_below =
      core::is_regular_file(root.parent_path() / (root.filename().string() + ".yaml"));
  return core::Error{fmt::format("{} has no SYSTEM.yaml, so it is no tree of tables{}",
                                 root.string(),
                                 is_above   ? "; its folder 'systems' is one"
                                 : is_below ? "; the folder that it lies in is one"
                                            : "")};
}

}  // namespace

core::Result<std::vector<TreeReuse>> parse_reuse(std::string_view yaml, const std::string& called) {
  try {
    auto reuses = reuses_in(YAML::Load(std::string(yaml)));
    if (!reuses.ok()) return reuses.error().context(called);
    return reuses;
  } catch (const YAML::Exception& error) {
    return core::Error{fmt::format("{}: line {}: {}", called, error.mark.line + 1, error.msg)};
  }
}

std::vector<std::string> PublicTree::systems_of(const fs::path& root) {
  std::vector<std::string> systems;
  for (const fs::path& name : names_in(root, EntryKind::kFile)) {
    if (name.extension() == ".yaml") systems.push_back(name.stem().string());
  }
  return systems;
}

core::Result<PublicTree> PublicTree::open(const fs::path& root, const std::string& system) {
  const fs::path yaml = root / (system + ".yaml");
  if (!core::check_file_name(system).ok() || !core::is_regular_file(yaml))
    return no_such_system(root, system);
  PublicTree tree;
  tree.root_ = root;
  tree.facts_ = ASSAY_TRY(read_system_facts(yaml));
  if (!tree.facts_.data_dir.empty())
    tree.looked_in_.push_back((root / tree.facts_.data_dir).lexically_normal());
  for (const fs::path& usual : {root / "data" / system, root / system}) {
    if (tree.looked_in_.empty() || usual.lexically_normal() != tree.looked_in_.front())
      tree.looked_in_.push_back(usual);
  }
  const auto folder = std::find_if(tree.looked_in_.begin(), tree.looked_in_.end(), core::is_folder);
  if (folder != tree.looked_in_.end()) tree.list_tables(*folder);
  return tree;
}

void PublicTree::list_tables(const fs::path& folder) {
  for (const fs::path& family : names_in(folder, EntryKind::kFolder)) {
    for (const fs::path& backend : names_in(folder / family, EntryKind::kFolder)) {
      for (const fs::path& version : names_in(folder / family / backend, EntryKind::kFolder))
        list_version(folder / family / backend / version, family, backend, version);
    }
  }
  std::stable_sort(files_.begin(), files_.end(), [](const File& a, const File& b) {
    return std::tie(a.backend, a.place, a.version) < std::tie(b.backend, b.place, b.version);
  });
}

void PublicTree::list_version(const fs::path& folder,
                              const std::string& family,
                              const std::string& backend,
                              const std::string& version) {
  for (const fs::path& name : names_in(folder, EntryKind::kFile)) {
    if (name == kReuse) reuses_.push_back(folder / name);
    if (!is_table_file(name)) continue;
    const std::string table = name.stem().string();
    // Names are sorted, so that the CSV of a table comes before its Parquet, which is preferred.
    if (!files_.empty() && files_.back().table == table &&
        files_.back().path.parent_path() == folder) {
      if (name.extension() == ".parquet") files_.back().path = folder / name;
      continue;
    }
    files_.push_back({.family = family,
                      .backend = backend,
                      .version = version,
                      .place = Version::parse(version),
                      .table = table,
                      .path = folder / name});
  }
}

std::vector<std::string> PublicTree::backends() const {
  std::set<std::string> names;
  for (const File& file : files_) {
    if (!is_library(file.backend)) names.insert(file.backend);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> PublicTree::tables() const {
  std::set<std::string> names;
  for (const File& file : files_)
    names.insert(file.table);
  return {names.begin(), names.end()};
}

std::vector<std::string> PublicTree::versions(const std::string& backend,
                                              const std::string& table) const {
  std::vector<std::string> versions;
  for (const File& file : files_) {
    const bool is_asked = file.backend == backend && (table.empty() || file.table == table);
    if (is_asked && (versions.empty() || versions.back() != file.version))
      versions.push_back(file.version);
  }
  return versions;
}

std::string PublicTree::library_of(const std::string& table) const {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const File& file) {
    return file.table == table && is_library(file.backend);
  });
  return found == files_.end() ? "" : found->backend;
}

std::string PublicTree::library_version(const std::string& library) const {
  return library == "nccl" ? facts_.nccl_version : facts_.oneccl_version;
}

core::Status PublicTree::check_asked(const std::string& backend, const std::string& table) const {
  if (files_.empty()) {
    std::vector<std::string> folders;
    for (const fs::path& folder : looked_in_)
      folders.push_back(folder.string());
    return core::Error{fmt::format("{} has no tables of {}: looked in {}", root_.string(),
                                   facts_.name, core::join(folders, " and "))};
  }
  const std::vector<std::string> known = backends();
  if (!is_library(backend) && std::find(known.begin(), known.end(), backend) == known.end()) {
    return core::Error{fmt::format("{} has no tables of '{}' for {}; {}", root_.string(), backend,
                                   facts_.name, instead_of(backend, known))};
  }
  const std::vector<std::string> names = tables();
  if (std::find(names.begin(), names.end(), table) != names.end()) return {};
  return core::Error{fmt::format("{} has no {} for {}; {}", root_.string(), table, facts_.name,
                                 instead_of(table, names))};
}

std::vector<const PublicTree::File*> PublicTree::files_of(const std::string& backend,
                                                          const std::string& table) const {
  std::vector<const File*> files;
  for (const File& file : files_) {
    if (file.backend == backend && file.table == table) files.push_back(&file);
  }
  return files;
}

core::Status PublicTree::add_exact_and_declared(const std::string& backend,
                                                const std::string& version,
                                                const std::string& table,
                                                std::vector<TreeSource>& sources) const {
  const auto files = files_of(backend, table);
  const auto find = [&](const std::string& text) -> const File* {
    const auto found = std::find_if(files.begin(), files.end(), [&](const File* file) {
      return is_same_version(file->version, text);
    });
    return found == files.end() ? nullptr : *found;
  };
  const File* exact = find(version);
  if (exact != nullptr)
    sources.push_back(tree_source(*exact, TreeOrigin::kExact, "the version that was asked for"));
  for (const fs::path& path : reuses_) {
    const fs::path folder = path.parent_path();
    if (folder.parent_path().filename() != backend ||
        !is_same_version(folder.filename().string(), version))
      continue;
    for (const TreeReuse& reuse :
         ASSAY_TRY(parse_reuse(ASSAY_TRY(core::read_file(path)), path.string()))) {
      const File* donor = reuse.table == table ? find(reuse.from_version) : nullptr;
      if (donor == nullptr || donor == exact) continue;
      sources.push_back(
          tree_source(*donor, TreeOrigin::kDeclared,
                      fmt::format("{} {} reuses it: {}", backend, version,
                                  reuse.reason.empty() ? "no reason given" : reuse.reason)));
    }
  }
  return {};
}

core::Result<std::vector<TreeSource>> PublicTree::sources(const std::string& backend,
                                                          const std::string& version,
                                                          const std::string& table) const {
  const std::string name = table_name(table);
  ASSAY_TRY(check_asked(backend, name));
  const std::string library = library_of(name);
  const std::string& of = library.empty() ? backend : library;
  const std::string& asked =
      library.empty() || library == backend ? version : library_version(library);
  std::vector<TreeSource> sources;
  ASSAY_TRY(add_exact_and_declared(of, asked, name, sources));
  const auto is_there = [known = sources](const File* file) {
    return std::any_of(known.begin(), known.end(),
                       [&](const TreeSource& source) { return source.file == file->path; });
  };
  std::vector<const File*> others = files_of(of, name);
  std::erase_if(others, is_there);
  if (const auto place = Version::parse(asked)) {
    add_by_distance(others, *place, asked, sources);
  } else {
    add_newest_first(others, asked, sources);
  }
  if (!library.empty()) return sources;
  for (const std::string& other : backends()) {
    if (other == of) continue;
    const auto files = files_of(other, name);
    for (auto file = files.rbegin(); file != files.rend(); ++file)
      sources.push_back(tree_source(**file, TreeOrigin::kOtherBackend,
                                    fmt::format("another engine's, not of {}", of)));
  }
  return sources;
}

}  // namespace assay::store
