#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <limits>
#include <vector>

#include "report/packed_text.h"
#include "report/page_json.h"

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string from_base64(const std::string& text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<std::uint32_t>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xffU);
  }
  return bytes;
}

std::string unpacked(const std::string& text) {
  std::string packed = from_base64(text);
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 31), Z_OK);
  std::vector<char> result(std::size_t{1} << 20U);
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  const std::size_t size = result.size() - stream.avail_out;
  inflateEnd(&stream);
  return {result.data(), size};
}

TEST(PackedText, IsBase64AsOthersWriteIt) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("a"), "YQ==");
  EXPECT_EQ(base64("as"), "YXM=");
  EXPECT_EQ(base64("asy"), "YXN5");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
}

TEST(PackedText, UnpacksToItself) {
  std::string text;
  for (int i = 0; i < 30000; ++i)
    text += std::to_string(i * 7919 % 1000);
  EXPECT_EQ(unpacked(packed_text(text)), text);
  EXPECT_EQ(unpacked(packed_text("")), "");
}

TEST(PageJson, HoldsCellsByColumnAndMissingNumbersAsNull) {
  model::Table table{
      .name = "t", .title = "", .columns = {{.name = "a"}, {.name = "b", .unit = "ms"}}};
  table.style.verdict_column = "a";
  table.add_row({"x\"<", 1.5});
  table.add_row({std::int64_t{7}, kNone});
  table.add_row({model::Cell(), true});
  const auto json = nlohmann::json::parse(table_json(table));
  EXPECT_EQ(json["cells"].dump(), R"([["x\"<",7,null],[1.5,null,true]])");
  EXPECT_EQ(json["columns"][1]["unit"], "ms");
  EXPECT_EQ(json["verdict"], 0);
}

TEST(PageJson, DescribesEachKindOfChart) {
  TimelineChart timeline{.axis = "ms",
                         .length_us = 10,
                         .rows = {{"computation", kBlack}},
                         .names = {"k"},
                         .lanes = {{"rank 0", {{{1, 2, 0, false}, {4.5, 1, 0, true}}}}}};
  const Page page{
      .title = "t",
      .answer = {},
      .choices = {{"Setting", {"a", "b"}, 1}},
      .cards = {
          {.id = "w",
           .title = "w",
           .content = WaterfallChart{"ms", "ms", {"a", 1}, {"b", 3}, {{"p", 2, "note", "card"}}}},
          {.id = "m",
           .title = "m",
           .content = MapChart{.scale = MapChart::Scale::kDifference,
                               .x_title = {},
                               .y_title = {},
                               .unit = {},
                               .columns = {"c"},
                               .rows = {"r"},
                               .panels = {{.title = {}, .values = {kNone}}}}},
          {.id = "t", .title = "t", .content = timeline, .when = {{"Setting", "b"}}}}};
  const auto json = nlohmann::json::parse(page_json(page));
  EXPECT_EQ(json["choices"][0]["first"], 1);
  EXPECT_EQ(json["cards"][0]["chart"]["parts"][0]["link"], "card");
  EXPECT_EQ(json["cards"][1]["chart"]["scale"], "difference");
  EXPECT_TRUE(json["cards"][1]["chart"]["panels"][0]["values"][0].is_null());
  const auto& row = json["cards"][2]["chart"]["lanes"][0]["rows"][0];
  EXPECT_EQ(row["start"].dump(), "[1.0,3.5]");  // differences
  EXPECT_EQ(row["critical"].dump(), "[1]");
  EXPECT_EQ(json["cards"][2]["when"][0]["value"], "b");
}

TEST(Page, IdsHaveNoCharactersThatMean) {
  EXPECT_EQ(card_id("a b/c<d>\"#é"), "a_b_c_d_____");
  EXPECT_EQ(card_id("tp4.sm90-NONE_1"), "tp4.sm90-NONE_1");
}

TEST(Page, EscapesEveryText) {
  if (!has_pages()) GTEST_SKIP() << "built without pages";
  const std::string hostile = "</title><script>x</script>\"'&";
  const model::Table table{.name = "t", .title = "", .columns = {{.name = hostile}}};
  const Page page{.title = hostile,
                  .answer = {.sentence = hostile,
                             .verdict = hostile,
                             .compared = hostile,
                             .why = {{hostile, hostile}},
                             .next = {{hostile}},
                             .warnings = {{hostile}},
                             .other_warnings = {{hostile}}},
                  .cards = {{.id = "t", .title = hostile, .content = TableCard{table}}},
                  .provenance = {{hostile, hostile}}};
  const std::string html = page_html(page).value();
  EXPECT_THAT(html, Not(HasSubstr("<script>x")));
  EXPECT_THAT(html, Not(HasSubstr("\"'&")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;x"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
}

TEST(Page, NegativeNumbersInSentencesHaveMinusSigns) {
  if (!has_pages()) GTEST_SKIP() << "built without pages";
  const std::string text = "cta-4 -o 3: -0.289 ms (-0.883 %)";
  const std::string html =
      page_html({.title = "t", .answer = {.sentence = text, .why = {{text}}, .next = {{text}}}})
          .value();
  const std::string shown =
      "cta-4 -o 3: \u2212"
      "0.289 ms (\u2212"
      "0.883 %)";
  EXPECT_THAT(html, HasSubstr("<h1>" + shown));
  EXPECT_THAT(html, HasSubstr("<li>" + shown));
  EXPECT_THAT(html, HasSubstr("<li>" + text));
}

}  // namespace
}  // namespace assay::report
