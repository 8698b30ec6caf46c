#include "trace/fuse/event_text.h"

#include <gtest/gtest.h>

namespace assay::trace::fuse {
namespace {

std::string text_of(const EventText& event) {
  std::string text;
  event.append_to(text);
  return text;
}

TEST(EventText, OnlyWhatIsReplacedChanges) {
  auto event = EventText::scan(
      R"({"ph": "X", "name": "a \"pid\": 9", "pid": 3, "ts": 12.5,)"
      R"( "args": {"correlation": 7, "deep": {"pid": 4}, "list": [1, {"id": 2}]}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->value(Member::kPid), "3");
  EXPECT_EQ(event->value(Member::kCorrelation), "7");
  EXPECT_EQ(event->value(Member::kId), "");
  event->replace(Member::kPid, "1003");
  event->replace(Member::kCorrelation, "70");
  EXPECT_EQ(text_of(*event),
            R"({"ph": "X", "name": "a \"pid\": 9", "pid": 1003, "ts": 12.5,)"
            R"( "args": {"correlation": 70, "deep": {"pid": 4}, "list": [1, {"id": 2}]}})");
}

TEST(EventText, MembersMayComeInAnyOrder) {
  auto event = EventText::scan(R"({"args":{"External id":5},"ts":1,"pid":"Spans","id":8})");
  ASSERT_TRUE(event);
  event->replace(Member::kId, "80");
  event->replace(Member::kExternalId, "50");
  EXPECT_EQ(text_of(*event), R"({"args":{"External id":50},"ts":1,"pid":"Spans","id":80})");
}

TEST(EventText, ATimeAndItsLengthAreReplaced) {
  auto event = EventText::scan(R"({"dur": 2, "ts": 1, "args": {"dur": 3}})");
  ASSERT_TRUE(event);
  event->replace(Member::kTime, "10");
  event->replace(Member::kDuration, "20");
  EXPECT_EQ(text_of(*event), R"({"dur": 20, "ts": 10, "args": {"dur": 3}})");
}

TEST(EventText, ControlCharactersBecomeBlanks) {
  const auto event = EventText::scan("{\"name\": \"a\tb\",\n\"pid\": 1}");
  ASSERT_TRUE(event);
  EXPECT_EQ(text_of(*event), "{\"name\": \"a b\", \"pid\": 1}");
}

TEST(EventText, WhatIsNoObjectIsRefused) {
  for (const char* text : {"", "7", "{", "{\"a\"}", "{\"a\": }", "{\"a\": \"b}", "{\"a\": [1}",
                           "{\"a\": 1 \"b\": 2}", "{\"a\\"})
    EXPECT_FALSE(EventText::scan(text)) << text;
}

}  // namespace
}  // namespace assay::trace::fuse
