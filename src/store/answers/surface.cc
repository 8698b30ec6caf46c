#include "store/answers/surface.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "store/answers/matcher.h"

namespace assay::store {

core::Result<Surface> Surface::bind(const WorkIndex& index,
                                    const std::vector<Condition>& conditions,
                                    const std::vector<std::string>& free,
                                    Beyond beyond) {
  const WorkRows& rows = index.rows();
  Matcher matcher(rows);
  std::vector<FreeSize> places;
  for (const Condition& condition : conditions)
    ASSAY_TRY(matcher.take(condition));
  for (const std::string& name : free) {
    const auto found = std::find(rows.sizes.begin(), rows.sizes.end(), name);
    if (found == rows.sizes.end())
      return core::Error{fmt::format("{} has no size '{}'", rows.table, name)};
    const core::Status zero = Matcher(matcher).take({name, "0"});
    places.push_back({.name = name,
                      .place = static_cast<std::uint32_t>(found - rows.sizes.begin()),
                      .zero_problem = zero.ok() ? "" : zero.error().message});
    ASSAY_TRY(matcher.take({name, "1"}));
  }
  ASSAY_TRY(matcher.settle());
  if (const auto open = matcher.open_sizes(); !open.empty())
    return core::Error{fmt::format("{} needs {}", rows.table, open.front())};
  const std::vector<std::size_t> families = matcher.families();
  if (families.empty()) return matcher.no_family(conditions);
  if (families.size() > 1) {
    return core::Error{fmt::format("{}: several kinds of rows are meant: {}; {}", rows.table,
                                   rows.family_name(families[0]), rows.family_name(families[1]))};
  }
  return Surface(std::make_unique<const Family>(index.own_family(families.front())),
                 matcher.sizes(families.front()).front(), std::move(places), beyond);
}

Surface::Surface(std::unique_ptr<const Family> family,
                 const std::vector<double>& sizes,
                 std::vector<FreeSize> free,
                 Beyond beyond)
    : family_(std::move(family)),
      num_sizes_(sizes.size()),
      free_(std::move(free)),
      beyond_(beyond),
      remembered_(kRemembered) {
  std::copy(sizes.begin(), sizes.end(), bound_.begin());
}

Surface::Sizes Surface::with(std::span<const double> free) const {
  ASSAY_CHECK(free.size() == free_.size(), "a surface is asked for other sizes than it has");
  Sizes sizes = bound_;
  for (std::size_t i = 0; i < free.size(); ++i)
    sizes[free_[i].place] = free[i];
  return sizes;
}

WorkEstimate Surface::at(std::span<const double> free) const {
  const Sizes sizes = with(free);
  std::uint64_t hash = 0;
  for (const double size : free)
    hash = (hash ^ std::bit_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15ULL;
  Remembered& known = remembered_[hash >> 54U];
  if (known.sizes != sizes)
    known = {.sizes = sizes, .estimate = family_->at(std::span(sizes.data(), num_sizes_), beyond_)};
  return known.estimate;
}

WorkEstimate Surface::at_any(std::span<const double> free) const {
  const bool are_sizes = std::all_of(free.begin(), free.end(), [](double size) {
    return size > 0 && size < std::numeric_limits<double>::infinity();
  });
  if (are_sizes || problem(free).empty()) return at(free);
  return {.refused = Refused::kUnknown};
}

std::string Surface::problem(std::span<const double> free) const {
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (free[i] == 0 && !free_[i].zero_problem.empty()) return free_[i].zero_problem;
    if (!(free[i] >= 0 && std::isfinite(free[i])))
      return fmt::format("{} takes a number of at least 0, not {}", free_[i].name, free[i]);
  }
  return "";
}

std::string Surface::method(const WorkEstimate& estimate, std::span<const double> free) const {
  const Sizes sizes = with(free);
  return family_->method(estimate, std::span(sizes.data(), num_sizes_));
}

std::string Surface::refusal(const WorkEstimate& estimate, std::span<const double> free) const {
  const Sizes sizes = with(free);
  return family_->refusal(estimate, std::span(sizes.data(), num_sizes_));
}

}  // namespace assay::store
