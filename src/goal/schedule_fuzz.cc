// libFuzzer target: any bytes are a schedule, text or binary. None may crash, hang or leak, and the
// content of a text must survive a round trip.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "goal/check.h"
#include "goal/summary.h"
#include "model/goal_text.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace)

core::Result<std::string> text_of(const model::Schedule& schedule) {
  std::string text;
  ASSAY_TRY(model::write_goal_text(schedule, [&](std::string_view piece) -> core::Status {
    text += piece;
    return {};
  }));
  return text;
}

core::Result<model::Schedule> schedule_of(std::string text) {
  auto goal = ASSAY_TRY(model::GoalText::from_text(std::move(text), "fuzz.goal"));
  return model::convert(goal, "fuzz.goal");
}

// Only a binary schedule may contain what text cannot express or what the reader of text refuses.
enum class Survival { kMust, kMay };

void examine(const model::Schedule& schedule, Survival survival) {
  goal::check(schedule);
  goal::schedule_statistics(schedule, "fuzz");
  const auto text = text_of(schedule);
  ASSAY_CHECK(text.ok() || survival == Survival::kMay, "what text said can be written as text");
  if (!text.ok()) return;
  const auto again = schedule_of(text.value());
  ASSAY_CHECK(again.ok() || survival == Survival::kMay, "what was written as text can be read");
  if (!again.ok()) return;
  ASSAY_CHECK(text_of(again.value()).value() == text.value(), "a schedule survives as text");
}

core::Result<model::Schedule> read(std::string_view bytes) {
  if (!model::is_binary_schedule(bytes)) return schedule_of(std::string(bytes));
  return model::Schedule::from_bytes({bytes.begin(), bytes.end()}, "fuzz.bin");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto schedule = read(bytes);
  if (schedule.ok()) {
    examine(schedule.value(), model::is_binary_schedule(bytes) ? Survival::kMay : Survival::kMust);
  }
  return 0;
}
