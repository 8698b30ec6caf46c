// libFuzzer target: any bytes are a study file or the result of a task. None may crash, hang or
// leak; combinations are those that the study asks for, and a result that is read and written again
// is the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "simulate/study/study.h"
#include "simulate/study/task_result.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay::simulate;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto result = parse_task_result(text); result.ok()) {
    const auto again = parse_task_result(json_of(result.value()));
    ASSAY_CHECK(again.ok() && json_of(again.value()) == json_of(result.value()),
                "a result is what was written");
  }
  const auto study = parse_study(text, "fuzz.yaml", "folder");
  if (!study.ok()) return 0;
  const auto tasks = combinations(study.value());
  if (!tasks.ok()) return 0;
  for (const StudyTask& task : tasks.value()) {
    ASSAY_CHECK(task.values.size() == study.value().axes.size(), "a value of each axis");
    for (const StudySelection& out : study.value().exclude)
      ASSAY_CHECK(!out.holds(task), "what is excluded is left out");
  }
  return 0;
}
