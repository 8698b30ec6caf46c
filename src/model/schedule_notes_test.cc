#include "model/schedule_notes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>

#include "core/files.h"
#include "core/output_file.h"

namespace assay::model {
namespace {

class ScheduleNotesTest : public testing::Test {
 protected:
  std::filesystem::path path_ =
      testing::TempDir() + "schedule_notes_" + std::to_string(getpid()) + ".notes.json";

  void TearDown() override { std::filesystem::remove(path_); }

  // Returns the error after one replacement in the file.
  std::string error_with(const std::string& old, const std::string& replacement) const {
    std::string text = core::read_file(path_).value();
    const std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), replacement);
    EXPECT_TRUE(core::write_file(path_, text).ok());
    const auto notes = read_notes(path_);
    return notes.ok() ? "no error" : notes.error().message.substr(path_.string().size());
  }
};

ScheduleNotes example() {
  ScheduleNotes notes;
  notes.generator = "assay 0.3.0";
  notes.source = "a \"quoted\"\nname with \xff and ü";
  notes.nccl_version = "2.28.9";
  notes.made_for = "loggopsim";
  notes.time_unit_ns = 0.04;
  notes.nic_gbps = 12.5;
  notes.ranks = {{.node = "nid1", .process_id = 42, .device = 3}, {.node = "nid2"}};
  notes.tags = {.name = "bits",
                .id_width = 20,
                .label_width = 11,
                .label_fields = {"parallelism", "communicator"}};
  notes.operations = {{.function = NcclFunction::kAllGather,
                       .algorithm = NcclAlgorithm::kRing,
                       .protocol = NcclProtocol::kLl128,
                       .parallelism = "DP",
                       .communicator = "0x12",
                       .sequence = std::numeric_limits<std::uint64_t>::max(),
                       .bytes = 1ULL << 40,
                       .num_ranks = 2,
                       .num_channels = 3,
                       .label = 4},
                      {}};
  notes.spans = {{{.operation = 0,
                   .first_op = 1,
                   .num_ops = 2,
                   .measured_start_ns = -5,
                   .measured_end_ns = std::numeric_limits<std::int64_t>::max()},
                  {.operation = 1, .first_op = 3, .num_ops = 4}},
                 {}};
  return notes;
}

