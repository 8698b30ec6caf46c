#include "store/judging/needs_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "store/answers/use_families.h"

namespace assay::store {
namespace {

using serving::Amount;
using serving::OperatorUse;

constexpr std::array<double, 3> kTokens = {1, 64, 4096};
constexpr std::array<double, 2> kRequests = {1, 64};
constexpr std::array<double, 2> kNewTokens = {128, 4096};
constexpr std::array<double, 2> kCachedTokens = {127, 8191};
constexpr std::array<double, 1> kNothingCached = {0};

// The amounts that are asked for. A prompt has no tokens in the cache before it.
std::span<const double> amounts_of(Amount amount, bool has_new_tokens) {
  switch (amount) {
    case Amount::kTokens:
    case Amount::kExpertTokens:
      return kTokens;
    case Amount::kRequests:
      return kRequests;
    case Amount::kNewTokens:
      return kNewTokens;
    case Amount::kCachedTokens:
      break;
  }
  if (has_new_tokens) return kNothingCached;
  return kCachedTokens;
}

class NeedCheck {
 public:
  NeedCheck(const OperatorUse& use, const WorkIndex& index) : use_(use), index_(index) {}

  [[nodiscard]] NeedVerdict verdict() const {
    NeedVerdict best{.having = Having::kMissing, .how = "no rows with these names and types"};
    for (const UseFamily& family : families_of(use_, index_.rows())) {
      NeedVerdict found = verdict_of(family);
      if (best.how.empty() || found.having < best.having || best.having == Having::kMissing)
        best = std::move(found);
      if (best.having == Having::kThere) break;
    }
    return best;
  }

 private:
  [[nodiscard]] NeedVerdict verdict_of(const UseFamily& family) const {
    NeedVerdict verdict{.having = family.has_key ? Having::kThere : Having::kDerived, .how = ""};
    std::vector<double> sizes = family.sizes;
    ask(family, sizes, 0, verdict);
    return verdict;
  }

  [[nodiscard]] bool has_new_tokens() const {
    return std::any_of(use_.sizes.begin(), use_.sizes.end(), [](const serving::SizeField& field) {
      return field.amount == Amount::kNewTokens;
    });
  }

  // Asks for all amounts of the size fields from `depth` on.
  void ask(const UseFamily& family,
           std::vector<double>& sizes,
           std::size_t depth,
           NeedVerdict& verdict) const {
    if (verdict.having == Having::kMissing) return;
    if (depth == use_.sizes.size()) {
      judge(index_.family(family.family), sizes, verdict);
      return;
    }
    const serving::SizeField& field = use_.sizes[depth];
    if (family.places[depth] == kNoSize) {
      ask(family, sizes, depth + 1, verdict);
      return;
    }
    for (const double amount : amounts_of(field.amount, has_new_tokens())) {
      sizes[family.places[depth]] = amount * static_cast<double>(field.factor);
      ask(family, sizes, depth + 1, verdict);
    }
  }

  static void judge(const Family& family, std::span<const double> sizes, NeedVerdict& verdict) {
    const WorkEstimate estimate = family.at(sizes, Beyond::kRefuse);
    if (estimate.refused != Refused::kNo) {
      verdict = {.having = Having::kMissing, .how = family.refusal(estimate, sizes)};
      return;
    }
    if (verdict.having != Having::kDerived) return;
    if (verdict.how.empty()) verdict.how = family.method(estimate, sizes);
    if (std::isfinite(estimate.sigma))
      verdict.sigma_percent = std::max(verdict.sigma_percent, 100 * estimate.uncertainty());
  }

  const OperatorUse& use_;
  const WorkIndex& index_;
};

}  // namespace

std::string_view name_of(Having having) {
  constexpr std::array<std::string_view, 3> kNames = {"there", "derived", "missing"};
  return kNames[static_cast<std::size_t>(having)];
}

NeedVerdict check_need(const serving::OperatorUse& use, const WorkIndex* index) {
  if (index == nullptr) return {.having = Having::kMissing, .how = "no such table"};
  return NeedCheck(use, *index).verdict();
}

}  // namespace assay::store
