#include "goal/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/counted.h"
#include "goal/proof.h"

namespace assay::goal {
namespace {

struct KindText {
  const char* name;
  const char* meaning;
  Weight weight;
};

// The texts in the order of FindingKind, in which problems come first.
constexpr std::array<KindText, static_cast<std::size_t>(FindingKind::kCount)> kTexts = {{
    {"unmatched send", "no receive has its source, destination and tag", Weight::kProblem},
    {"unmatched receive", "it waits for ever: no send has its source, destination and tag",
     Weight::kProblem},
    {"size mismatch", "send and receive agree in all but the size", Weight::kProblem},
    {"cycle", "operations that wait for each other never start", Weight::kProblem},
    {"cpu limit", "simulators count cpus in a byte: 254 is the last", Weight::kProblem},
    {"nic limit", "simulators count nics in a byte: 254 is the last", Weight::kProblem},
    {"tag limit", "some simulators have signed tags: 2147483647 is the last", Weight::kProblem},
    {"size limit", "some simulators have signed sizes: 2147483647 bytes is the largest message",
     Weight::kProblem},
    {"header", "simulators make as many cpus and nics as the header says", Weight::kProblem},
    {"notes", "the notes are those of another schedule", Weight::kProblem},
    {"span", "an operation's part of the graph lies outside of it or over another's",
     Weight::kProblem},
    {"label", "the tag carries another label than the operation has, or one that none has",
     Weight::kProblem},
    {"wildcard receive", "from anybody or with any tag: the order of events decides what it gets",
     Weight::kRemark},
    {"repeated tag", "messages of a pair share a tag: their order decides which gets which",
     Weight::kRemark},
    {"send to itself", "not every simulator takes it", Weight::kRemark},
}};

}  // namespace

std::vector<Finding> Findings::take() {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].count == 0) continue;
    findings.push_back({.name = kTexts[i].name,
                        .meaning = kTexts[i].meaning,
                        .weight = kTexts[i].weight,
                        .count = entries_[i].count,
                        .examples = std::move(entries_[i].examples)});
  }
  return findings;
}

namespace {

using model::OperationSpan;
using model::RankView;
using model::ScheduleNotes;
using model::ScheduleOp;

// A number of 32 bits or 10 digits leaves no room for a label.
std::uint64_t label_unit(const model::TagLayout& layout) {
  std::uint64_t unit = 1;
  const std::uint64_t base = layout.name == "bits" ? 2 : 10;
  for (unsigned i = 0; i < layout.id_width && unit <= 0xFFFFFFFF; ++i)
    unit *= base;
  return unit;
}

class NotesCheck {
 public:
  NotesCheck(const ScheduleNotes& notes, Findings& findings)
      : notes_(notes),
        findings_(findings),
        has_labels_(!notes.operations.empty() &&
                    (notes.tags.name == "bits" || notes.tags.name == "decimal")),
        unit_(label_unit(notes.tags)) {
    for (const auto& operation : notes.operations)
      labels_.insert(operation.label);
  }

  void rank(std::uint32_t rank, const RankView& view, const std::vector<OperationSpan>& spans) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const OperationSpan& span = spans[i];
      if (!fits(span, end, view)) {
        findings_.add(FindingKind::kSpan, [&] {
          return fmt::format("rank {}: span {}, operation {}, graph from {} to {}", rank, i,
                             span.operation, span.first_op,
                             std::uint64_t{span.first_op} + span.num_ops);
        });
        continue;
      }
      for (; end < span.first_op; ++end)
        check_outside(rank, end, view.ops[end]);
      for (; end < span.first_op + std::size_t{span.num_ops}; ++end)
        check_inside(rank, end, view.ops[end], notes_.operations[span.operation].label);
    }
    for (; end < view.ops.size(); ++end)
      check_outside(rank, end, view.ops[end]);
  }

 private:
  [[nodiscard]] bool fits(const OperationSpan& span, std::size_t end, const RankView& view) const {
    return span.operation < notes_.operations.size() && span.first_op >= end &&
           span.first_op <= view.ops.size() && span.num_ops <= view.ops.size() - span.first_op;
  }

  [[nodiscard]] bool carries_label(const ScheduleOp& op) const {
    return has_labels_ && op.kind != model::OpKind::kCalc && op.tag != model::kAnyTag;
  }

  void check_inside(std::uint32_t rank,
                    std::size_t index,
                    const ScheduleOp& op,
                    std::uint32_t expected) {
    if (!carries_label(op) || op.tag / unit_ == expected) return;
    findings_.add(FindingKind::kLabel, [&] {
      return fmt::format(
          "rank {}: operation {} has tag {}, label {}; its NCCL operation has label "
          "{}",
          rank, index, std::uint32_t{op.tag}, op.tag / unit_, expected);
    });
  }

  // Checks a message that the notes assign to no operation.
  void check_outside(std::uint32_t rank, std::size_t index, const ScheduleOp& op) {
    if (!carries_label(op)) return;
    const auto label = static_cast<std::uint32_t>(op.tag / unit_);
    if (labels_.count(label) > 0) return;
    findings_.add(FindingKind::kLabel, [&] {
      return fmt::format("rank {}: operation {} has tag {}, label {}, which no NCCL operation has",
                         rank, index, std::uint32_t{op.tag}, label);
    });
  }

  const ScheduleNotes& notes_;
  Findings& findings_;
  bool has_labels_;
  std::uint64_t unit_;
  std::unordered_set<std::uint32_t> labels_;
};

}  // namespace

