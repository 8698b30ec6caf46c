// To read the annotations of a further engine, or of a new version of one, add a line to kPatterns.
//
// In a pattern, a letter in braces stands for a whole number:
//   {p} requests whose prompt is read   {P} their tokens
//   {d} requests that are decoded       {D} their tokens
//   {b} requests of whatever kind       {_} a number of no interest
// and * for any text up to the character after it (at the end of a pattern: any rest). All else
// stands for itself. The first pattern that fits is taken, so the more telling comes first. The
// phase is kUnknown where the numbers tell it.
#include "trace/inference_steps.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>

namespace assay::trace {
namespace {

using Phase = ServingPhase;

struct Pattern {
  ServingStyle style;
  std::string_view text;
  Phase phase = Phase::kUnknown;
};

constexpr std::array kPatterns{
    // vLLM, and SGLang and vLLM as patched for TraceLens.
    Pattern{0, "execute_{_}_context_{p}(sq{P}*)_generation_{d}(sq{D}*)"},
    Pattern{0, "execute_context_{p}({P}*)_generation_{d}({D}*)"},
    Pattern{0, "execute_context_{P}_generation_{D}"},
    Pattern{0, "execute_new_{p}_cached_{d}"},
    // TensorRT-LLM
    Pattern{0, "[Executor] _forward_step {_}: {p} ctx reqs, {P} ctx tokens, {d} gen reqs"},
    Pattern{0, "[Executor] _forward_step {_}: {p} ctx reqs, {d} gen reqs"},
    Pattern{0, "_forward_step: {p} ctx reqs, {d} gen reqs"},
    // ATOM
    Pattern{1, "prefill[bs={p}* tok={P}*]", Phase::kPrefill},
    Pattern{1, "decode[bs={d}* tok={D}*]", Phase::kDecode},
    Pattern{1, "prefill[bs={p}*]", Phase::kPrefill},
    Pattern{1, "decode[bs={d}*]", Phase::kDecode},
    // SGLang
    Pattern{2, "step[EXTEND bs={p} toks={P}*]", Phase::kPrefill},
    Pattern{2, "step[EXTEND bs={p}*]", Phase::kPrefill},
    Pattern{2, "step[SPLIT_PREFILL bs={p}*]", Phase::kPrefill},
    Pattern{2, "step[DLLM_EXTEND bs={p}*]", Phase::kPrefill},
    Pattern{2, "step[DECODE bs={d} g_sq={D}*]", Phase::kDecode},
    Pattern{2, "step[DECODE bs={d}*]", Phase::kDecode},
    Pattern{2, "step[TARGET_VERIFY bs={d}*]", Phase::kDecode},
    Pattern{2, "step[DRAFT_EXTEND* bs={d}*]", Phase::kDecode},
    Pattern{2, "step[MIXED bs={b} c={p} g={d} c_sq={P}* g_sq={D}*]", Phase::kMixed},
    Pattern{2, "step[MIXED bs={b} c={p} g={d}*]", Phase::kMixed},
    Pattern{2, "step[MIXED bs={b}*]", Phase::kMixed},
    Pattern{2, "step[IDLE*]", Phase::kIdle},
    Pattern{2, "step[* bs={b}*]"},
    // Pipelines of diffusion models: batch and size of the picture.
    Pattern{3, "execute_diffusion_{b}_*", Phase::kDiffusion},
    // Names that tell nothing but where a run begins and ends.
    Pattern{4, "gpu_model_runner: forward"},
    Pattern{4, "v2_gpu_model_runner: forward"},
    Pattern{4, "vllm_iteration(*): forward"},
    Pattern{5, "execute_model"},
};

std::int64_t* field_of(char letter, ServingLabel& label) {
  switch (letter) {
    case 'p':
      return &label.prompts;
    case 'P':
      return &label.prompt_tokens;
    case 'd':
      return &label.decodes;
    case 'D':
      return &label.decode_tokens;
    case 'b':
      return &label.requests;
    default:
      return nullptr;
  }
}

// Takes a number off the front of `name`.
bool take_number(std::string_view& name, std::int64_t* field) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || value < 0) return false;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (field != nullptr) *field = value;
  return true;
}

bool fits(std::string_view pattern, std::string_view name, ServingLabel& label);

// Tries each place at which what follows a star may begin. The star is not greedy.
bool fits_after_star(std::string_view pattern, std::string_view name, ServingLabel& label) {
  if (pattern.empty()) return true;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (name[i] == pattern.front() && fits(pattern, name.substr(i), label)) return true;
  return false;
}

bool fits(std::string_view pattern, std::string_view name, ServingLabel& label) {
  while (!pattern.empty()) {
    if (pattern.front() == '*') return fits_after_star(pattern.substr(1), name, label);
    if (pattern.front() == '{') {
      if (!take_number(name, field_of(pattern[1], label))) return false;
      pattern.remove_prefix(3);
      continue;
    }
    if (name.empty() || name.front() != pattern.front()) return false;
    pattern.remove_prefix(1);
    name.remove_prefix(1);
  }
  return name.empty();
}

// A missing kind of requests is one of which there are none, where the other kind is known.
Phase phase_of(std::int64_t prompts, std::int64_t decodes) {
  if (prompts < 0 && decodes < 0) return Phase::kUnknown;
  if (prompts > 0) return decodes > 0 ? Phase::kMixed : Phase::kPrefill;
  return decodes > 0 ? Phase::kDecode : Phase::kIdle;
}

void complete(ServingLabel& label) {
  if (label.phase == Phase::kUnknown)
    label.phase = label.prompts >= 0 || label.decodes >= 0
                      ? phase_of(label.prompts, label.decodes)
                      : phase_of(label.prompt_tokens, label.decode_tokens);
  if (label.requests < 0 && (label.prompts >= 0 || label.decodes >= 0))
    label.requests =
        std::max<std::int64_t>(label.prompts, 0) + std::max<std::int64_t>(label.decodes, 0);
}

}  // namespace

std::string_view phase_name(ServingPhase phase) {
  switch (phase) {
    case Phase::kPrefill:
      return "prefill";
    case Phase::kDecode:
      return "decode";
    case Phase::kMixed:
      return "mixed";
    case Phase::kIdle:
      return "idle";
    case Phase::kDiffusion:
      return "diffusion";
    case Phase::kUnknown:
      break;
  }
  return "unknown";
}

std::optional<ServingAnnotation> serving_annotation(std::string_view name) {
  // No pattern fits a longer name, and the time that stars take grows with its square.
  constexpr std::size_t kLongestName = 1000;
  if (name.size() > kLongestName) return std::nullopt;
  for (const Pattern& pattern : kPatterns) {
    ServingAnnotation annotation{pattern.style, {.phase = pattern.phase}};
    if (!fits(pattern.text, name, annotation.label)) continue;
    complete(annotation.label);
    return annotation;
  }
  return std::nullopt;
}

}  // namespace assay::trace
