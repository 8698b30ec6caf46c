#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/file_kind.h"
#include "core/files.h"
#include "model/goal_scanner.h"
#include "model/goal_text.h"
#include "model/schedule_writer.h"

namespace assay::model {
namespace {

// The length of "rank 0{}".
constexpr std::size_t kShortestRank = 8;

// Reads the ranks of a schedule, one after another.
class RankParser {
 public:
  RankParser(GoalScanner& scanner, std::uint32_t num_ranks)
      : scanner_(scanner), num_ranks_(num_ranks) {}

  bool parse(std::uint32_t rank) { return parse_head(rank) && parse_statements() && finish_rank(); }

  RankImage finish(RankImage spent) { return builder_.finish(std::move(spent)); }

 private:
  bool parse_head(std::uint32_t rank);
  bool parse_statements();
  bool parse_statement();
  bool parse_operation(const GoalLabel& label);
  bool parse_calculation();
  bool parse_message(OpKind kind);
  bool parse_peer(OpKind kind, std::uint64_t& peer);
  bool parse_tag(std::uint64_t& tag);
  bool parse_cpu(Place& place);
  bool parse_nic(Place& place);
  bool parse_dependency(const GoalLabel& after);
  bool find(const GoalLabel& label, std::uint32_t& op);

  bool finish_rank() {
    labels_.clear();
    return true;
  }

