// Models by their files; the rest of this folder reads no files, so that workers take it without
// what reads them.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/file_kind.h"
#include "core/files.h"
#include "core/text.h"
#include "model/serving/family.h"
#include "model/serving/shipped_models.h"

namespace assay::serving {

namespace {

constexpr std::string_view kConfigSuffix = "_config";

// "DeepSeek-V3" of "DeepSeek-V3/config.json", "deepseek-ai--DeepSeek-V3_config.json" and
// "models--deepseek-ai--DeepSeek-V3/snapshots/1d044fd/config.json".
std::string name_of_file(const std::filesystem::path& file) {
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(file, ignored).lexically_normal();
  std::string name = whole.stem().string();
  if (name == "config") {
    const std::filesystem::path folder = whole.parent_path();
    const bool is_snapshot = folder.parent_path().filename() == "snapshots";
    name = (is_snapshot ? folder.parent_path().parent_path() : folder).filename().string();
  } else if (name.ends_with(kConfigSuffix)) {
    name.resize(name.size() - kConfigSuffix.size());
  }
  if (const std::size_t dashes = name.rfind("--"); dashes != std::string::npos)
    name.erase(0, dashes + 2);
  return name.empty() ? file.string() : name;
}

// A config.json with the file that ModelOpt wrote beside it, if it did.
core::Result<Model> read_config(const std::filesystem::path& file) {
  const std::filesystem::path beside = file.parent_path() / "hf_quant_config.json";
  std::optional<PrecisionFile> precision;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(beside, ignored))
    precision = PrecisionFile{.text = ASSAY_TRY(core::read_file(beside)), .name = beside.string()};
  Model model = ASSAY_TRY(parse_model(ASSAY_TRY(core::read_text(file, core::TextFormat::kJson)),
                                      file.string(), precision));
  model.name = name_of_file(file);
  return model;
}

// The shipped names that share the most of their beginning with the id's last part; none where that
// is little.
std::vector<std::string> names_like(const std::string& name) {
  std::ptrdiff_t most = 4;
  std::vector<std::string> like;
  for (const ShippedModel& model : shipped_models()) {
    const auto behind =
        std::mismatch(name.begin(), name.end(), model.name.begin(), model.name.end()).first;
    const std::ptrdiff_t shared = behind - name.begin();
    if (shared < most) continue;
    if (shared > most) like.clear();
    most = shared;
    like.emplace_back(model.name);
  }
  return like;
}

// "Qwen/Qwen3-4B"; a path within a folder that is there is none.
bool is_hub_id(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == name.size()) return false;
  if (slash != name.rfind('/') || name.front() == '.' || name.ends_with(".json")) return false;
  return !core::is_folder(name.substr(0, slash));
}

core::Error hub_error(const std::string& id) {
  const std::vector<std::string> like = names_like(core::lower_case(id.substr(id.find('/') + 1)));
  return core::Error{fmt::format(
      "'{}' is no file or folder here, and assay downloads no models: give a folder with the "
      "model's config.json{}",
      id, like.empty() ? "" : ", or one that ships with assay, such as " + core::join(like, ", "))};
}

}  // namespace

core::Result<Model> read_model(const std::filesystem::path& file_or_name) {
  if (core::is_folder(file_or_name)) return read_config(file_or_name / "config.json");
  std::error_code ignored;
  if (!std::filesystem::exists(file_or_name, ignored)) {
    const ShippedModel* shipped = find_shipped_model(file_or_name.string());
    if (shipped != nullptr) return parse_model(shipped->config, std::string(shipped->name));
    if (is_hub_id(file_or_name.string())) return hub_error(file_or_name.string());
    ASSAY_TRY(check_shipped_model(file_or_name.string()));
  }
  return read_config(file_or_name);
}

}  // namespace assay::serving
