// Families of models: how a config.json becomes a Model. A new family is one file,
// src/model/serving/families/<name>.cc:
//
//   core::Result<Model> read_glm4_moe(const Config& config) { ... }
//   const Family kGlm4Moe{
//       .name = "glm4_moe", .architectures = {"Glm4MoeForCausalLM"}, .read = read_glm4_moe};
//   ASSAY_REGISTER(Family, kGlm4Moe);
//
// parts.h has what families share. Figures of models are files in models/, which the build puts
// into the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "model/serving/config.h"
#include "model/serving/model.h"

namespace assay::serving {

struct Family {
  const char* name;                        // its model_type: "glm4_moe"
  std::vector<const char*> architectures;  // as config.json names them
  // Fills everything but the model's name and family. The config is that of the text model, where
  // a model reads pictures, too.
  core::Result<Model> (*read)(const Config& config);
  // Transformers takes these values for fields that a config.json of the family may lack.
  std::vector<Config::Default> defaults = {};
  // Engines scale no positions of the family, since max_position_embeddings is what they reach.
  bool has_scaled_positions = false;
};

std::vector<const Family*> all_families();

// ModelOpt's hf_quant_config.json, which tells the precision where the config.json does not.
struct PrecisionFile {
  std::string text;
  std::string name;  // in errors
};

// Reads a model from the text of its config.json. Error: the architecture is unknown, or a field is
// missing or impossible; it names the field.
core::Result<Model> parse_model(std::string_view text,
                                const std::string& name,
                                const std::optional<PrecisionFile>& precision = std::nullopt);

// Reads a model by its config.json, a folder that has one, or the name of a model that ships with
// assay (shipped_models.h). A file comes before a name; the model is then called by the file's
// name, or that of the folder where it is config.json, and hf_quant_config.json beside it counts.
core::Result<Model> read_model(const std::filesystem::path& file_or_name);

}  // namespace assay::serving
