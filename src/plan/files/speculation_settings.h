// How each engine is told to draft tokens with the model's own layers.
#pragma once

#include <nlohmann/json.hpp>

#include "plan/files/engine_files.h"
#include "plan/speculation.h"

namespace assay::plan {

// Options of vLLM from 0.12 on; none where nothing is drafted.
Words vllm_speculation(const Speculation& speculation);

// Options of SGLang, whose drafts are a chain; it counts the token that is verified beside them.
Words sglang_speculation(const Speculation& speculation);

// Adds TensorRT-LLM's speculative_config.
void add_trtllm_speculation(const Speculation& speculation, nlohmann::ordered_json& settings);

}  // namespace assay::plan
