#include "model/read_schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/mapped_file.h"
#include "model/schedule_layout.h"

namespace assay::model {
namespace {

class MemorySink final : public RankSink {
 public:
  explicit MemorySink(std::uint32_t num_ranks) : header_(num_ranks), bytes_(header_.bytes()) {}

  core::Status append(const RankImage& rank) override {
    header_.add(rank);
    bytes_.insert(bytes_.end(), rank.bytes.begin(), rank.bytes.end());
    return {};
  }

  std::vector<char> take() {
    const std::vector<char> header = header_.bytes();
    std::copy(header.begin(), header.end(), bytes_.begin());
    return std::move(bytes_);
  }

 private:
  ScheduleHeader header_;
  std::vector<char> bytes_;
};

}  // namespace

core::Result<Schedule> convert(GoalText& text, std::string_view name) {
  MemorySink sink(text.num_ranks());
  ASSAY_TRY(text.read(sink));
  return Schedule::from_bytes(sink.take(), name);
}

core::Result<Schedule> read_schedule(const std::filesystem::path& path) {
  core::MappedFile file = ASSAY_TRY(core::MappedFile::open(path));
  if (is_binary_schedule(file.bytes())) return Schedule::from_file(std::move(file), path.string());
  GoalText text = ASSAY_TRY(GoalText::from_file(std::move(file), path.string()));
  return convert(text, path.string());
}

}  // namespace assay::model
