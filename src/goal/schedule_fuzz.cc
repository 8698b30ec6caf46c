// libFuzzer target: any bytes are a schedule, text or binary. None may crash, hang or leak, and
// what a text says must survive both ways.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "goal/check.h"
#include "goal/schedule_statistics.h"
#include "model/goal_text.h"
#include "model/read_schedule.h"

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

void examine(const model::Schedule& schedule) {
  goal::check(schedule);
  goal::schedule_statistics(schedule, "fuzz");
}

void feed_binary(std::string_view bytes) {
  const auto schedule = model::Schedule::from_bytes({bytes.begin(), bytes.end()}, "fuzz.bin");
  if (!schedule.ok()) return;
  examine(schedule.value());
  text_of(schedule.value()).ok();
}

void feed_text(std::string_view bytes) {
  const auto schedule = schedule_of(std::string(bytes));
  if (!schedule.ok()) return;
  examine(schedule.value());
  const auto text = text_of(schedule.value());
  ASSAY_CHECK(text.ok(), "what was read from text can be written as text");
  const auto again = schedule_of(text.value());
  ASSAY_CHECK(again.ok() && text_of(again.value()).value() == text.value(),
              "a schedule survives as text");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (model::is_binary_schedule(bytes)) {
    feed_binary(bytes);
  } else {
    feed_text(bytes);
  }
  return 0;
}
