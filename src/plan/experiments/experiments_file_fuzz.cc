// libFuzzer target: any bytes are a file of experiments. None may crash, hang or leak, and what is
// accepted names models and has counts from 1 on.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "plan/experiments/experiments_file.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto experiments = plan::parse_experiments(text, "fuzz.yaml");
  if (!experiments.ok()) return 0;
  for (const plan::Experiment& one : experiments.value()) {
    ASSAY_CHECK(!one.model.empty() && one.gpus >= 1 && one.prompt_tokens > one.cached_prefix,
                "an experiment can be searched");
  }
  return 0;
}
