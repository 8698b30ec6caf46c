#include "model/schedule_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/files.h"
#include "model/schedule_layout.h"

namespace assay::model {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

class FileSink final : public RankSink {
 public:
  FileSink(std::FILE* file, std::uint32_t num_ranks) : file_(file), header_(num_ranks) {}

  core::Status start() { return write(header_.bytes()); }

  core::Status append(const RankImage& rank) override {
    header_.add(rank);
    return write(rank.bytes);
  }

  core::Status finish() {
    if (!header_.complete()) return core::Error{"fewer ranks than announced"};
    if (std::fseek(file_, 0, SEEK_SET) != 0) return failure();
    ASSAY_TRY(write(header_.bytes()));
    return std::fflush(file_) == 0 ? core::Status{} : failure();
  }

 private:
  static core::Status failure() { return core::Error{std::strerror(errno)}; }

  core::Status write(const std::vector<char>& bytes) {
    const bool all = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
    return all ? core::Status{} : failure();
  }

  std::FILE* file_;
  ScheduleHeader header_;
};

}  // namespace

core::Status write_binary_schedule(const std::filesystem::path& path,
                                   std::uint32_t num_ranks,
                                   const std::function<core::Status(RankSink&)>& ranks) {
  return core::write_file_with(
      path,
      [&](const std::filesystem::path& temporary) -> core::Status {
        const File file(std::fopen(temporary.c_str(), "wb"));
        if (!file) return core::Error{fmt::format("{}: {}", path.string(), std::strerror(errno))};
        FileSink sink(file.get(), num_ranks);
        ASSAY_TRY(sink.start());
        ASSAY_TRY(ranks(sink));
        return sink.finish();
      },
      core::Durability::kUnsynced);
}

std::vector<char> binary_schedule(const std::vector<RankImage>& ranks) {
  ScheduleHeader header(static_cast<std::uint32_t>(ranks.size()));
  for (const RankImage& rank : ranks)
    header.add(rank);
  std::vector<char> bytes = header.bytes();
  for (const RankImage& rank : ranks) {
    bytes.insert(bytes.end(), rank.bytes.begin(), rank.bytes.end());
  }
  return bytes;
}

}  // namespace assay::model
