#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "core/output_file.h"
#include "model/goal_text.h"

namespace assay::model {
namespace {

constexpr std::size_t kTextPieceBytes = 256 << 10;
// The longest possible line has seven words and five numbers of at most 20 digits.
constexpr std::size_t kLongestLine = 160;

// Collects lines and passes them on in pieces.
class Lines {
 public:
  explicit Lines(const WriteText& write) : write_(write), buffer_(kTextPieceBytes + kLongestLine) {}

  // Must be called before every line.
  core::Status begin() { return length_ < kTextPieceBytes ? core::Status{} : flush(); }

  void add(std::string_view text) {
    std::memcpy(buffer_.data() + length_, text.data(), text.size());
    length_ += text.size();
  }

  void add(std::uint64_t number) {
    char* at = buffer_.data() + length_;
    length_ += static_cast<std::size_t>(std::to_chars(at, at + 20, number).ptr - at);
  }

  core::Status flush() {
    const std::size_t length = std::exchange(length_, 0);
    return length == 0 ? core::Status{} : write_({buffer_.data(), length});
  }

 private:
  const WriteText& write_;
  std::vector<char> buffer_;
  std::size_t length_ = 0;
};

struct Edge {
  std::uint32_t before;
  std::uint32_t after;
  std::string_view word;
};

// The dependencies of a rank, sorted by the operation after which each is written: the first one
// where both labels are defined and all earlier entries of the same list of dependents have been
// written.
class EdgeOrder {
 public:
  explicit EdgeOrder(const RankView& rank) : first_(rank.ops.size() + 1) {
    each(rank, [&](std::size_t place, const Edge&) { ++first_[place + 1]; });
    for (std::size_t i = 1; i < first_.size(); ++i)
      first_[i] += first_[i - 1];
    edges_.resize(first_.back());
    std::vector<std::size_t> next = first_;
    each(rank, [&](std::size_t place, const Edge& edge) { edges_[next[place]++] = edge; });
  }

  [[nodiscard]] std::span<const Edge> behind(std::size_t op) const {
    return {edges_.data() + first_[op], first_[op + 1] - first_[op]};
  }

 private:
  template <class Call>
  static void each(const RankView& rank, const Call& call) {
    for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
      each_of(op, rank.after_finish(rank.ops[op]), " requires l", call);
      each_of(op, rank.after_start(rank.ops[op]), " irequires l", call);
    }
  }

  template <class Call>
  static void each_of(std::uint32_t op,
                      std::span<const PackedIndex> dependents,
                      std::string_view word,
                      const Call& call) {
    std::uint32_t place = op;
    for (const PackedIndex& dependent : dependents) {
      place = std::max(place, std::uint32_t{dependent.value});
      call(place, Edge{op, dependent.value, word});
    }
  }

  std::vector<std::size_t> first_;
  std::vector<Edge> edges_;
};

class TextSink final : public RankSink {
 public:
  explicit TextSink(const WriteText& write, std::uint32_t first_rank = 0)
      : lines_(write), next_rank_(first_rank) {}

  void start(std::uint32_t num_ranks) {
    lines_.add("num_ranks ");
    lines_.add(num_ranks);
    lines_.add("\n");
  }

  core::Status append(const RankImage& rank) override {
    return append(ASSAY_TRY(view_rank(rank.bytes, next_rank_)));
  }

  core::Status append(const RankView& rank) {
    ASSAY_TRY(lines_.begin());
    lines_.add("\nrank ");
    lines_.add(next_rank_);
    lines_.add(" {\n");
    const EdgeOrder edges(rank);
    for (std::size_t op = 0; op < rank.ops.size(); ++op) {
      ASSAY_TRY(lines_.begin());
      ASSAY_TRY(add_operation(op, rank.ops[op]));
      for (const Edge& edge : edges.behind(op)) {
        ASSAY_TRY(lines_.begin());
        add_dependency(edge);
      }
    }
    ASSAY_TRY(lines_.begin());
    lines_.add("}\n");
    ++next_rank_;
    return {};
  }

  core::Status finish() { return lines_.flush(); }

 private:
  core::Status add_operation(std::size_t index, const ScheduleOp& op) {
    lines_.add("l");
    lines_.add(index);
    if (op.kind == OpKind::kCalc) return add_calculation(index, op);
    const bool sends = op.kind == OpKind::kSend;
    lines_.add(sends ? ": send " : ": recv ");
    lines_.add(op.size);
    lines_.add(sends ? "b to " : "b from ");
    add_or_any(op.peer, kAnyPeer);
    lines_.add(" tag ");
    add_or_any(op.tag, kAnyTag);
    lines_.add(" cpu ");
    lines_.add(op.cpu);
    lines_.add(" nic ");
    lines_.add(op.nic);
    lines_.add("\n");
    return {};
  }

  core::Status add_calculation(std::size_t index, const ScheduleOp& op) {
    if (op.nic != 0) {
      return core::Error{
          fmt::format("rank {}: operation {}, a calculation, names nic {}; text has no word for it",
                      next_rank_, index, static_cast<unsigned>(op.nic))};
    }
    lines_.add(": calc ");
    lines_.add(op.size);
    lines_.add(" cpu ");
    lines_.add(op.cpu);
    lines_.add("\n");
    return {};
  }

  void add_dependency(const Edge& edge) {
    lines_.add("l");
    lines_.add(edge.after);
    lines_.add(edge.word);
    lines_.add(edge.before);
    lines_.add("\n");
  }

  void add_or_any(std::uint32_t number, std::uint32_t any) {
    if (number == any) {
      lines_.add("-1");
    } else {
      lines_.add(number);
    }
  }

  Lines lines_;
  std::uint32_t next_rank_;
};

}  // namespace

core::Status write_goal_text(std::uint32_t num_ranks,
                             const std::function<core::Status(RankSink&)>& ranks,
                             const WriteText& write) {
  TextSink sink(write);
  sink.start(num_ranks);
  ASSAY_TRY(ranks(sink));
  return sink.finish();
}

core::Status write_goal_text(const Schedule& schedule, const WriteText& write) {
  TextSink sink(write);
  sink.start(static_cast<std::uint32_t>(schedule.ranks().size()));
  for (const RankView& rank : schedule.ranks())
    ASSAY_TRY(sink.append(rank));
  return sink.finish();
}

core::Status write_goal_text_file(const std::filesystem::path& path,
                                  std::uint32_t num_ranks,
                                  const std::function<core::Status(RankSink&)>& ranks) {
  return core::write_file_in_pieces(
      path, [&](const WriteText& write) { return write_goal_text(num_ranks, ranks, write); },
      core::Durability::kUnsynced);
}

core::Status write_goal_text_file(const std::filesystem::path& path, const Schedule& schedule) {
  return core::write_file_in_pieces(
      path, [&](const WriteText& write) { return write_goal_text(schedule, write); },
      core::Durability::kUnsynced);
}

core::Status write_goal_text_part(const std::filesystem::path& path,
                                  std::uint32_t rank,
                                  const RankImage& image) {
  return core::write_file_in_pieces(
      path,
      [&](const WriteText& write) -> core::Status {
        TextSink sink(write, rank);
        ASSAY_TRY(sink.append(image));
        return sink.finish();
      },
      core::Durability::kUnsynced);
}

}  // namespace assay::model
