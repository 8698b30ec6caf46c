// The names by which engines that serve models annotate each run of the model, and what such a name
// tells: whether the run reads prompts (prefill), generates tokens (decode) or does both (mixed),
// for how many requests and tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::trace {

enum class ServingPhase : std::uint8_t { kUnknown, kPrefill, kDecode, kMixed, kIdle, kDiffusion };

std::string_view phase_name(ServingPhase phase);

// -1 stands for a number that the annotation does not tell.
struct ServingLabel {
  ServingPhase phase = ServingPhase::kUnknown;
  std::int64_t prompts = -1;        // requests whose prompt is read
  std::int64_t prompt_tokens = -1;  // tokens of prompts that are read
  std::int64_t decodes = -1;        // requests for which a token is generated
  std::int64_t decode_tokens = -1;  // tokens that go through the model for these
  std::int64_t requests = -1;       // all requests: the batch size
};

// A way of annotating. Engines nest annotations of several kinds; the lowest style that a trace has
// gives its steps.
using ServingStyle = std::size_t;

struct ServingAnnotation {
  ServingStyle style = 0;
  ServingLabel label;
};

// Returns what an annotation tells, std::nullopt for one that is no run of a model.
std::optional<ServingAnnotation> serving_annotation(std::string_view name);

}  // namespace assay::trace
