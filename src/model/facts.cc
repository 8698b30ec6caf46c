#include "model/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace assay::model {
namespace {

constexpr std::string_view kExactly = "exactly";
constexpr std::string_view kWithin = "within ";

std::string compare_text(const Fact& fact) {
  switch (fact.compare) {
    case Fact::Compare::kExactly:
      return std::string(kExactly);
    case Fact::Compare::kWithin:
      return fmt::format("{}{:g} %", kWithin, fact.tolerance_percent);
    case Fact::Compare::kNot:
      break;
  }
  return "not";
}

void read_compare(std::string_view text, Fact& fact) {
  fact.compare = Fact::Compare::kNot;
  if (text == kExactly) fact.compare = Fact::Compare::kExactly;
  if (!text.starts_with(kWithin)) return;
  text.remove_prefix(kWithin.size());
  const auto read = std::from_chars(text.data(), text.data() + text.size(), fact.tolerance_percent);
  if (read.ec == std::errc()) fact.compare = Fact::Compare::kWithin;
}

const Fact* find(const Facts& facts, const std::string& item) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.item == item; });
  return found == facts.end() ? nullptr : &*found;
}

std::string shown(const Fact* fact) {
  if (fact == nullptr || text(fact->value).empty()) return "(unknown)";
  return fact->unit.empty() ? text(fact->value) : text(fact->value) + " " + fact->unit;
}

bool agree(const Fact& first, const Fact& second) {
  const double one = number(first.value);
  const double other = number(second.value);
  if (first.compare == Fact::Compare::kWithin && !std::isnan(one) && !std::isnan(other)) {
    const double larger = std::max(std::fabs(one), std::fabs(other));
    return std::fabs(one - other) <= larger * first.tolerance_percent / 100;
  }
  return text(first.value) == text(second.value);
}

}  // namespace

Table facts_table(const Facts& facts) {
  Table table{.name = kEnvironmentTable,
              .title = "What the run was measured with",
              .columns = {{.name = "item"},
                          {.name = "value"},
                          {.name = "unit"},
                          {.name = "compare",
                           .description = "how closely runs must agree to be comparable"}}};
  for (const Fact& fact : facts)
    table.add_row({fact.item, fact.value, fact.unit, compare_text(fact)});
  return table;
}

Facts facts_of(const Table* table) {
  if (table == nullptr) return {};
  const auto item = table->column("item");
  const auto value = table->column("value");
  const auto unit = table->column("unit");
  const auto compare = table->column("compare");
  if (!item || !value || !unit || !compare) return {};
  Facts facts;
  for (std::size_t row = 0; row < table->row_count(); ++row) {
    Fact fact{.item = text(table->at(row, *item)),
              .value = table->at(row, *value),
              .unit = text(table->at(row, *unit))};
    read_compare(text(table->at(row, *compare)), fact);
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<FactDifference> differences(const Facts& first, const Facts& second) {
  std::vector<FactDifference> found;
  if (first.empty() || second.empty()) return found;
  for (const Fact& fact : first) {
    const Fact* other = find(second, fact.item);
    if (fact.compare == Fact::Compare::kNot || (other != nullptr && agree(fact, *other))) continue;
    found.push_back({fact.item, shown(&fact), shown(other)});
  }
  for (const Fact& fact : second) {
    if (fact.compare == Fact::Compare::kNot || find(first, fact.item) != nullptr) continue;
    found.push_back({fact.item, shown(nullptr), shown(&fact)});
  }
  return found;
}

}  // namespace assay::model
