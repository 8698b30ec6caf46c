// The serving engines whose schedulers, limits and files assay plan knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay::plan {

enum class Engine : std::uint8_t { kTrtllm, kVllm, kSglang };

// "trtllm", "vllm", "sglang": the spelling of performance tables and of measured deployments.
std::string_view name_of(Engine engine);
std::optional<Engine> engine_named(std::string_view name);

}  // namespace assay::plan
