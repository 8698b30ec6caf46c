#include "store/answers/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace assay::store {
namespace {

// Points of a table that are left out in one way.
constexpr std::size_t kMostAsked = 600;

struct Asked {
  Parts parts;
  double latency = 0;
};

// Adds what a row was answered by the others.
void add_asked(const Parts& parts, double latency, std::vector<Asked>& asked) {
  const bool is_answer = parts.has_own || parts.has_across || parts.has_same;
  if (is_answer && !parts.is_measured && parts.own.refused == Refused::kNo)
    asked.push_back({.parts = parts, .latency = latency});
}

Miss miss_of(const WorkEstimate& estimate, double latency) {
  return {.raw = estimate.sigma, .error = std::abs(std::log(estimate.latency / latency))};
}

using MissesOfWays = std::array<std::vector<Miss>, kWays>;

// Ways of which too little is known have the spread of all.
std::array<Spread, kWays> spreads_of(const MissesOfWays& misses) {
  std::vector<Miss> all;
  for (const auto& of : misses)
    all.insert(all.end(), of.begin(), of.end());
  std::array<Spread, kWays> spreads;
  spreads.fill(Spread(std::move(all)));
  for (std::size_t way = 0; way < kWays; ++way) {
    if (misses[way].size() >= Spread::kFewest) spreads[way] = Spread(misses[way]);
  }
  return spreads;
}

std::array<Spread, kWays> learn_parts(const std::vector<Asked>& asked) {
  MissesOfWays misses;
  for (const auto& [parts, latency] : asked) {
    const auto of = [&](Way way) -> std::vector<Miss>& {
      return misses[static_cast<std::size_t>(way)];
    };
    if (parts.has_own) of(parts.own_way()).push_back(miss_of(parts.own, latency));
    if (parts.has_across) of(Way::kAcross).push_back(miss_of(parts.across, latency));
    if (parts.has_same) of(Way::kSame).push_back(miss_of(parts.same, latency));
  }
  return spreads_of(misses);
}

double quantity_of(const WorkRows& rows, const WorkAxis& axis, std::size_t row) {
  const auto sizes = rows.sizes_of(row);
  const auto size = [&](const std::string& column) {
    const auto found = std::find(rows.sizes.begin(), rows.sizes.end(), column);
    return sizes[static_cast<std::size_t>(found - rows.sizes.begin())];
  };
  double value = size(axis.times.front()) + axis.plus;
  for (std::size_t i = 1; i < axis.times.size(); ++i)
    value *= size(axis.times[i]);
  for (const std::string& column : axis.over)
    value /= size(column);
  return value;
}

// The last of these ascending values that stays; all larger ones are left out.
double last_left(const std::vector<double>& values) {
  const auto far = std::upper_bound(values.begin(), values.end(), values.back() / kMostBeyond);
  const auto half = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  const double value = far == values.begin() ? *half : std::max(*std::prev(far), *half);
  return value;
}

}  // namespace

std::vector<bool> Edge::rows_of(const WorkRows& rows) const {
  std::vector<bool> out(rows.num_rows());
  const double sign = is_upper ? 1 : -1;
  for (std::size_t family = 0; family < rows.num_families(); ++family) {
    std::vector<double> of_row;
    for (std::size_t row = rows.begins[family]; row < rows.begins[family + 1]; ++row)
      of_row.push_back(std::log2(std::max(quantity_of(rows, rows.work.axes[axis], row), 1e-9)));
    std::set<double> distinct;
    for (const double value : of_row)
      distinct.insert(std::exp2(sign * value));
    if (distinct.size() < 2) continue;
    const double left = last_left({distinct.begin(), distinct.end()});
    for (std::size_t i = 0; i < of_row.size(); ++i)
      out[rows.begins[family] + i] = std::exp2(sign * of_row[i]) > left;
  }
  return out;
}

std::vector<Edge> edges_of(const WorkRows& rows) {
  std::vector<Edge> edges;
  for (std::size_t axis = 0; axis < rows.work.axes.size(); ++axis) {
    edges.push_back({.axis = axis, .is_upper = true});
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t row = 0; row < rows.num_rows(); ++row)
      least = std::min(least, quantity_of(rows, rows.work.axes[axis], row));
    if (least > 1 + rows.work.axes[axis].plus) edges.push_back({.axis = axis, .is_upper = false});
  }
  return edges;
}

