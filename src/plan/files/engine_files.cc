#include "plan/files/engine_files.h"

#include <fmt/core.h>

#include "core/check.h"

namespace assay::plan {

const EngineFiles& files_of(Engine engine) {
  for (const EngineFiles* files : core::Registry<EngineFiles>::all())
    if (files->engine == engine) return *files;
  ASSAY_CHECK(false, "an engine without files");
}

std::string image_of(const PlannedDeployment& planned) {
  if (!planned.image.empty()) return planned.image;
  const EngineFiles& files = files_of(planned.engine);
  return files.image(planned.engine_version.empty() ? files.version : planned.engine_version);
}

std::map<std::string, std::string> variables_of(const PlannedDeployment& planned) {
  const EngineFiles& engine = files_of(planned.engine);
  if (engine.variables == nullptr) return {};
  return engine.variables(planned);
}

std::int64_t transfer_ports_each(const PlannedDeployment& planned) {
  return planned.worker.dp;
}

std::string random_prompt_words(const PlannedDeployment& planned) {
  std::string own =
      fmt::format("--random-input-len {}", planned.prompt_tokens - planned.prefix_tokens);
  if (planned.prefix_tokens == 0) return own;
  return fmt::format("--random-prefix-len {} {}", planned.prefix_tokens, own);
}

}  // namespace assay::plan