void check_notes(const model::Schedule& schedule, const ScheduleNotes& notes, Findings& findings) {
  const std::size_t ranks = schedule.ranks().size();
  if (notes.ranks.size() != ranks || notes.spans.size() != ranks) {
    findings.add(FindingKind::kNotes, [&] {
      return fmt::format("they tell of {} and the spans of {}, the schedule has {}",
                         core::counted(notes.ranks.size(), "rank"), notes.spans.size(), ranks);
    });
    return;
  }
  NotesCheck check(notes, findings);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    check.rank(rank, schedule.ranks()[rank], notes.spans[rank]);
}

namespace {

using model::OpKind;
using model::ScheduleOp;

constexpr std::uint64_t kMostMessageBytes = 0x7FFFFFFF;

// Counts operations and checks each of them by itself.
class OperationCheck {
 public:
  OperationCheck(const model::Schedule& schedule, Findings& findings)
      : schedule_(schedule), findings_(findings) {}

  void run(CheckResult& result) {
    const auto& ranks = schedule_.ranks();
    result.ranks = static_cast<std::uint32_t>(ranks.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto ops = ranks[rank].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        count(ops[i], result);
        check_place(rank, i, ops[i]);
        if (ops[i].kind != OpKind::kCalc) check_message(rank, i, ops[i]);
      }
    }
  }

 private:
  static void count(const ScheduleOp& op, CheckResult& result) {
    result.sends += op.kind == OpKind::kSend ? 1 : 0;
    result.receives += op.kind == OpKind::kReceive ? 1 : 0;
    result.calculations += op.kind == OpKind::kCalc ? 1 : 0;
    result.dependencies += op.dependencies;
  }

  void add(FindingKind kind, std::size_t rank, std::size_t i, const char* what, std::uint64_t n) {
    findings_.add(kind,
                  [&] { return fmt::format("rank {}: operation {} has {} {}", rank, i, what, n); });
  }

  void check_place(std::size_t rank, std::size_t i, const ScheduleOp& op) {
    if (op.cpu > model::kMostCpu) add(FindingKind::kCpu, rank, i, "cpu", op.cpu);
    if (op.nic > model::kMostNic) add(FindingKind::kNic, rank, i, "nic", op.nic);
    if (op.cpu > schedule_.max_cpu() || op.nic > schedule_.max_nic()) {
      findings_.add(FindingKind::kHeader, [&] {
        return fmt::format(
            "rank {}: operation {} has cpu {} and nic {}, the header ends at {} and "
            "{}",
            rank, i, static_cast<unsigned>(op.cpu), static_cast<unsigned>(op.nic),
            schedule_.max_cpu(), schedule_.max_nic());
      });
    }
  }

  void check_message(std::size_t rank, std::size_t i, const ScheduleOp& op) {
    const bool any = op.kind == OpKind::kReceive && op.tag == model::kAnyTag;
    if (op.tag > model::kMostTag && !any) add(FindingKind::kTag, rank, i, "tag", op.tag);
    if (op.size > kMostMessageBytes) add(FindingKind::kSize, rank, i, "size", op.size);
  }

  const model::Schedule& schedule_;
  Findings& findings_;
};

}  // namespace

bool CheckResult::passed() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.weight == Weight::kProblem; });
}

CheckResult check(const model::Schedule& schedule, const model::ScheduleNotes* notes) {
  CheckResult result;
  Findings findings;
  OperationCheck(schedule, findings).run(result);
  result.matched_messages = check_matches(schedule, findings);
  check_cycles(schedule, findings);
  if (notes != nullptr) check_notes(schedule, *notes, findings);
  result.findings = findings.take();
  return result;
}

}  // namespace assay::goal
