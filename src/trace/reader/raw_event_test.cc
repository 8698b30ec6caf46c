#include "trace/reader/raw_event.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::trace {
namespace {

TEST(Tokens, MicrosecondsBecomeNanoseconds) {
  EXPECT_EQ(nanoseconds("4339292520389.508").value, 4339292520389508);
  EXPECT_EQ(nanoseconds("-2.5").value, -2500);
  EXPECT_EQ(nanoseconds("1e3").value, 1'000'000);
  EXPECT_EQ(nanoseconds("0.0005").value, 1);
  EXPECT_EQ(nanoseconds("\"7\"").form, NumberForm::kNumberInText);
  EXPECT_EQ(nanoseconds("null").form, NumberForm::kAbsent);
}

TEST(Keys, AreComparedWhole) {
  EXPECT_EQ(event_field("ph"), &RawEvent::phase);
  EXPECT_EQ(event_field("dur"), &RawEvent::dur);
  EXPECT_EQ(event_field("name"), &RawEvent::name);
  EXPECT_EQ(args_field("name"), &RawEvent::args_name);
  EXPECT_EQ(args_field("correlation"), &RawEvent::correlation);
  EXPECT_EQ(args_field("Src Rank"), &RawEvent::source_rank);
  EXPECT_EQ(args_field("Dst Rank"), &RawEvent::destination_rank);
  EXPECT_EQ(args_field("wait_on_cuda_event_record_corr_id"), &RawEvent::waits_for_record);
  for (const char* other : {"", "d", "dxr", "nxme"})
    EXPECT_EQ(event_field(other), nullptr) << other;
  // Their lengths and the characters that choose the slot are those of keys that we read.
  for (const char* other : {"grxd", "devxce", "corrxlation", "Inxut Dims", "Process Gxoup Name"})
    EXPECT_EQ(args_field(other), nullptr) << other;
}

// No number of digits may overflow on the way.
TEST(Tokens, MoreDigitsThanATimeHasAreNoTime) {
  EXPECT_EQ(nanoseconds("999999999999999.999").value, 999'999'999'999'999'999);
  EXPECT_EQ(nanoseconds("1000000000000000").value, 1'000'000'000'000'000'000);
  EXPECT_EQ(nanoseconds("1732881600123456.789").value, 1'732'881'600'123'456'789);
  EXPECT_EQ(nanoseconds("9223372036854775.807").form, NumberForm::kNotANumber);
  EXPECT_EQ(nanoseconds("43390191039319089439").form, NumberForm::kNotANumber);
  EXPECT_EQ(nanoseconds("-" + std::string(400, '9')).form, NumberForm::kNotANumber);
  EXPECT_EQ(nanoseconds("1." + std::string(400, '3')).value, 1333);
  EXPECT_EQ(integer("9223372036854775808").form, NumberForm::kNotANumber);
}

}  // namespace
}  // namespace assay::trace
