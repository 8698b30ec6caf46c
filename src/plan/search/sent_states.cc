#include "plan/search/sent_states.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <variant>

namespace assay::plan {
namespace {

// The first versions that send states for certain; "": none does.
struct StateSender {
  std::string_view name;
  std::string_view first;
  std::string_view first_of_other_widths;
};

// vLLM's NixlConnector sends the states of Mamba-2 since pull request 36687 and those of gated
// delta rules since 41869, but vLLM turned its hybrid cache manager off beside any connector until
// 41847, and without it an instance with states does not start. Its documentation wants equal tp.
// SGLang sends them by NIXL since 16229, between other widths since 22240. TensorRT-LLM's Python
// transceiver sends those of Nemotron since 12150 and those of Qwen3-Next since 12772.
StateSender sender_of(Engine engine) {
  switch (engine) {
    case Engine::kVllm:
      return {.name = "vLLM's NixlConnector", .first = "0.23", .first_of_other_widths = ""};
    case Engine::kSglang:
      return {.name = "SGLang", .first = "0.5.9", .first_of_other_widths = "0.5.12"};
    case Engine::kTrtllm:
      break;
  }
  return {.name = "TensorRT-LLM", .first = "1.3.0rc15", .first_of_other_widths = "1.3.0rc15"};
}

constexpr std::string_view kStates = "the states of linear attention and of state spaces";

}  // namespace

bool keeps_states(const serving::Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const serving::EqualLayers& layers) {
                       return std::holds_alternative<serving::DeltaNet>(layers.layer.mixer) ||
                              std::holds_alternative<serving::StateSpace>(layers.layer.mixer);
                     });
}

core::Status check_sent_states(const serving::Model& model,
                               Engine engine,
                               const std::string& version,
                               const Worker& prefill,
                               const Worker& decode) {
  if (!keeps_states(model)) return {};
  const StateSender sender = sender_of(engine);
  if (!is_from(version, sender.first)) {
    return core::Error{fmt::format(
        "{} sends {} from version {} on, and {} is planned for: --backend-version names another",
        sender.name, kStates, sender.first, version.empty() ? "an earlier one" : version)};
  }
  const std::string_view first = sender.first_of_other_widths;
  if (prefill.tp == decode.tp || (!first.empty() && is_from(version, first))) return {};
  return core::Error{
      fmt::format("{}{} sends {} only where both have the same tp: tp {} cannot "
                  "compute prompts for tp {}",
                  sender.name, first.empty() ? "" : fmt::format(" before {}", first), kStates,
                  prefill.tp, decode.tp)};
}

}  // namespace assay::plan
