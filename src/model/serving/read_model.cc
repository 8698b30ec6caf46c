// Models by their files; the rest of this folder reads no files, so that workers take it without
// what reads them.
#include <system_error>

#include "core/files.h"
#include "model/serving/family.h"
#include "model/serving/shipped_models.h"

namespace assay::serving {

core::Result<Model> read_model(const std::filesystem::path& file_or_name) {
  const std::filesystem::path inside = file_or_name / "config.json";
  if (core::is_folder(file_or_name))
    return parse_model(ASSAY_TRY(core::read_file(inside)), inside.string());
  std::error_code ignored;
  if (!std::filesystem::exists(file_or_name, ignored)) {
    const ShippedModel* shipped = find_shipped_model(file_or_name.string());
    if (shipped != nullptr) return parse_model(shipped->config, std::string(shipped->name));
    ASSAY_TRY(check_shipped_model(file_or_name.string()));
  }
  return parse_model(ASSAY_TRY(core::read_file(file_or_name)), file_or_name.string());
}

}  // namespace assay::serving
