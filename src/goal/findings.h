// Collects what a check finds, with the first examples of each kind.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "goal/check.h"

namespace assay::goal {

enum class FindingKind : std::uint8_t {
  kUnmatchedSend,
  kUnmatchedReceive,
  kSizeMismatch,
  kCycle,
  kCpu,
  kNic,
  kTag,
  kSize,
  kHeader,
  kNotes,
  kSpan,
  kLabel,
  kWildcard,
  kRepeatedTag,
  kSelfSend,
  kCount,
};

class Findings {
 public:
  static constexpr std::uint64_t kExamples = 5;

  // `describe` is called for the first few only.
  template <class Describe>
  void add(FindingKind kind, const Describe& describe, std::uint64_t count = 1) {
    Entry& entry = entries_[static_cast<std::size_t>(kind)];
    if (entry.examples.size() < kExamples) entry.examples.push_back(describe());
    entry.count += count;
  }

  // What was found, problems first.
  [[nodiscard]] std::vector<Finding> take();

 private:
  struct Entry {
    std::uint64_t count = 0;
    std::vector<std::string> examples = {};
  };

  std::array<Entry, static_cast<std::size_t>(FindingKind::kCount)> entries_;
};

}  // namespace assay::goal
