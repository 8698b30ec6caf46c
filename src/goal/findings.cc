#include "goal/findings.h"

#include <utility>

namespace assay::goal {
namespace {

struct KindText {
  const char* name;
  const char* meaning;
  Weight weight;
};

// In the order of FindingKind, problems first.
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

}  // namespace assay::goal
