#include "model/schedule_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/output_file.h"

namespace assay::model {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

class FileSink final : public RankSink {
 public:
  FileSink(std::FILE* file, const std::filesystem::path& path, std::uint32_t num_ranks)
      : file_(file), path_(path), header_(num_ranks) {}

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
  [[nodiscard]] core::Status failure() const {
    return core::Error{fmt::format("cannot write '{}': {}", path_.string(), std::strerror(errno))};
  }

  core::Status write(const std::vector<char>& bytes) {
    const bool all = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
    return all ? core::Status{} : failure();
  }

  std::FILE* file_;
  const std::filesystem::path& path_;  // as the user knows it
  ScheduleHeader header_;
};

}  // namespace

ScheduleHeader::ScheduleHeader(std::uint32_t num_ranks)
    : start_{.num_ranks = num_ranks},
      next_(sizeof(ScheduleStart) - kOffsetOrigin + num_ranks * sizeof(RankExtent)) {}

void ScheduleHeader::add(const RankImage& rank) {
  start_.max_cpu = static_cast<std::uint8_t>(std::max<unsigned>(start_.max_cpu, rank.max_cpu));
  start_.max_nic = static_cast<std::uint8_t>(std::max<unsigned>(start_.max_nic, rank.max_nic));
  extents_.push_back({next_, next_ + rank.bytes.size()});
  next_ += rank.bytes.size();
}

std::vector<char> ScheduleHeader::bytes() const {
  std::vector<char> bytes(sizeof(start_) + start_.num_ranks * sizeof(RankExtent));
  std::memcpy(bytes.data(), &start_, sizeof(start_));
  if (!extents_.empty()) {
    std::memcpy(bytes.data() + sizeof(start_), extents_.data(),
                extents_.size() * sizeof(RankExtent));
  }
  return bytes;
}

std::uint32_t RankBuilder::add(const ScheduleOp& op) {
  image_.max_cpu = std::max<unsigned>(image_.max_cpu, op.cpu);
  image_.max_nic = std::max<unsigned>(image_.max_nic, op.nic);
  ops_.push_back(op);
  return static_cast<std::uint32_t>(ops_.size() - 1);
}

std::uint32_t RankBuilder::send(std::uint64_t size_bytes,
                                std::uint32_t peer,
                                std::uint32_t tag,
                                Place place) {
  return add({.kind = OpKind::kSend,
              .peer = peer,
              .size = size_bytes,
              .tag = tag,
              .cpu = place.cpu,
              .nic = place.nic});
}

std::uint32_t RankBuilder::receive(std::uint64_t size_bytes,
                                   std::uint32_t peer,
                                   std::uint32_t tag,
                                   Place place) {
  return add({.kind = OpKind::kReceive,
              .peer = peer,
              .size = size_bytes,
              .tag = tag,
              .cpu = place.cpu,
              .nic = place.nic});
}

std::uint32_t RankBuilder::calc(std::uint64_t duration_ns, Place place) {
  return add({.kind = OpKind::kCalc, .size = duration_ns, .cpu = place.cpu, .nic = place.nic});
}

void RankBuilder::count_edges() {
  for (const Edge& edge : finish_) {
    ++ops_[edge.before].finish_dependents;
    ++ops_[edge.after].dependencies;
  }
  for (const Edge& edge : start_) {
    ++ops_[edge.before].start_dependents;
    ++ops_[edge.after].dependencies;
  }
}

void RankBuilder::number_dependents() {
  std::uint32_t next = 0;
  for (ScheduleOp& op : ops_) {
    op.first_finish_dependent = next;
    next += op.finish_dependents;
    op.first_start_dependent = next;
    next += op.start_dependents;
  }
}

void RankBuilder::place_dependents(PackedIndex* dependents) {
  next_.resize(ops_.size());
  // A pointer to a member would lose the fact that the member is unaligned.
  const auto place = [&](const std::vector<Edge>& edges, const auto& first_dependent) {
    if (edges.empty()) return;
    for (std::size_t i = 0; i < ops_.size(); ++i)
      next_[i] = first_dependent(ops_[i]);
    for (const Edge& edge : edges)
      dependents[next_[edge.before]++].value = edge.after;
  };
  place(finish_, [](const ScheduleOp& op) { return op.first_finish_dependent; });
  place(start_, [](const ScheduleOp& op) { return op.first_start_dependent; });
}

RankImage RankBuilder::finish(RankImage spent) {
  count_edges();
  number_dependents();
  const auto roots = static_cast<std::uint32_t>(std::count_if(
      ops_.begin(), ops_.end(), [](const ScheduleOp& op) { return op.dependencies == 0; }));
  const std::size_t edges = finish_.size() + start_.size();
  image_.bytes = std::move(spent.bytes);
  image_.bytes.resize((2 + roots + edges) * sizeof(PackedIndex) + ops_.size() * sizeof(ScheduleOp));

  auto* index = reinterpret_cast<PackedIndex*>(image_.bytes.data());
  (index++)->value = static_cast<std::uint32_t>(ops_.size());
  (index++)->value = roots;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].dependencies == 0) (index++)->value = i;
  }
  auto* cursor = reinterpret_cast<char*>(index);
  if (!ops_.empty()) std::memcpy(cursor, ops_.data(), ops_.size() * sizeof(ScheduleOp));
  place_dependents(reinterpret_cast<PackedIndex*>(cursor + ops_.size() * sizeof(ScheduleOp)));
  ops_.clear();
  finish_.clear();
  start_.clear();
  return std::exchange(image_, {});
}

core::Status write_binary_schedule(const std::filesystem::path& path,
                                   std::uint32_t num_ranks,
                                   const std::function<core::Status(RankSink&)>& ranks) {
  return core::write_file_with(
      path,
      [&](const std::filesystem::path& temporary) -> core::Status {
        const File file(std::fopen(temporary.c_str(), "wb"));
        if (!file)
          return core::Error{
              fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno))};
        FileSink sink(file.get(), path, num_ranks);
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
