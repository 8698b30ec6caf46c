// A libFuzzer target that reads any bytes as a model's config.json and derives what serving the
// model needs; it must never crash, hang or leak.
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/serving/family.h"
#include "model/serving/needs.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  const auto model = assay::serving::parse_model(content, "config.json");
  if (model.ok()) static_cast<void>(assay::serving::needs_of({.models = {model.value()}}));
  return 0;
}
