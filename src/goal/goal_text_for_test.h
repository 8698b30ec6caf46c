// Schedules for tests, written as text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/goal_text.h"

namespace assay::goal {

inline model::Schedule schedule_of(const std::string& text) {
  auto goal = model::GoalText::from_text(text, "test.goal");
  EXPECT_TRUE(goal.ok()) << goal.error().message;
  auto schedule = model::convert(goal.value(), "test.goal");
  EXPECT_TRUE(schedule.ok()) << schedule.error().message;
  return std::move(schedule).value();
}

inline std::string text_of(const model::Schedule& schedule) {
  std::string text;
  const auto status = model::write_goal_text(schedule, [&](std::string_view piece) -> core::Status {
    text += piece;
    return {};
  });
  EXPECT_TRUE(status.ok());
  return text;
}

}  // namespace assay::goal
