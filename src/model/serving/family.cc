#include "model/serving/family.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "model/serving/checkpoint_precision.h"
#include "model/serving/left_out.h"

namespace assay::serving {
namespace {

const Family* family_of(const std::string& architecture) {
  for (const Family* family : all_families()) {
    for (const char* known : family->architectures) {
      if (architecture == known) return family;
    }
  }
  return nullptr;
}

std::string known_architectures() {
  std::vector<std::string> names;
  for (const Family* family : all_families())
    names.insert(names.end(), family->architectures.begin(), family->architectures.end());
  std::sort(names.begin(), names.end());
  return core::join(names, ", ");
}

// Models that read pictures keep the decoder's sizes in a part of their own, and what concerns the
// weights of both beside it.
core::Result<Config> decoder_of(const Config& config) {
  if (config.has("text_config")) return config.part("text_config");
  return config;
}

core::Status check_layers(const Model& model, const Config& config) {
  if (model.num_layers() > 0) return {};
  return config.error("num_hidden_layers", "the model has no layers");
}

// A token goes to some of the experts, each once.
core::Status check_experts(const Model& model, const Config& config) {
  for (const EqualLayers& layers : model.layers) {
    const auto* experts = std::get_if<Experts>(&layers.layer.feed_forward);
    if (experts == nullptr || experts->top_k <= experts->count) continue;
    return config.error("num_experts_per_tok", fmt::format("{} of {} experts for each token",
                                                           experts->top_k, experts->count));
  }
  return {};
}

core::Status check_positions(const Config& decoder) {
  const auto positions = decoder.count_or("max_position_embeddings", 1);
  if (!positions.ok() || positions.value() > 0) return {};
  return decoder.error("max_position_embeddings", "a sequence of 0 tokens is none");
}

// Models that read pictures may have the field in either part. ModelOpt's file tells of the cache
// also where its config.json has the rest.
core::Result<CheckpointPrecision> precision_of(const Config& config,
                                               const Config& decoder,
                                               const std::optional<PrecisionFile>& file) {
  const Config& part = precision_field(config) != nullptr ? config : decoder;
  const bool has_field = precision_field(part) != nullptr;
  if (!file) return checkpoint_precision(part);
  const auto beside = Config::parse(file->text, file->name);
  if (!has_field) return modelopt_precision(ASSAY_TRY(beside));
  CheckpointPrecision read = ASSAY_TRY(checkpoint_precision(part));
  if (read.precision.cache != Quantization::kBfloat16 || !beside.ok()) return read;
  // A config.json that tells the rest needs no file that cannot be read.
  if (const auto cache = modelopt_cache(beside.value()); cache.ok())
    read.precision.cache = cache.value();
  return read;
}

core::Status read_precision(const Config& config,
                            const Config& decoder,
                            const std::optional<PrecisionFile>& file,
                            Model& model) {
  const CheckpointPrecision read = ASSAY_TRY(precision_of(config, decoder, file));
  model.precision = read.precision;
  const core::Status left = leave_out(read.left_out, model);
  if (!left.ok()) return core::Error{fmt::format("{}: {}", config.name(), left.error().message)};
  return {};
}

// Positions that are scaled reach farther, as engines compute it: with YaRN from those of the
// training on, with a linear or dynamic scale from the field's own. Prices need none of these
// fields: what does not read leaves the context unknown.
std::int64_t scaled_positions(std::int64_t positions, const Config& scaling) {
  const auto type = scaling.text(scaling.has("rope_type") ? "rope_type" : "type");
  const bool is_yarn = type.ok() && type.value() == "yarn";
  if (!is_yarn && !(type.ok() && (type.value() == "linear" || type.value() == "dynamic")))
    return positions;
  const auto trained = scaling.count_or("original_max_position_embeddings", 0);
  const auto factor = scaling.real_or("factor", 1);
  constexpr double kMostFactor = 1e6;
  if (!trained.ok() || !factor.ok() || !(factor.value() > 0 && factor.value() < kMostFactor))
    return 0;
  const std::int64_t scaled = is_yarn && trained.value() > 0 ? trained.value() : positions;
  return static_cast<std::int64_t>(static_cast<double>(scaled) * factor.value());
}

// Transformers 5 calls rope_scaling rope_parameters, with one part for each kind of layers where
// these differ; the kind that reaches farthest counts, as that without a scale has a window.
std::int64_t context_of(const Config& decoder, const Family& family) {
  const auto positions = decoder.count_or("max_position_embeddings", 0);
  if (!positions.ok()) return 0;
  if (family.has_scaled_positions) return positions.value();
  const char* field = decoder.has("rope_scaling") ? "rope_scaling" : "rope_parameters";
  if (!decoder.has(field)) return positions.value();
  const auto scaling = decoder.part(field);
  if (!scaling.ok()) return 0;
  if (scaling.value().has("rope_type") || scaling.value().has("type"))
    return scaled_positions(positions.value(), scaling.value());
  const auto kinds = decoder.parts(field);
  if (!kinds.ok()) return 0;
  if (kinds.value().empty()) return positions.value();
  std::int64_t farthest = 0;
  for (const auto& [name, part] : kinds.value())
    farthest = std::max(farthest, scaled_positions(positions.value(), part));
  return farthest;
}

}  // namespace

std::vector<const Family*> all_families() {
  return core::Registry<Family>::all();
}

core::Result<Model> parse_model(std::string_view text,
                                const std::string& name,
                                const std::optional<PrecisionFile>& precision) {
  const Config config = ASSAY_TRY(Config::parse(text, name));
  const std::vector<std::string> architectures = ASSAY_TRY(config.words("architectures"));
  if (architectures.empty()) return config.error("architectures", "the field is missing or empty");
  if (architectures.size() > 1)
    return config.error("architectures",
                        fmt::format("there are {}, of which one is served: {}",
                                    architectures.size(), core::join(architectures, ", ")));
  const Family* family = family_of(architectures.front());
  if (family == nullptr) {
    return config.error("architectures", fmt::format("'{}' is not known; known are {}",
                                                     architectures.front(), known_architectures()));
  }
  const Config decoder = ASSAY_TRY(decoder_of(config)).with_defaults(family->defaults);
  Model model = ASSAY_TRY(family->read(decoder));
  ASSAY_TRY(check_layers(model, decoder));
  ASSAY_TRY(check_experts(model, decoder));
  ASSAY_TRY(check_positions(decoder));
  ASSAY_TRY(read_precision(config, decoder, precision, model));
  model.ties_embedding = ASSAY_TRY(
      config.flag_or("tie_word_embeddings",
                     ASSAY_TRY(decoder.flag_or("tie_word_embeddings", model.ties_embedding))));
  model.context = context_of(decoder, *family);
  if (decoder.has("mamba_ssm_dtype")) model.state_type = ASSAY_TRY(decoder.text("mamba_ssm_dtype"));
  if (decoder.has("mamba_ssm_cache_dtype"))
    model.state_cache_type = ASSAY_TRY(decoder.text("mamba_ssm_cache_dtype"));
  model.name = name;
  model.family = family->name;
  return model;
}

}  // namespace assay::serving
