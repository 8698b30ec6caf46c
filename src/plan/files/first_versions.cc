#include "plan/files/first_versions.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "plan/files/engine_files.h"
#include "store/systems/version_order.h"

namespace assay::plan {
namespace {

struct FirstVersion {
  Engine engine;
  std::string_view family;
  std::string_view version;  // the first that has it for certain
  std::string_view source;
};

// Versions that the files are not for, such as vLLM before 0.12, are in no row.
constexpr std::array<FirstVersion, 8> kFirstVersions = {{
    {Engine::kTrtllm, "qwen3_next", "1.2.0rc1", "pull request 7892"},
    {Engine::kTrtllm, "glm4_moe", "1.2", "pull request 8256"},
    {Engine::kTrtllm, "minimax_m2", "1.3.0rc5", "pull request 10532"},
    {Engine::kTrtllm, "glm_moe_dsa", "1.3.0rc9", "its release notes"},
    {Engine::kTrtllm, "qwen3_5", "1.3.0rc9", "its release notes"},
    {Engine::kVllm, "glm_moe_dsa", "0.19", "vLLM's recipes"},
    {Engine::kVllm, "qwen3_5", "0.17", "vLLM-Ascend's pull request 7103"},
    {Engine::kSglang, "qwen3_5", "0.5.10", "pull request 19169"},
}};

}  // namespace

std::string lacking_model_in_words(Engine engine,
                                   const std::string& version,
                                   const std::string& family) {
  const auto* const first = std::find_if(
      kFirstVersions.begin(), kFirstVersions.end(),
      [&](const FirstVersion& one) { return one.engine == engine && one.family == family; });
  if (first == kFirstVersions.end()) return "";
  const std::string planned = version.empty() ? std::string(files_of(engine).version) : version;
  if (!store::Version::parse(planned) || is_from(planned, first->version)) return "";
  return fmt::format(
      "{} {}, which is planned for, may not serve this model ({}): {} is the first version that "
      "has it for certain ({}); --backend-version names another",
      name_of(engine), planned, family, first->version, first->source);
}

}  // namespace assay::plan