TEST_F(ScheduleNotesTest, ComeBackAsWritten) {
  const ScheduleNotes notes = example();
  ASSERT_TRUE(write_notes(path_, notes).ok());
  const auto read = read_notes(path_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ScheduleNotes& back = read.value();
  EXPECT_EQ(back.generator, notes.generator);
  EXPECT_EQ(back.source, "a \"quoted\"\nname with \xef\xbf\xbd and ü");
  EXPECT_EQ(back.nccl_version, notes.nccl_version);
  EXPECT_EQ(back.made_for, "loggopsim");
  EXPECT_EQ(back.time_unit_ns, 0.04);
  EXPECT_EQ(back.nic_gbps, 12.5);
  ASSERT_EQ(back.ranks.size(), 2U);
  EXPECT_EQ(back.ranks[0].node, "nid1");
  EXPECT_EQ(back.ranks[0].process_id, 42);
  EXPECT_EQ(back.ranks[1].device, -1);
  EXPECT_EQ(back.tags.name, "bits");
  EXPECT_EQ(back.tags.id_width, 20U);
  EXPECT_EQ(back.tags.label_width, 11U);
  EXPECT_EQ(back.tags.label_fields, notes.tags.label_fields);
  ASSERT_EQ(back.operations.size(), 2U);
  const ScheduleOperation& operation = back.operations[0];
  EXPECT_EQ(operation.function, NcclFunction::kAllGather);
  EXPECT_EQ(operation.algorithm, NcclAlgorithm::kRing);
  EXPECT_EQ(operation.protocol, NcclProtocol::kLl128);
  EXPECT_EQ(operation.parallelism, "DP");
  EXPECT_EQ(operation.communicator, "0x12");
  EXPECT_EQ(operation.sequence, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(operation.bytes, 1ULL << 40);
  EXPECT_EQ(operation.num_ranks, 2U);
  EXPECT_EQ(operation.num_channels, 3U);
  EXPECT_EQ(operation.label, 4U);
  EXPECT_EQ(back.operations[1].algorithm, NcclAlgorithm::kNone);
  ASSERT_EQ(back.spans.size(), 2U);
  ASSERT_EQ(back.spans[0].size(), 2U);
  EXPECT_EQ(back.spans[0][0].first_op, 1U);
  EXPECT_EQ(back.spans[0][0].num_ops, 2U);
  EXPECT_EQ(back.spans[0][0].measured_start_ns, -5);
  EXPECT_EQ(back.spans[0][0].measured_end_ns, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(back.spans[0][1].operation, 1U);
  EXPECT_TRUE(back.spans[1].empty());
}

TEST_F(ScheduleNotesTest, ComeBackEmpty) {
  ASSERT_TRUE(write_notes(path_, {}).ok());
  const auto read = read_notes(path_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read.value().operations.empty());
}

TEST_F(ScheduleNotesTest, NotesOfEarlierVersionsAreForAssay) {
  ASSERT_TRUE(write_notes(path_, {}).ok());
  EXPECT_EQ(error_with("\"made_for\"", "\"unknown\""), "no error");
  EXPECT_EQ(error_with("\"time_unit_ns\"", "\"unknown too\""), "no error");
  EXPECT_EQ(read_notes(path_).value().made_for, "assay");
  EXPECT_EQ(read_notes(path_).value().time_unit_ns, 1);
}

TEST_F(ScheduleNotesTest, ManySpansComeBack) {
  ScheduleNotes notes;
  notes.spans.resize(2);
  for (std::uint32_t i = 0; i < 50000; ++i)
    notes.spans[1].push_back({.operation = i, .first_op = 7 * i});
  ASSERT_TRUE(write_notes(path_, notes).ok());
  const auto read = read_notes(path_);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read.value().spans[1].size(), 50000U);
  EXPECT_EQ(read.value().spans[1].back().first_op, 7U * 49999);
}

TEST_F(ScheduleNotesTest, NamesTheFieldThatIsWrong) {
  const auto error = [&](const std::string& old, const std::string& replacement) {
    EXPECT_TRUE(write_notes(path_, example()).ok());
    return error_with(old, replacement);
  };
  const std::string start = ": not the notes of a schedule: ";
  const std::string end = " is missing or not as it should be";
  EXPECT_EQ(error("\"time_unit_ns\": 0.04", "\"time_unit_ns\": 0"), start + "'time_unit_ns'" + end);
  EXPECT_EQ(error("\"source\"", "\"sauce\""), start + "'source'" + end);
  EXPECT_EQ(error("\"id_width\": 20", "\"id_width\": -1"), start + "'tags.id_width'" + end);
  EXPECT_EQ(error("AllGather", "AllGathr"), start + "'operations.function'" + end);
  EXPECT_EQ(error("[0,1,2,", "[0,4294967296,2,"), start + "'spans_by_rank.first_op'" + end);
  EXPECT_EQ(error("[1,3,4,0,0]", "[1,3,4,0]"), start + "'spans_by_rank'" + end);
  EXPECT_EQ(error("\"device\": 3", "\"device\": \"3\""), start + "'ranks.device'" + end);
}

TEST_F(ScheduleNotesTest, TellsWhatIsNoJson) {
  ASSERT_TRUE(core::write_file(path_, "").ok());
  EXPECT_FALSE(read_notes(path_).ok());
  ASSERT_TRUE(core::write_file(path_, "num_ranks 4\n").ok());
  EXPECT_FALSE(read_notes(path_).ok());
  EXPECT_EQ(read_notes("/no/such").error().message,
            "cannot read '/no/such': No such file or directory");
}

TEST(ParseNotes, DamagedObjectsAreAnError) {
  // Looking for "ranks" by name would go back over the damaged "tags".
  const auto read = parse_notes(
      R"({"generator": "a", "source": "", "nccl_version": "", "tags": {"name": "bits",)"
      R"("id_width": 2, "label_width": 4, "label_fields": ["communicator"]0, "c_rank": [[]]]})",
      "damaged");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message.find("damaged: not the notes of a schedule: "), 0U);
  EXPECT_FALSE(parse_notes(R"({"generator": "a", "generator": "b"})", "twice").ok());
}

TEST(NotesPath, LiesBesideTheSchedule) {
  EXPECT_EQ(notes_path("out/job.bin"), "out/job.notes.json");
  EXPECT_EQ(notes_path("job.goal"), "job.notes.json");
}

}  // namespace
}  // namespace assay::model
