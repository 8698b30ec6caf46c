#include "model/verdict.h"

#include <array>
#include <utility>

namespace assay::model {
namespace {

constexpr const char* kContradicted = "Unclear: ";

constexpr std::array<std::pair<Verdict, const char*>, 12> kWords = {{
    {Verdict::kBetter, "Better"},
    {Verdict::kWorse, "Worse"},
    {Verdict::kLonger, "Longer"},
    {Verdict::kShorter, "Shorter"},
    {Verdict::kSame, "Same"},
    {Verdict::kSame, kSameInTheseRuns},
    {Verdict::kUnclear, "Unclear"},
    {Verdict::kDifferent, "Different in these runs"},
    {Verdict::kUnknown, "Unknown"},
    {Verdict::kOnlyBaseline, "Only in baseline"},
    {Verdict::kOnlyTest, "Only in test"},
    {Verdict::kOtherRanks, "Not judged: other ranks"},
}};

}  // namespace

const char* verdict_word(Verdict verdict) {
  for (const auto& [known, word] : kWords)
    if (known == verdict) return word;
  return "Unknown";
}

Verdict verdict_of(const Cell& cell) {
  const std::string* word = std::get_if<std::string>(&cell);
  for (const auto& [verdict, known] : kWords)
    if (word != nullptr && *word == known) return verdict;
  if (word != nullptr && word->starts_with(kContradicted)) return Verdict::kUnclear;
  return Verdict::kUnknown;
}

SlowSteps slow_steps(Verdict steady, Verdict all) {
  if (all == steady) return SlowSteps::kNone;
  if (all == Verdict::kWorse) return SlowSteps::kOfTest;
  return all == Verdict::kBetter ? SlowSteps::kOfBaseline : SlowSteps::kNone;
}

std::string contradicted_text(const std::string& steady, const std::string& all) {
  return kContradicted + ("steady steps " + steady) + ", all steps " + all;
}

}  // namespace assay::model