  GoalScanner& scanner_;
  std::uint32_t num_ranks_;
  RankBuilder builder_;
  GoalLabels labels_;
};

// Returns whether the label is this word of the language, which cannot be a label.
bool is_keyword(const GoalLabel& label, std::string_view word) {
  return !label.numbered && label.text == word;
}

bool RankParser::parse_head(std::uint32_t rank) {
  if (!scanner_.skip_to_statement()) return false;
  const std::string announced = fmt::format("'rank {}' of the {} ranks", rank, num_ranks_);
  const char* start = scanner_.position();
  const std::size_t offset = scanner_.offset();
  if (!scanner_.take("rank") || (scanner_.next() != ' ' && scanner_.next() != '\t')) {
    scanner_.go_to(offset);
    return scanner_.expected(announced);
  }
  std::uint64_t number = 0;
  if (!scanner_.take_number(number, "the number of the rank")) return false;
  if (number != rank) {
    return scanner_.failed(
        fmt::format("expected {}, found rank {}: ranks must be there once each, in order",
                    announced, number),
        start);
  }
  return scanner_.take('{') || scanner_.expected("'{'");
}

bool RankParser::parse_statements() {
  for (;;) {
    if (!scanner_.skip_to_statement()) return false;
    if (scanner_.next() == '}') return scanner_.take('}');
    if (!parse_statement()) return false;
  }
}

bool RankParser::parse_statement() {
  const char* start = scanner_.position();
  GoalLabel label;
  if (!scanner_.take_label(label)) {
    return scanner_.at_end() ? scanner_.failed("the rank has no closing '}'")
                             : scanner_.expected("an operation, a label or '}'");
  }
  if (is_keyword(label, "calc")) return parse_calculation();
  if (is_keyword(label, "send")) return parse_message(OpKind::kSend);
  if (is_keyword(label, "recv")) return parse_message(OpKind::kReceive);
  if (is_keyword(label, "rank")) {
    return scanner_.failed("the rank before this one has no closing '}'", start);
  }
  if (scanner_.take(':')) return parse_operation(label);
  return parse_dependency(label);
}

bool RankParser::parse_operation(const GoalLabel& label) {
  if (!labels_.define(label, builder_.size())) {
    return scanner_.failed(fmt::format("the label '{}' is defined already", label.text));
  }
  if (scanner_.take("calc")) return parse_calculation();
  if (scanner_.take("send")) return parse_message(OpKind::kSend);
  if (scanner_.take("recv")) return parse_message(OpKind::kReceive);
  return scanner_.expected("'calc', 'send' or 'recv'");
}

bool RankParser::parse_calculation() {
  std::uint64_t duration_ns = 0;
  Place place;
  if (!scanner_.take_number(duration_ns, "the duration")) return false;
  const bool has_cpu = scanner_.take("cpu");
  if (has_cpu && !parse_cpu(place)) return false;
  builder_.calc(duration_ns, place);
  return scanner_.take_line_end() ||
         scanner_.expected(has_cpu ? "the end of the line" : "'cpu' or the end of the line");
}

bool RankParser::parse_message(OpKind kind) {
  const bool sends = kind == OpKind::kSend;
  std::uint64_t size = 0;
  if (!scanner_.take_number(size, "the size")) return false;
  if (!scanner_.take('b')) return scanner_.expected("'b' after the size");
  if (!scanner_.take(sends ? "to" : "from")) return scanner_.expected(sends ? "'to'" : "'from'");
  std::uint64_t peer = 0;
  std::uint64_t tag = 0;
  Place place;
  if (!parse_peer(kind, peer)) return false;
  const bool has_tag = scanner_.take("tag");
  if (has_tag && !parse_tag(tag)) return false;
  const bool has_cpu = scanner_.take("cpu");
  if (has_cpu && !parse_cpu(place)) return false;
  const bool has_nic = scanner_.take("nic");
  if (has_nic && !parse_nic(place)) return false;
  const auto rank = static_cast<std::uint32_t>(peer);
  if (sends) {
    builder_.send(size, rank, static_cast<std::uint32_t>(tag), place);
  } else {
    builder_.receive(size, rank, static_cast<std::uint32_t>(tag), place);
  }
  if (scanner_.take_line_end()) return true;
  if (has_nic) return scanner_.expected("the end of the line");
  if (has_cpu) return scanner_.expected("'nic' or the end of the line");
  return scanner_.expected(has_tag ? "'cpu', 'nic' or the end of the line"
                                   : "'tag', 'cpu', 'nic' or the end of the line");
}

bool RankParser::parse_peer(OpKind kind, std::uint64_t& peer) {
  if (kind == OpKind::kReceive && scanner_.take("-1")) {
    peer = kAnyPeer;
    return true;
  }
  return scanner_.take_number_to(num_ranks_ - 1, peer, "the other rank",
                                 "the schedule has no such rank (see its num_ranks)");
}

bool RankParser::parse_tag(std::uint64_t& tag) {
  if (scanner_.take("-1")) {
    tag = kAnyTag;
    return true;
  }
  return scanner_.take_number_to(kAnyTag, tag, "the tag", "a tag has 32 bits");
}

bool RankParser::parse_cpu(Place& place) {
  std::uint64_t cpu = 0;
  if (!scanner_.take_number_to(kMostCpu, cpu, "the cpu", "the last one is 254")) return false;
  place.cpu = static_cast<std::uint8_t>(cpu);
  return true;
}

bool RankParser::parse_nic(Place& place) {
  std::uint64_t nic = 0;
  if (!scanner_.take_number_to(kMostNic, nic, "the nic", "the last one is 254")) return false;
  place.nic = static_cast<std::uint8_t>(nic);
  return true;
}

bool RankParser::parse_dependency(const GoalLabel& after) {
  const bool finish = scanner_.take("requires");
  if (!finish && !scanner_.take("irequires")) {
    return scanner_.expected("':', 'requires' or 'irequires' after a label");
  }
  std::uint32_t op = 0;
  if (!find(after, op)) return false;
  GoalLabel before;
  if (!scanner_.take_label(before)) return scanner_.expected("a label");
  std::uint32_t before_op = 0;
  if (!find(before, before_op)) return false;
  if (finish) {
    builder_.require_finish(op, before_op);
  } else {
    builder_.require_start(op, before_op);
  }
  return scanner_.take_line_end() || scanner_.expected("the end of the line");
}

bool RankParser::find(const GoalLabel& label, std::uint32_t& op) {
  op = labels_.find(label);
  if (op != GoalLabels::kUndefined) return true;
  return scanner_.failed(fmt::format(
      "no operation above this line has the label '{}' (labels belong to their rank)", label.text));
}

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

core::Result<GoalText> GoalText::from_file(core::MappedFile file, std::string name) {
  GoalText text(std::move(name));
  text.file_.emplace(std::move(file));
  ASSAY_TRY(text.read_head());
  return text;
}

core::Result<GoalText> GoalText::open(const std::filesystem::path& path) {
  return from_file(ASSAY_TRY(core::MappedFile::open(path)), path.string());
}

core::Result<GoalText> GoalText::from_text(std::string text, std::string name) {
  GoalText made(std::move(name));
  made.text_ = std::move(text);
  ASSAY_TRY(made.read_head());
  return made;
}

core::Status GoalText::read_head() {
  if (text().starts_with(kJobFileStart)) {
    return core::Error{fmt::format(
        "'{}' is a job, and no schedule yet: 'assay goal generate {} -o DIR --write bin' makes it",
        name_, name_)};
  }
  GoalScanner scanner(text());
  std::uint64_t number = 0;
  const bool good =
      scanner.skip_to_statement() &&
      (scanner.take("num_ranks") ||
       scanner.expected("'num_ranks', with which a GOAL schedule begins")) &&
      scanner.take_number(number, "the number of ranks") &&
      (number > 0 || scanner.failed("a schedule has at least one rank")) &&
      (number <= text().size() / kShortestRank ||
       scanner.failed(fmt::format("{} ranks do not fit into the file: cut short?", number)));
  if (!good) {
    const core::Status kind = core::check_kind(text(), core::TextFormat::kGoal);
    return kind.ok() ? scanner.error(name_) : kind.error().context(name_);
  }
  num_ranks_ = static_cast<std::uint32_t>(number);
  head_bytes_ = scanner.offset();
  return {};
}

core::Status GoalText::read(RankSink& ranks) {
  GoalScanner scanner(text());
  scanner.go_to(head_bytes_);
  RankParser parser(scanner, num_ranks_);
  RankImage image;
  for (std::uint32_t rank = 0; rank < num_ranks_; ++rank) {
    if (!parser.parse(rank)) return scanner.error(name_);
    image = parser.finish(std::move(image));
    ASSAY_TRY(ranks.append(image));
    if (file_) file_->forget(scanner.offset());
  }
  const bool good =
      scanner.skip_to_statement() &&
      (scanner.at_end() ||
       scanner.expected(fmt::format("nothing after the last of the {} ranks", num_ranks_)));
  if (!good) return scanner.error(name_);
  return {};
}

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