Calibration::Calibration(const WorkRows& rows,
                         Families families,
                         FamilyMaker make,
                         LearnsFrom learns_from)
    : rows_(&rows),
      families_(std::move(families)),
      make_(std::move(make)),
      learns_from_(learns_from ? std::move(learns_from) : [](std::size_t) { return true; }) {}

const Spreads& Calibration::near() const {
  if (known_ != nullptr) return *known_;
  if (!knows_near_) learn_near();
  return spreads_;
}

const Spreads& Calibration::all() const {
  if (known_ != nullptr) return *known_;
  (void)near();
  if (!knows_beyond_) learn_beyond();
  return spreads_;
}

namespace {

// Its place in Spreads::beyond.
std::size_t place_of(const WorkEstimate& estimate) {
  return 2 * std::size_t{estimate.beyond_axis} + (estimate.is_above ? 1 : 0);
}

// Some rows of a table, evenly chosen.
class Chosen {
 public:
  explicit Chosen(std::size_t of) : step_(std::max<std::size_t>(1, of / kMostAsked)) {}

  // Rows at even places, but for steps of grids.
  [[nodiscard]] bool has(std::size_t row) const {
    const std::uint64_t mixed = (row + 1) * 0x9e3779b97f4a7c15ULL;
    return step_ == 1 || (mixed >> 32U) % step_ == 0;
  }

 private:
  std::size_t step_;
};

}  // namespace

void Calibration::learn_near() const {
  knows_near_ = true;
  const Chosen chosen(rows_->num_rows());
  const Chosen chosen_upper(rows_->num_rows() / 2);
  std::vector<Asked> asked;
  for (std::size_t number = 0; number < rows_->num_families(); ++number) {
    const Family& family = families_(number);
    for (std::uint32_t row = 0; row < family.num_rows(); ++row) {
      const double latency = family.latency(row);
      if (latency <= 0 || !learns_from_(rows_->begins[number] + row)) continue;
      const auto ask = [&](HiddenRows out) {
        add_asked(family.parts(family.sizes_of(row), Beyond::kRefuse, out), latency, asked);
      };
      const std::size_t at = rows_->begins[number] + row;
      if (chosen.has(at)) ask({.begin = row, .end = row + 1});
      if (chosen.has(at)) ask(family.curve_of(row));
      if (!chosen_upper.has(at)) continue;
      if (const HiddenRows upper = family.upper_half_of(row); upper.has(row)) ask(upper);
    }
  }
  spreads_.parts = learn_parts(asked);
  MissesOfWays misses;
  for (const auto& [parts, latency] : asked) {
    Way way = Way::kAcross;
    const WorkEstimate answer = mean_of_parts(parts, spreads_, way);
    if (answer.is_beyond()) {
      misses_beyond_[place_of(answer)].push_back(miss_of(answer, latency));
    } else {
      misses[static_cast<std::size_t>(way)].push_back(miss_of(answer, latency));
    }
  }
  spreads_.ways = spreads_of(misses);
}

void Calibration::learn_beyond() const {
  knows_beyond_ = true;
  for (const Edge& edge : edges_of(*rows_)) {
    const std::vector<bool> out = edge.rows_of(*rows_);
    const auto count = static_cast<std::size_t>(std::count(out.begin(), out.end(), true));
    if (count == 0) continue;
    const Chosen chosen(count * 3);
    const WorkRows kept = kept_rows(*rows_, [&](std::size_t row) { return !out[row]; });
    std::vector<Asked> asked;
    for (std::size_t number = 0; number < rows_->num_families(); ++number) {
      const Family family = make_(kept, number);
      for (std::size_t row = rows_->begins[number]; row < rows_->begins[number + 1]; ++row) {
        if (!out[row] || !chosen.has(row) || rows_->latencies[row] <= 0) continue;
        if (!learns_from_(row)) continue;
        add_asked(family.parts(rows_->sizes_of(row), Beyond::kRefuse, {}), rows_->latencies[row],
                  asked);
      }
    }
    for (const auto& [parts, latency] : asked) {
      Way way = Way::kAcross;
      const WorkEstimate answer = mean_of_parts(parts, spreads_, way);
      if (answer.is_beyond()) misses_beyond_[place_of(answer)].push_back(miss_of(answer, latency));
    }
  }
  for (std::size_t place = 0; place < misses_beyond_.size(); ++place)
    spreads_.beyond[place] = Spread(std::move(misses_beyond_[place]));
}

}  // namespace assay::store
