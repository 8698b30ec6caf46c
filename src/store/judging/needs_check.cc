#include "store/judging/needs_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

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

std::string text_of_value(const model::PerfValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

std::optional<double> number_of(const OperatorUse& use, const std::string& column) {
  for (const model::PerfField& field : use.key) {
    const auto* number = std::get_if<std::int64_t>(&field.value);
    if (field.column == column && number != nullptr) return static_cast<double>(*number);
  }
  return std::nullopt;
}

// The values of all sizes of a table, of which the batch's are filled in one after the other.
struct Probe {
  std::vector<double> sizes;
  std::vector<bool> is_key;  // by size: the use fixes it
};

class NeedCheck {
 public:
  NeedCheck(const OperatorUse& use, const WorkIndex& index)
      : use_(use), index_(index), rows_(index.rows()) {}

  [[nodiscard]] NeedVerdict verdict() const {
    NeedVerdict best{.having = Having::kMissing, .how = "no rows with these names and types"};
    for (std::size_t family = 0; family < rows_.num_families(); ++family) {
      if (!has_exact_values(family)) continue;
      NeedVerdict found = verdict_of(family);
      if (best.how.empty() || found.having < best.having || best.having == Having::kMissing)
        best = std::move(found);
      if (best.having == Having::kThere) break;
    }
    return best;
  }

 private:
  [[nodiscard]] bool has_exact_values(std::size_t family) const {
    const auto codes = rows_.codes_of(family);
    for (std::size_t column = 0; column < rows_.exact.size(); ++column) {
      const ExactColumn& exact = rows_.exact[column];
      const std::string& value = exact.values[codes[column]];
      if (exact.name == "op_name" && value != use_.op_name) return false;
      const auto named =
          std::find_if(use_.key.begin(), use_.key.end(),
                       [&](const model::PerfField& field) { return field.column == exact.name; });
      if (named != use_.key.end() && text_of_value(named->value) != value) return false;
    }
    return true;
  }

  // Sizes that neither the key nor the batch decides have the value of the first row: they change
  // no work.
  [[nodiscard]] Probe probe_of(std::size_t family) const {
    const auto first = rows_.sizes_of(rows_.begins[family]);
    Probe probe{.sizes = {first.begin(), first.end()}, .is_key = {}};
    for (std::size_t size = 0; size < rows_.sizes.size(); ++size) {
      const std::optional<double> number = number_of(use_, rows_.sizes[size]);
      probe.is_key.push_back(number.has_value());
      if (number) probe.sizes[size] = *number;
    }
    return probe;
  }

  [[nodiscard]] bool has_key(std::size_t family, const Probe& probe) const {
    for (std::size_t row = rows_.begins[family]; row < rows_.begins[family + 1]; ++row) {
      const auto sizes = rows_.sizes_of(row);
      bool is_equal = true;
      for (std::size_t size = 0; size < probe.sizes.size() && is_equal; ++size)
        is_equal = !probe.is_key[size] || sizes[size] == probe.sizes[size];
      if (is_equal) return true;
    }
    return false;
  }

  [[nodiscard]] NeedVerdict verdict_of(std::size_t family) const {
    Probe probe = probe_of(family);
    NeedVerdict verdict{.having = has_key(family, probe) ? Having::kThere : Having::kDerived,
                        .how = ""};
    ask(family, probe.sizes, 0, verdict);
    return verdict;
  }

  [[nodiscard]] bool has_new_tokens() const {
    return std::any_of(use_.sizes.begin(), use_.sizes.end(), [](const serving::SizeField& field) {
      return field.amount == Amount::kNewTokens;
    });
  }

  // Asks for all amounts of the size fields from `depth` on.
  void ask(std::size_t family,
           std::vector<double>& sizes,
           std::size_t depth,
           NeedVerdict& verdict) const {
    if (verdict.having == Having::kMissing) return;
    if (depth == use_.sizes.size()) {
      judge(index_.family(family), sizes, verdict);
      return;
    }
    const serving::SizeField& field = use_.sizes[depth];
    const auto place = std::find(rows_.sizes.begin(), rows_.sizes.end(), field.column);
    if (place == rows_.sizes.end()) {
      ask(family, sizes, depth + 1, verdict);
      return;
    }
    double& size = sizes[static_cast<std::size_t>(place - rows_.sizes.begin())];
    for (const double amount : amounts_of(field.amount, has_new_tokens())) {
      size = amount * static_cast<double>(field.factor);
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
  const WorkRows& rows_;
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
