// The serving engines whose schedulers, limits and files assay plan knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/serving/model.h"

namespace assay::plan {

enum class Engine : std::uint8_t { kTrtllm, kVllm, kSglang };

// "trtllm", "vllm", "sglang": the spelling of performance tables and of measured deployments.
std::string_view name_of(Engine engine);
std::optional<Engine> engine_named(std::string_view name);

// How the engine serves a checkpoint with these weights unless it is told otherwise. TensorRT-LLM
// keeps the cache of weights in fp8 in fp8 and computes attention to prompts in it; vLLM and SGLang
// keep the cache in the type of activations.
serving::Precision served_precision(Engine engine, serving::Precision checkpoint);

}  // namespace assay::plan
