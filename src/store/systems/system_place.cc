#include "store/systems/system_place.h"

#include <fmt/core.h>

#include "core/text.h"
#include "store/systems/system_file.h"

namespace assay::store {
namespace {

constexpr std::string_view kDataFolder = "\ndata_dir: data/";

// The shipped description with the folder of another name.
std::string renamed(std::string_view yaml, const std::string& name) {
  std::string text(yaml);
  const std::size_t begin = text.find(kDataFolder);
  if (begin == std::string::npos) return text;
  const std::size_t word = begin + kDataFolder.size();
  return text.replace(word, text.find_first_of(" \n", word) - word, name);
}

bool names_folder(std::string_view yaml, const std::string& name) {
  const std::string line = '\n' + std::string(yaml) + '\n';
  const std::size_t begin = line.find(std::string(kDataFolder) + name);
  if (begin == std::string::npos) return false;
  const char after = line[begin + kDataFolder.size() + name.size()];
  return after == ' ' || after == '\n' || after == '/' || after == '\r';
}

}  // namespace

core::Result<std::string> system_text_to_place(const Store& store,
                                               const ShippedSystem* shipped,
                                               const std::string& name,
                                               const Placed& placed) {
  if (shipped != nullptr) return renamed(shipped->yaml, name);
  const SystemRequest request{.name = name, .device = placed.device, .framework = placed.framework};
  const SystemData data = ASSAY_TRY(read_system(store, request));
  return system_text(request, data, system_fields(data));
}

std::vector<std::string> problems_for_planner(std::string_view yaml,
                                              const std::string& name,
                                              const Placed& placed) {
  const std::string file = name + ".yaml";
  const auto values = parse_cited_values(yaml, file);
  if (!values.ok()) return {values.error().message};
  std::vector<std::string> problems;
  if (!names_folder(yaml, name))
    problems.push_back(fmt::format("{}: its data_dir is not data/{}", file, name));
  std::vector<std::string> missing;
  for (const std::string_view field : kPlannerFields)
    if (!values.value().contains(std::string(field))) missing.emplace_back(field);
  if (!missing.empty()) {
    problems.push_back(fmt::format("{}: the planner needs {}, which the file does not have", file,
                                   core::join(missing, ", ")));
  }
  const auto version = values.value().find("misc.nccl_version");
  const bool has_collectives = !placed.nccl_version.empty() && version != values.value().end();
  if (has_collectives && version->second != placed.nccl_version) {
    problems.push_back(
        fmt::format("{}: misc.nccl_version is {}, so the planner does not look for "
                    "the rows of NCCL {} that were placed",
                    file, version->second, placed.nccl_version));
  }
  return problems;
}

}  // namespace assay::store
