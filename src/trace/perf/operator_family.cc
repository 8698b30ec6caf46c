#include "trace/perf/operator_family.h"

#include <unordered_map>

namespace assay::trace {
namespace {

using FamilyByName = std::unordered_map<std::string_view, const OperatorFamily*>;

FamilyByName index_families() {
  constexpr std::string_view kSpace = " \n";
  FamilyByName families;
  for (const OperatorFamily* family : core::Registry<OperatorFamily>::all()) {
    std::string_view rest = family->operators;
    for (auto start = rest.find_first_not_of(kSpace); start != std::string_view::npos;
         start = rest.find_first_not_of(kSpace)) {
      rest.remove_prefix(start);
      const std::string_view name = rest.substr(0, rest.find_first_of(kSpace));
      const bool is_new = families.emplace(name, family).second;
      ASSAY_CHECK(is_new, "an operator belongs to one family");
      rest.remove_prefix(name.size());
    }
  }
  return families;
}

}  // namespace

bool OperatorFamily::is_backward() const {
  constexpr std::string_view kSuffix = "_bwd";
  const std::string_view name_of_category = category;
  return name_of_category.size() > kSuffix.size() &&
         name_of_category.substr(name_of_category.size() - kSuffix.size()) == kSuffix;
}

const OperatorFamily* operator_family(std::string_view operator_name) {
  static const FamilyByName families = index_families();
  const auto found = families.find(operator_name);
  return found == families.end() ? nullptr : found->second;
}

}  // namespace assay::trace
