#include "store/judging/roofline_share.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/text.h"

namespace assay::store {
namespace {

constexpr std::string_view kOperator = "op_name";
constexpr std::string_view kKernel = "kernel_source";

// A curve with less than this part of the sizes of the longest is shown only if there is no other.
constexpr double kWholeCurve = 0.6;

struct Candidate {
  std::size_t family = 0;
  HiddenRows rows;  // of the family
  double work = 0;  // ms: the largest roofline
};

std::vector<Candidate> curves_of(const Family& family) {
  std::vector<Candidate> found;
  for (std::uint32_t row = 0; row < family.num_rows(); row = found.back().rows.end) {
    Candidate curve{.family = family.number(), .rows = family.curve_of(row)};
    for (std::uint32_t at = row; at < curve.rows.end; ++at)
      curve.work = std::max(curve.work, family.known_roofline(at));
    found.push_back(curve);
  }
  return found;
}

// A few of the long curves, at even places in the order of their work.
std::vector<Candidate> representative(std::vector<Candidate> curves, std::size_t count) {
  std::uint32_t longest = 0;
  for (const Candidate& curve : curves)
    longest = std::max(longest, curve.rows.end - curve.rows.begin);
  std::erase_if(curves, [&](const Candidate& curve) {
    return curve.work <= 0 || curve.rows.end - curve.rows.begin < kWholeCurve * longest;
  });
  if (curves.size() <= count) return curves;
  std::stable_sort(curves.begin(), curves.end(),
                   [](const Candidate& a, const Candidate& b) { return a.work < b.work; });
  std::vector<Candidate> chosen;
  for (std::size_t i = 0; i < count; ++i)
    chosen.push_back(curves[(2 * i + 1) * curves.size() / (2 * count)]);
  return chosen;
}

class Figure {
 public:
  Figure(const WorkIndex& index, std::vector<std::size_t> families)
      : index_(index), rows_(index.rows()), families_(std::move(families)) {}

  std::vector<ShareCurve> curves(std::size_t most) const {
    const std::size_t of_each = std::clamp<std::size_t>(most / families_.size(), 1, 3);
    std::vector<Candidate> chosen;
    for (const std::size_t number : families_) {
      for (Candidate& curve : representative(curves_of(index_.family(number)), of_each)) {
        if (chosen.size() < most) chosen.push_back(curve);
      }
    }
    std::vector<ShareCurve> curves;
    const std::vector<std::string> names = names_of(chosen);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      curves.push_back({.name = names[i], .sizes = shares(chosen[i])});
    std::erase_if(curves, [](const ShareCurve& curve) { return curve.sizes.empty(); });
    return curves;
  }

 private:
  [[nodiscard]] std::vector<ShareAtSize> shares(const Candidate& curve) const {
    const Family& family = index_.family(curve.family);
    std::vector<ShareAtSize> shares;
    for (std::uint32_t row = curve.rows.begin; row < curve.rows.end; ++row) {
      const double roofline = family.known_roofline(row);
      const double size = family.size_along(row);
      if (roofline > 0 && family.latency(row) > 0 && size > 0)
        shares.push_back({.size = size, .share = roofline / family.latency(row)});
    }
    return shares;
  }

  [[nodiscard]] std::span<const double> sizes_of(const Candidate& curve) const {
    return rows_.sizes_of(rows_.begins[curve.family] + curve.rows.begin);
  }

  // Kernels have long names, which stand there only if nothing else tells two curves apart.
  [[nodiscard]] std::vector<std::string> names_of(const std::vector<Candidate>& shown) const {
    std::vector<std::string> names;
    for (const std::string_view left_out : {kKernel, std::string_view()}) {
      names.clear();
      for (const Candidate& curve : shown)
        names.push_back(name_of_curve(curve, shown, left_out));
      if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) break;
    }
    return names;
  }

  // The values in which the curves that are shown differ.
  [[nodiscard]] std::string name_of_curve(const Candidate& curve,
                                          const std::vector<Candidate>& shown,
                                          std::string_view left_out) const {
    std::vector<std::string> parts;
    for (std::size_t column = 0; column < rows_.exact.size(); ++column) {
      if (rows_.exact[column].name == left_out) continue;
      const std::uint32_t code = rows_.codes_of(curve.family)[column];
      const bool differs = std::any_of(shown.begin(), shown.end(), [&](const Candidate& other) {
        return rows_.codes_of(other.family)[column] != code;
      });
      if (!differs) continue;
      const ExactColumn& exact = rows_.exact[column];
      const std::string& value = exact.values[code];
      parts.push_back(exact.kind == ValueKind::kText ? value : exact.name + "=" + value);
    }
    const std::string along = rows_.work.axes.empty() ? "" : rows_.work.axes[0].times.front();
    for (std::size_t size = 0; size < rows_.sizes.size(); ++size) {
      const double value = sizes_of(curve)[size];
      const bool differs = std::any_of(shown.begin(), shown.end(), [&](const Candidate& other) {
        return sizes_of(other)[size] != value;
      });
      if (differs && rows_.sizes[size] != along)
        parts.push_back(fmt::format("{}={}", rows_.sizes[size], value));
    }
    return core::join(parts, " ");
  }

  const WorkIndex& index_;
  const WorkRows& rows_;
  std::vector<std::size_t> families_;
};

// The families of each operator, those with most rows first.
std::map<std::string, std::vector<std::size_t>> families_of_operators(const WorkRows& rows) {
  const auto column =
      std::find_if(rows.exact.begin(), rows.exact.end(),
                   [](const ExactColumn& exact) { return exact.name == kOperator; });
  const auto place = static_cast<std::size_t>(column - rows.exact.begin());
  std::map<std::string, std::vector<std::size_t>> families;
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    const bool has_name = column != rows.exact.end() && column->values.size() > 1;
    families[has_name ? column->values[rows.codes_of(family)[place]] : rows.table].push_back(
        family);
  }
  for (auto& [name, of] : families) {
    std::stable_sort(of.begin(), of.end(), [&](std::size_t a, std::size_t b) {
      return rows.begins[a + 1] - rows.begins[a] > rows.begins[b + 1] - rows.begins[b];
    });
  }
  return families;
}

}  // namespace

std::vector<ShareFigure> roofline_shares(const WorkIndex& index, std::size_t most_curves) {
  const WorkRows& rows = index.rows();
  std::vector<ShareFigure> figures;
  for (auto& [name, families] : families_of_operators(rows)) {
    ShareFigure figure{.name = name, .size = {}, .curves = {}};
    if (!rows.work.axes.empty()) figure.size = name_of(rows.work.axes.front());
    figure.curves = Figure(index, families).curves(most_curves);
    if (!figure.curves.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace assay::store
