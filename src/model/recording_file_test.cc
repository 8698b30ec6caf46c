#include "model/recording_file.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::model::recording {
namespace {

template <class Record>
void put(std::string& bytes, std::size_t at, Record record, Kind kind) {
  auto& head = reinterpret_cast<Head&>(record);
  head.kind = kind;
  head.size_bytes = sizeof record;
  std::memcpy(bytes.data() + at, &record, sizeof record);
}

std::string file_with(std::size_t blocks) {
  std::string bytes((1 + blocks) * kBlockBytes, '\0');
  const Header header;
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

TEST(RecordingFile, ReadsBlocksUpToTheirFirstZero) {
  std::string bytes = file_with(2);
  put(bytes, kBlockBytes, Plan(), Kind::kPlan);
  put(bytes, kBlockBytes + sizeof(Plan), Clock(), Kind::kClock);
  put(bytes, 2 * kBlockBytes, Plan(), Kind::kPlan);
  const File file = File::parse(bytes, "a.rec").value();
  ASSERT_EQ(file.records().size(), 3U);
  EXPECT_EQ(file.records()[0].number(), kBlockBytes / 8);
  EXPECT_EQ(file.records()[1].kind(), Kind::kClock);
  EXPECT_EQ(file.damaged_blocks(), 0U);
}

TEST(RecordingFile, AnyCutLeavesTheRecordsBefore) {
  std::string bytes = file_with(1);
  put(bytes, kBlockBytes, Plan(), Kind::kPlan);
  put(bytes, kBlockBytes + sizeof(Plan), Plan(), Kind::kPlan);
  for (std::size_t size = 0; size < kBlockBytes + 2 * sizeof(Plan); ++size) {
    const auto file = File::parse(bytes.substr(0, size), "a.rec");
    if (!file.ok()) {
      EXPECT_LT(size, sizeof(Header));
      continue;
    }
    EXPECT_EQ(file.value().records().size(), size >= kBlockBytes + sizeof(Plan) ? 1U : 0U);
  }
}

TEST(RecordingFile, DamagedBlockEndsThere) {
  std::string bytes = file_with(2);
  put(bytes, kBlockBytes, Plan(), Kind::kPlan);
  Head damaged;
  damaged.kind = Kind::kPlan;
  damaged.size_bytes = 7;
  std::memcpy(bytes.data() + kBlockBytes + sizeof(Plan), &damaged, sizeof damaged);
  put(bytes, 2 * kBlockBytes, Plan(), Kind::kPlan);
  const File file = File::parse(bytes, "a.rec").value();
  EXPECT_EQ(file.records().size(), 2U);
  EXPECT_EQ(file.damaged_blocks(), 1U);
}

TEST(RecordingFile, RefusesOthers) {
  EXPECT_TRUE(File::parse("", "a.rec").value().empty());
  EXPECT_TRUE(File::parse(std::string(kBlockBytes, '\0'), "a.rec").value().empty());
  EXPECT_NE(File::parse(std::string(1000, 'x'), "a.rec").error().message.find("a.rec"),
            std::string::npos);
  std::string newer = file_with(0);
  newer[8] = 9;
  EXPECT_NE(File::parse(newer, "a.rec").error().message.find("version 9"), std::string::npos);
}

TEST(RecordingFile, ShortRecordReadsAsDefaults) {
  std::string bytes = file_with(1);
  Head head;
  head.kind = Kind::kColl;
  head.size_bytes = sizeof head;
  std::memcpy(bytes.data() + kBlockBytes, &head, sizeof head);
  const File file = File::parse(bytes, "a.rec").value();
  ASSERT_EQ(file.records().size(), 1U);
  EXPECT_EQ(file.records()[0].as<Coll>().root, -1);
  EXPECT_EQ(file.records()[0].text<Note>(100), "");
}

}  // namespace
}  // namespace assay::model::recording
