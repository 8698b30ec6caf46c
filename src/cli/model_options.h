// The options that name models and how they are deployed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/needs.h"

namespace assay::cli {

class App;

class ModelArguments {
 public:
  // Declares --quant, --phase and --speculative-tokens.
  void add_precision(App& app, const char* group);

  // Reads the models. "all" means every model that ships with assay. Error: a model does not read.
  [[nodiscard]] static core::Result<std::vector<serving::Model>> read(
      const std::vector<std::string>& names);

  // The request for these models, with the numbers of GPUs as texts separated by commas; an empty
  // text takes the default. Error: a model does not read, a number is none, or tokens are to be
  // drafted and no model has layers that do.
  [[nodiscard]] core::Result<serving::NeedsRequest> request(const std::vector<std::string>& models,
                                                            const std::string& tp,
                                                            const std::string& ep) const;

 private:
  std::vector<std::optional<serving::Quantization>> quantizations_;
  std::vector<serving::Phase> phases_;
  std::int64_t speculative_tokens_ = 0;
};

// Checks for Option::check a list of numbers of GPUs, such as "1,2,8".
std::string gpu_count_problem(const std::string& text);

// A line for each model and reason: "glm-4.5: left out: tp 8, moe_tp 8, fp8_block and 4 other
// deployments: an intermediate size of ...".
std::vector<std::string> notes_of_excluded(const std::vector<serving::Excluded>& all);

// Returns where an engine finds the weights: where the user says ("": nowhere), by the id that
// names the model, or in the folder of its config.json. Error: there are none in that folder, the
// file has another name, or the model is one that ships.
core::Result<std::string> weights_path(const std::string& said, const std::string& model);

// The names of the models that ship with assay; for options that take all of them, also "all".
std::vector<std::string> model_words();
std::vector<std::string> model_words_or_all();

}  // namespace assay::cli
