#include "store/database/collection_meta.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <exception>

#include "core/files.h"

namespace assay::store {
namespace {

// yaml-cpp reports damage by exceptions.
core::Result<YAML::Node> load(const std::filesystem::path& path) {
  const std::string text = ASSAY_TRY(core::read_file(path));
  try {
    YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return core::Error{path.string() + ": no mapping of names to values"};
    return root;
  } catch (const std::exception& error) {
    return core::Error{fmt::format("{}: not YAML: {}", path.string(), error.what())};
  }
}

void add_facts(const YAML::Node& node,
               const std::string& name,
               std::map<std::string, std::string>& facts) {
  if (node.IsScalar()) facts[name] = node.Scalar();
  if (!node.IsMap()) return;
  for (const auto& item : node) {
    if (!item.first.IsScalar()) continue;
    add_facts(item.second, name.empty() ? item.first.Scalar() : name + '.' + item.first.Scalar(),
              facts);
  }
}

YAML::Node described(const PlacedTable& table) {
  YAML::Node node;
  node["collected_at"] = table.collected_at;
  node["rows"] = table.rows;
  node["status"] = "complete";
  return node;
}

}  // namespace

core::Result<std::map<std::string, std::string>> read_collection_meta(
    const std::filesystem::path& path, const std::string& table) {
  YAML::Node root = ASSAY_TRY(load(path));
  std::map<std::string, std::string> facts;
  try {
    const YAML::Node tables = root["tables"];
    if (tables.IsDefined() && tables.IsMap()) {
      add_facts(tables[table], "tables." + table, facts);
      root.remove("tables");
    }
    add_facts(root, "", facts);
  } catch (const std::exception& error) {
    return core::Error{fmt::format("{}: {}", path.string(), error.what())};
  }
  return facts;
}

core::Result<std::string> collection_meta_text(const std::filesystem::path& path,
                                               const std::string& framework,
                                               const std::string& version,
                                               const std::vector<PlacedTable>& tables) {
  YAML::Node root;
  if (core::is_regular_file(path)) root = ASSAY_TRY(load(path));
  try {
    root["schema_version"] = 1;
    root["provenance"] = "collected";
    root["runtime"]["framework"] = framework;
    root["runtime"]["version"] = version;
    for (const PlacedTable& table : tables)
      root["tables"][table.table] = described(table);
    return YAML::Dump(root) + '\n';
  } catch (const std::exception& error) {
    return core::Error{fmt::format("{}: {}", path.string(), error.what())};
  }
}

}  // namespace assay::store
