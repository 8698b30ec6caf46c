#include "store/database/collection_meta.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <exception>

#include "core/files.h"

namespace assay::store {
namespace {

// yaml-cpp reports damage by exceptions.
core::Result<YAML::Node> parse(std::string_view text, const std::string& name) {
  try {
    YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap()) return core::Error{name + ": no mapping of names to values"};
    return root;
  } catch (const std::exception& error) {
    return core::Error{fmt::format("{}: not YAML: {}", name, error.what())};
  }
}

// Aliases can make a file of a few lines hold billions of values, or itself.
constexpr int kMostNodes = 10'000;
constexpr int kMostLevels = 32;

using Facts = std::map<std::string, std::string>;

class FactReader {
 public:
  explicit FactReader(Facts& facts) : facts_(facts) {}

  core::Status add(const YAML::Node& node, const std::string& name, int levels_left = kMostLevels) {
    if (++num_nodes_ > kMostNodes || levels_left == 0) {
      return core::Error{"more values than a description of tables has"};
    }
    if (node.IsScalar()) facts_[name] = node.Scalar();
    if (!node.IsMap()) return {};
    for (const auto& item : node) {
      if (!item.first.IsScalar()) continue;
      const std::string& word = item.first.Scalar();
      ASSAY_TRY(add(item.second, name.empty() ? word : name + '.' + word, levels_left - 1));
    }
    return {};
  }

 private:
  Facts& facts_;
  int num_nodes_ = 0;
};

core::Result<Facts> facts_of(YAML::Node root, const std::string& table) {
  Facts facts;
  FactReader reader(facts);
  const YAML::Node tables = root["tables"];
  if (tables.IsDefined() && tables.IsMap()) {
    const YAML::Node own = tables[table];
    if (own.IsDefined()) ASSAY_TRY(reader.add(own, "tables." + table));
    root.remove("tables");
  }
  ASSAY_TRY(reader.add(root, ""));
  return facts;
}

YAML::Node node_of(const PlacedTable& table, const std::string& version) {
  YAML::Node node;
  node["collected_at"] = table.collected_at;
  for (const std::string& kernel : table.kernels)
    node["kernels"].push_back(kernel);
  node["rows"] = table.rows;
  if (table.version != version) node["version"] = table.version;
  node["status"] = "complete";
  return node;
}

}  // namespace

core::Result<std::map<std::string, std::string>> read_collection_meta(
    const std::filesystem::path& path, const std::string& table) {
  return parse_collection_meta(ASSAY_TRY(core::read_file(path)), path.string(), table);
}

core::Result<std::map<std::string, std::string>> parse_collection_meta(std::string_view text,
                                                                       const std::string& name,
                                                                       const std::string& table) {
  const YAML::Node root = ASSAY_TRY(parse(text, name));
  try {
    auto facts = facts_of(root, table);
    if (!facts.ok()) return facts.error().context(name);
    return facts;
  } catch (const std::exception& error) {
    return core::Error{fmt::format("{}: {}", name, error.what())};
  }
}

core::Result<std::string> collection_meta_text(const std::filesystem::path& path,
                                               const PlacedFolder& folder) {
  YAML::Node root;
  if (core::is_regular_file(path))
    root = ASSAY_TRY(parse(ASSAY_TRY(core::read_file(path)), path.string()));
  try {
    root["schema_version"] = 1;
    root["provenance"] = "collected";
    root["runtime"]["framework"] = folder.framework;
    root["runtime"]["version"] = folder.version;
    root["runtime"]["collector"] = folder.collector;
    for (const PlacedTable& table : folder.tables)
      root["tables"][table.table] = node_of(table, folder.version);
    return YAML::Dump(root) + '\n';
  } catch (const std::exception& error) {
    return core::Error{fmt::format("{}: {}", path.string(), error.what())};
  }
}

}  // namespace assay::store
