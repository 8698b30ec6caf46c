#include "cli/model_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <regex>
#include <system_error>

#include "cli/options.h"
#include "cli/plan_options.h"
#include "model/serving/family.h"
#include "model/serving/shipped_models.h"

namespace assay::cli {
namespace {

constexpr const char* kAllModels = "all";
constexpr std::int64_t kMostGpusOfAModel = 1024;

const Choices<std::optional<serving::Quantization>> kQuantizations = {
    {"config", std::nullopt},
    {"bfloat16", serving::Quantization::kBfloat16},
    {"fp8", serving::Quantization::kFp8},
    {"fp8_block", serving::Quantization::kFp8Block},
    {"w4a16_mxfp4", serving::Quantization::kMxfp4}};

const Choices<serving::Phase> kPhases = {{"context", serving::Phase::kContext},
                                         {"generation", serving::Phase::kGeneration}};

// Numbers of GPUs from words separated by commas, ascending, each once.
core::Result<std::vector<std::int64_t>> gpus_in(const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : split(text, ',')) {
    std::int64_t number = 0;
    const char* const end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc() || stopped != end || number < 1 || number > kMostGpusOfAModel) {
      return core::Error{
          fmt::format("'{}' is no number of GPUs from 1 to {}", word, kMostGpusOfAModel)};
    }
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// An id of Hugging Face has one slash and names nothing here.
bool is_hub_id(const std::string& text) {
  static const std::regex id(R"([A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*)");
  std::error_code ignored;
  return std::regex_match(text, id) && !text.ends_with(".json") &&
         !std::filesystem::exists(text, ignored);
}

// Engines look for a file of this name and for the weights beside it.
bool has_weights(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder / "config.json", error)) return false;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::filesystem::path kind = it->path().extension();
    if (kind == ".safetensors" || kind == ".bin" || kind == ".pt" || kind == ".pth") return true;
  }
  return false;
}

}  // namespace

core::Result<std::string> weights_path(const std::string& said, const std::string& model) {
  std::error_code error;
  const std::string& from = said.empty() ? model : said;
  if (is_hub_id(from)) return from;
  const std::filesystem::path path = std::filesystem::absolute(from, error).lexically_normal();
  if (!said.empty()) return path.string();
  const bool is_folder = std::filesystem::is_directory(path, error);
  const std::filesystem::path folder = is_folder ? path : path.parent_path();
  const bool is_read = is_folder || path.filename() == "config.json";
  if (is_read && has_weights(folder)) return folder.string();
  if (!std::filesystem::exists(path, error))
    return core::Error{
        fmt::format("'{}' names no weights: --model-path says where the engine finds them", model)};
  return core::Error{
      fmt::format("'{}' is no config.json in a folder of weights: --model-path says where the "
                  "engine finds them",
                  model)};
}

void ModelArguments::add_precision(App& app, const char* group) {
  add_choice_list(app, "--quant", quantizations_, kQuantizations,
                  "how the weights of the models are kept; config: as each config.json tells")
      ->default_str("config")
      ->group(group);
  add_choice_list(app, "--phase", phases_, kPhases, "the work on prompts, the decoding, or both")
      ->group(group);
  app.add_option(
         "--speculative-tokens", speculative_tokens_,
         "also what steps need in which the models' own layers (MTP) draft so many tokens of "
         "each request")
      ->type_name("N")
      ->default_str("none")
      ->check(speculative_tokens_problem)
      ->group(group);
}

core::Result<std::vector<serving::Model>> ModelArguments::read(
    const std::vector<std::string>& names) {
  std::vector<serving::Model> models;
  for (const std::string& name : names) {
    if (name != kAllModels) {
      models.push_back(ASSAY_TRY(serving::read_model(name)));
      continue;
    }
    for (const serving::ShippedModel& shipped : serving::shipped_models())
      models.push_back(ASSAY_TRY(serving::read_model(std::string(shipped.name))));
  }
  return models;
}

core::Result<serving::NeedsRequest> ModelArguments::request(const std::vector<std::string>& models,
                                                            const std::string& tp,
                                                            const std::string& ep) const {
  serving::NeedsRequest request{.models = ASSAY_TRY(read(models))};
  if (!tp.empty()) request.tp = ASSAY_TRY(gpus_in(tp));
  if (!ep.empty()) request.ep = ASSAY_TRY(gpus_in(ep));
  if (!quantizations_.empty()) request.quantizations = quantizations_;
  if (!phases_.empty()) request.phases = phases_;
  request.speculative_tokens = speculative_tokens_;
  const bool any_drafts = std::any_of(request.models.begin(), request.models.end(),
                                      [](const serving::Model& model) { return model.mtp; });
  if (speculative_tokens_ > 0 && !any_drafts) {
    return core::Error{fmt::format(
        "--speculative-tokens: {} {} no layers that draft tokens (num_nextn_predict_layers in "
        "config.json)",
        request.models.size() == 1 ? request.models.front().name : "the models",
        request.models.size() == 1 ? "has" : "have")};
  }
  return request;
}

std::string gpu_count_problem(const std::string& text) {
  const auto numbers = gpus_in(text);
  return numbers.ok() ? "" : numbers.error().message;
}

std::vector<std::string> notes_of_excluded(const std::vector<serving::Excluded>& all) {
  struct Alike {
    const serving::Excluded* first;
    std::size_t others;
  };

  std::vector<Alike> alike;
  for (const serving::Excluded& excluded : all) {
    const auto known = std::find_if(alike.begin(), alike.end(), [&](const Alike& group) {
      return group.first->model == excluded.model && group.first->reason == excluded.reason;
    });
    if (known == alike.end()) {
      alike.push_back({&excluded, 0});
    } else {
      ++known->others;
    }
  }
  std::vector<std::string> notes;
  for (const auto& [first, others] : alike) {
    const std::string more =
        others == 0 ? ""
                    : fmt::format(" and {} other deployment{}", others, others == 1 ? "" : "s");
    notes.push_back(fmt::format("{}: left out: {}{}: {}", first->model, first->deployment, more,
                                first->reason));
  }
  return notes;
}

std::vector<std::string> model_words() {
  std::vector<std::string> words;
  for (const serving::ShippedModel& shipped : serving::shipped_models())
    words.emplace_back(shipped.name);
  return words;
}

std::vector<std::string> model_words_or_all() {
  std::vector<std::string> words = model_words();
  words.insert(words.begin(), kAllModels);
  return words;
}

}  // namespace assay::cli
