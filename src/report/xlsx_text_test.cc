#include "report/xlsx_text.h"

#include <gtest/gtest.h>

#include "core/text.h"

namespace assay::report {
namespace {

std::string made(const std::string& text) {
  std::string buffer;
  return worksheet_text(text, buffer);
}

TEST(WorksheetText, PassesOrdinaryTextThrough) {
  const std::string text = "aten::mm(\"a\", 'b')\t<&>\n=1+1";
  std::string buffer;
  EXPECT_EQ(&worksheet_text(text, buffer), &text);
  EXPECT_EQ(made("Zeit (µs) 测试 🚀"), "Zeit (µs) 测试 🚀");
}

TEST(WorksheetText, ReplacesWhatXmlCannotHold) {
  EXPECT_EQ(made(std::string("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(made("a\x01\x1F\rb\x7F"), "a\uFFFD\uFFFD\uFFFDb\uFFFD");
  EXPECT_EQ(made("bad \xFF\xC3 utf-8"), "bad \uFFFD\uFFFD utf-8");
  EXPECT_EQ(made("\uFFFEx\uFFFF"), "\uFFFDx\uFFFD");
}

TEST(WorksheetText, EscapesWhatLooksLikeAnEscape) {
  EXPECT_EQ(made("_x0041_"), "_x005F_x0041_");
  EXPECT_EQ(made("kernel_x64_y"), "kernel_x64_y");
  EXPECT_EQ(made("_x004"), "_x004");
}

TEST(WorksheetText, CutsLongTextWithAMark) {
  const std::string fits(kMaxCellUnits, 'x');
  EXPECT_EQ(made(fits), fits);
  const std::string cut = made(fits + "y");
  EXPECT_EQ(core::utf16_length(cut), kMaxCellUnits);
  EXPECT_TRUE(cut.ends_with(kCutMark));
  std::string rockets;
  for (std::size_t i = 0; i < kMaxCellUnits; ++i)
    rockets += "🚀";
  EXPECT_LE(core::utf16_length(made(rockets)), kMaxCellUnits);
  EXPECT_TRUE(made(rockets).ends_with(kCutMark));
}

}  // namespace
}  // namespace assay::report
