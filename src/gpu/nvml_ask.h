// Questions to NVML: an answer, or nothing where the function is missing or fails.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "gpu/nvml_abi.h"

namespace assay::gpu::nvml {

// What the function writes to its last parameter.
template <class Value, class Function, class... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != kSuccess) return {};
  return value;
}

// "" for no answer.
template <class Function, class... Arguments>
std::string ask_text(Function function, Arguments... arguments) {
  std::array<char, kTextBytes> text{};
  if (function == nullptr || function(arguments..., text.data(), kTextBytes) != kSuccess) return {};
  text.back() = '\0';
  return text.data();
}

// Of milliwatts and millijoules.
template <class Number>
std::optional<double> thousandths(std::optional<Number> value) {
  if (!value) return {};
  return static_cast<double>(*value) / 1000.0;
}

std::optional<double> temperature_celsius(const Functions& nvml, Handle handle);

// Degrees that the GPU may still heat up before it slows itself down.
std::optional<double> thermal_margin_celsius(const Functions& nvml, Handle handle);

}  // namespace assay::gpu::nvml
