// What LoadedLibraries has seen, as facts and warnings.
#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "sweep/loaded_libraries.h"

namespace assay::sweep {
namespace {

constexpr const char* kStatic = "it may be linked statically into PyTorch";

std::string joined(const std::set<std::string>& texts) {
  return core::join(std::vector<std::string>(texts.begin(), texts.end()), ", ");
}

void add_fact(model::Facts& facts, const std::string& item, const std::set<std::string>& values) {
  if (values.empty()) return;
  facts.push_back({.item = item, .value = joined(values)});
}

std::string file_fact(const FileIdentity& identity, const LibraryText& text) {
  const std::string size = fmt::format("{} bytes", identity.size_bytes);
  if (!text.build_id.empty()) return fmt::format("{}, build {}", size, text.build_id);
  return fmt::format("{}, modified {} s after 1970", size, identity.modified_ns / 1'000'000'000);
}

std::string with_version(const std::string& path, const LibraryText& text) {
  return text.version.empty() ? "'" + path + "'"
                              : fmt::format("'{}' (version {})", path, text.version);
}

std::string counted(std::size_t processes) {
  return fmt::format("{} process{}", processes, processes == 1 ? "" : "es");
}

}  // namespace

// "NCCL", "RCCL" or, of a run with both, "NCCL and RCCL".
std::string LoadedLibraries::names() const {
  const auto is_rccl = [](const auto& library) {
    return library.first.find("librccl") != std::string::npos;
  };
  if (std::none_of(libraries_.begin(), libraries_.end(), is_rccl)) return "NCCL";
  if (std::all_of(libraries_.begin(), libraries_.end(), is_rccl)) return "RCCL";
  return "NCCL and RCCL";
}

model::Facts LoadedLibraries::facts() const {
  model::Facts facts;
  std::set<std::string> paths;
  std::set<std::string> versions;
  std::set<std::string> files;
  for (const auto& [path, library] : libraries_) {
    paths.insert(path);
    if (!library.text.version.empty()) versions.insert(library.text.version);
    if (library.identity.inode != 0) files.insert(file_fact(library.identity, library.text));
  }
  if (libraries_.empty() && torch_without_library_) paths = {"none seen: may be linked statically"};
  const std::string name = names();
  add_fact(facts, name + " library", paths);
  add_fact(facts, name + " version", versions);
  add_fact(facts, name + " library file", files);
  add_fact(facts, name + " plugins", plugins_);
  return facts;
}

void LoadedLibraries::add_missing(std::vector<std::string>& warnings) const {
  if (expected_.empty() || !libraries_.empty()) return;
  warnings.push_back(fmt::format(
      "no process was seen to load NCCL or RCCL, but '{}' was expected{}{}", expected_.string(),
      torch_without_library_ ? ": " : "", torch_without_library_ ? kStatic : ""));
}

std::vector<std::string> LoadedLibraries::warnings() const {
  std::vector<std::string> warnings;
  std::set<std::string> described;
  for (const auto& [path, library] : libraries_) {
    described.insert(with_version(path, library.text) + " by " + counted(library.processes));
    if (!library.expected) {
      warnings.push_back(fmt::format("{} was loaded by {}, but '{}' was expected",
                                     with_version(path, library.text), counted(library.processes),
                                     expected_.string()));
    }
    if (library.deleted) {
      warnings.push_back(fmt::format("'{}' was replaced or removed while it was in use", path));
    }
  }
  if (libraries_.size() > 1) {
    warnings.push_back("more than one library for collectives was loaded: " + joined(described));
  }
  add_missing(warnings);
  return warnings;
}

}  // namespace assay::sweep
