// The rows of a table with equal exact values, and the time of any sizes that they suggest.
//
// A curve is the rows with equal sizes but the one that most rows differ in (tokens, bytes). An
// answer is, in this order:
//
// 1. the row with these sizes, or one that is the same work (work.h);
// 2. on a curve that brackets the size: the time above the roofline runs in a straight line between
//    the two points beside it;
// 3. past the end of its curve: its last multiple of (least time of the family + roofline), changed
//    as that of the curves beside it changes from there to the size; a row that takes much longer
//    than those around it tells nothing of other sizes (family_even.cc);
// 4. beside all curves: each curve near by tells which multiple a kernel takes there; simple
// kriging
//    between the curves (an exponential variogram over the logarithms of the quantities,
//    D. G. Krige, 1951; N. Cressie, "Statistics for Spatial Data", 1993) weighs them, and the
//    multiple is scaled by the roofline of the sizes asked, filled up to whole tiles.
//
// Where several of these answer, it is their mean, each weighed by the inverse of its variance,
// which points that are left out tell (calibration.h).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/answers/grid_surface.h"
#include "store/answers/spread.h"
#include "store/answers/work_rows.h"

namespace assay::store {

// Family::at() with kRefuse gives no answer for more than this many times past the measured rows.
inline constexpr double kMostBeyond = 4;
enum class Beyond : std::uint8_t { kRefuse, kExtrapolate };

enum class How : std::uint8_t {
  kMeasured,  // the row has these sizes
  kSameWork,  // the row has other sizes that are the same work
  kOwnCurve,  // between two points of a curve
  kAcross,    // from curves near by
  kBoth,      // a mean of the last two
  kPastOwn,   // past the end of a curve, along those near by, and its mean with kAcross
};

enum class Refused : std::uint8_t {
  kNo,
  kBeyond,      // more than kMostBeyond times past the measured quantities
  kUncertain,   // one sigma is more than the answer: more than kMostSigma
  kUnknown,     // nothing was measured
  kImpossible,  // no program has such sizes (WorkLimit)
};

// The logarithm of 2.
inline constexpr double kMostSigma = 0.6931471805599453;

struct WorkEstimate {
  double latency = 0;   // ms
  double roofline = 0;  // ms; 0: unknown
  // ms; no answer is faster: the roofline, or less where the rows beside are faster than theirs,
  // because their data lay in a cache.
  double least = 0;
  // Within these logarithms of the latency, 68.3 % and 80 % of times lie to both sides of it; NaN
  // where the row was measured.
  double sigma = std::numeric_limits<double>::quiet_NaN();
  double half_80 = std::numeric_limits<double>::quiet_NaN();
  How how = How::kMeasured;
  Refused refused = Refused::kNo;
  // How many times past the measured range, along which quantity, and whether above it.
  double beyond = 1;
  std::uint8_t beyond_axis = 0;
  bool is_above = false;
  std::uint8_t curves = 0;  // that kriging took
  // Rows of the family: the row itself, the ends of the bracket, or the nearest rows of the two
  // nearest curves.
  std::uint32_t low = 0;
  std::uint32_t high = 0;

  [[nodiscard]] bool is_measured() const { return how == How::kMeasured; }

  [[nodiscard]] bool is_beyond() const { return beyond > 1 + 1e-9; }

  // One sigma as a part of the latency.
  [[nodiscard]] double uncertainty() const;
  [[nodiscard]] double low_80() const;
  [[nodiscard]] double high_80() const;
};

// Rows of one curve that an answer passes over, as if they were not there.
struct HiddenRows {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  [[nodiscard]] bool has(std::uint32_t row) const { return row - begin < end - begin; }
};

// What a GPU takes while an operator runs.
struct RowPower {
  double watts = 0;
  bool is_measured = false;  // with the row that answers; else it lies between rows
};

// What each way answers, with its raw error for sigma (spread.h).
struct Parts {
  WorkEstimate own;          // kOwnCurve or kPast, if `has_own`
  WorkEstimate across;       // kAcross, if `has_across`
  WorkEstimate same;         // kSame, if `has_same`
  bool is_measured = false;  // then `own` is the row
  bool has_own = false;
  bool has_across = false;
  bool has_same = false;

  [[nodiscard]] Way own_way() const {
    return own.how == How::kPastOwn ? Way::kPast : Way::kOwnCurve;
  }
};

// The mean of the parts, by the spreads of each, with a raw error for sigma; and the way that it
// is.
WorkEstimate mean_of_parts(const Parts& parts, const Spreads& spreads, Way& way);

// The same with its intervals, or refused because they are too wide. No part was measured.
WorkEstimate answer_of_parts(const Parts& parts, const Spreads& spreads, Beyond beyond);

class Calibration;

// Not for several threads at once: it remembers rooflines of rows.
class Family {
 public:
  // `rows` must outlive it, and so must `calibration`. `roofline` (of sizes in the order of the
  // rows' columns) may be null, and so may `calibration` where parts() alone is asked.
  Family(const WorkRows& rows,
         std::size_t family,
         Roofline roofline,
         const Calibration* calibration);

  // `sizes` are in the order of the rows' columns. Takes no memory.
  [[nodiscard]] WorkEstimate at(std::span<const double> sizes, Beyond beyond) const;
  [[nodiscard]] Parts parts(std::span<const double> sizes, Beyond beyond, HiddenRows hidden) const;

  // The power of an answer of at(): that of its row, or else between rows that have theirs, along
  // its curve or on the two that it was read from. std::nullopt: these have none, or the answer
  // lies past the measured sizes.
  [[nodiscard]] std::optional<RowPower> power(const WorkEstimate& estimate) const;

  // The curve of a row, and its upper half.
  [[nodiscard]] HiddenRows curve_of(std::uint32_t row) const;
  [[nodiscard]] HiddenRows upper_half_of(std::uint32_t row) const;

  [[nodiscard]] std::size_t number() const { return family_; }

  [[nodiscard]] std::size_t num_rows() const { return latencies_.size(); }

  [[nodiscard]] double latency(std::uint32_t row) const { return latencies_[row]; }

  [[nodiscard]] std::span<const double> sizes_of(std::uint32_t row) const {
    return values_.subspan(row * num_sizes_, num_sizes_);
  }

  // The roofline of a row, in ms; 0 if it is unknown.
  [[nodiscard]] double known_roofline(std::uint32_t row) const {
    return roofline_ ? roofline_(sizes_of(row)) : 0;
  }

  // The first quantity of a row, which its curve runs along.
  [[nodiscard]] double size_along(std::uint32_t row) const {
    return axes_.empty() ? 0 : quantity(axes_.front(), sizes_of(row));
  }

  // "linear in m", "as num_heads=8 num_key_value_heads=1 batch_size=128", "scaled by the roofline
  // from 8 curves, the nearest n=4096 k=4096".
  [[nodiscard]] std::string method(const WorkEstimate& estimate,
                                   std::span<const double> sizes) const;

  // "m was measured from 1 to 4096; 100000 is 24.4 times beyond that"
  [[nodiscard]] std::string refusal(const WorkEstimate& estimate,
                                    std::span<const double> sizes) const;

  // "m=256 n=4096": the sizes of a row that differ from these.
  [[nodiscard]] std::string place(std::uint32_t row, std::span<const double> sizes) const;

 private:
  static constexpr std::size_t kNearCurves = 6;
  static constexpr std::size_t kListed = 16;
  static constexpr std::size_t kLongCurves = 9;
  static constexpr std::uint32_t kNoEvenRow = std::numeric_limits<std::uint32_t>::max();

  struct Axis {
    std::vector<std::uint32_t> times;  // size columns
    std::vector<std::uint32_t> over;
    double plus = 0;
    double tile = 1;
    double per_reach = 1;  // one over the reach
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
  };

  struct Curve {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  // Two rows of a curve, between which its multiple runs in a straight line over the logarithm.
  struct Stretch {
    double above = 0;  // the x that it lies between; at first there are none
    double below = 0;
    double low_log = 0;
    double high_log = 0;
    double doublings = 0;  // between them
    double multiple = 0;   // of the lower row
    double change = 0;
    std::uint32_t low = 0;
    std::uint32_t high = 0;

    [[nodiscard]] bool has(double x) const { return above < x && x < below; }
  };

  // The nearest curves of some quantities but the first, and the covariances of their readings.
  struct Shortlist {
    std::array<double, kMostWorkAxes> quantities = {};
    std::array<double, kMostWorkAxes> places = {};
    std::size_t count = 0;
    std::array<std::uint32_t, kListed> curves = {};
    std::array<double, kListed> distances = {};
    std::array<double, kListed> to_point = {};
    std::array<double, kListed> first_logs = {};  // of the first rows, as logs_
    std::array<double, kListed> last_logs = {};
    // The places of the nearest for points between these logarithms; at first there are none.
    double from = std::numeric_limits<double>::infinity();
    double to = 0;
    std::size_t num_nearest = 0;
    std::array<std::uint32_t, kNearCurves> nearest = {};
    std::array<Stretch, kListed> stretches = {};                        // that were read last
    std::array<std::array<double, kListed>, kListed> covariances = {};  // NaN: not asked yet
  };

  // kNoEvenRow: there is none.
  struct Beside {
    std::uint32_t below = kNoEvenRow;
    std::uint32_t above = kNoEvenRow;

    [[nodiscard]] bool has_both() const { return below != kNoEvenRow && above != kNoEvenRow; }
  };

  // The nearest curves with many rows.
  struct LongCurves {
    std::array<std::uint32_t, kLongCurves> curves = {};
    std::array<double, kLongCurves> distances = {};
    std::size_t count = 0;
  };

  // Sizes of which one must divide, or must not be less than, the other.
  struct Limit {
    std::uint32_t column = 0;
    std::uint32_t other = 0;
    WorkLimit::Kind kind = WorkLimit::Kind::kDividedBy;
  };

  struct Point;
  struct Bracket;
  struct Reading;
  struct Near;
  struct NearCurves;
  struct Kriging;

  // Kernels fill a quantity up to a multiple of the tile, if it is larger.
  static double filled_up(double value, double tile);
  // The logarithm of a quantity, which should not be 0 but may be in a damaged table.
  static double doublings(double quantity);

  [[nodiscard]] double watts_of(std::uint32_t row) const;
  [[nodiscard]] std::optional<double> watts_at_or_beside(std::uint32_t row) const;

  void add_axes();
  void add_curves();
  void add_even_rows();
  void add_errors();
  void add_limits();
  [[nodiscard]] double error_at(const Curve& curve, std::uint32_t row, HiddenRows hidden) const;
  [[nodiscard]] double quantity(const Axis& axis, std::span<const double> sizes) const;

  [[nodiscard]] double base_of(double roofline) const { return floor_ + roofline; }

  // The roofline of the sizes as kernels fill them.
  [[nodiscard]] double roof_of(std::span<const double> asked) const;
  [[nodiscard]] std::span<const double> filled(std::span<const double> asked) const;

  [[nodiscard]] double roof_of_row(std::uint32_t row) const {
    return std::isnan(roofs_[row]) ? learn_roof_of_row(row) : roofs_[row];
  }

  // The latency of a row as far as it tells of other sizes. Where it takes much longer than both
  // the smaller and the larger size beside it, that is the larger one's. cuBLASLt's products of 448
  // rows take up to 1.9 times as long as those of 444 and of 452. A row at an end of its curve has
  // no size on one side: where it takes much longer than the curves beside it let expect, it is
  // what they let expect.
  [[nodiscard]] double even_latency(std::uint32_t row, HiddenRows hidden) const {
    if (knows_even_row(row, hidden)) return latencies_[even_rows_[row]];
    return find_even_latency(row, hidden);
  }

  // Rows at the ends of a curve have no even row.
  [[nodiscard]] bool knows_even_row(std::uint32_t row, HiddenRows hidden) const {
    return even_rows_[row] != kNoEvenRow && !hidden.has(row - 1) && !hidden.has(row + 1);
  }

  // The logarithm of that over the base.
  [[nodiscard]] double multiple_of_row(std::uint32_t row, HiddenRows hidden) const {
    if (!knows_even_row(row, hidden) && hidden.begin != hidden.end)
      return multiple_without(row, hidden);
    return std::isnan(multiples_[row]) ? learn_multiple_of_row(row) : multiples_[row];
  }

  double learn_roof_of_row(std::uint32_t row) const;
  double learn_multiple_of_row(std::uint32_t row) const;
  [[nodiscard]] double multiple_without(std::uint32_t row, HiddenRows hidden) const;
  [[nodiscard]] double find_even_latency(std::uint32_t row, HiddenRows hidden) const;
  static Beside rows_beside(const Curve& curve, std::uint32_t row, HiddenRows hidden);
  [[nodiscard]] std::uint32_t even_row(const Curve& curve,
                                       std::uint32_t row,
                                       HiddenRows hidden) const;
  [[nodiscard]] const LongCurves& long_curves_beside(std::uint32_t number) const;
  [[nodiscard]] std::optional<double> expected_multiple(std::uint32_t number,
                                                        std::uint32_t row,
                                                        HiddenRows hidden) const;
  [[nodiscard]] std::optional<double> expected_at_end(std::uint32_t number,
                                                      std::uint32_t row,
                                                      HiddenRows hidden) const;
  [[nodiscard]] std::optional<double> inner_multiple(const Curve& curve,
                                                     std::uint32_t row,
                                                     HiddenRows hidden) const;
  [[nodiscard]] double own_multiple(const Curve& curve, std::uint32_t row, HiddenRows hidden) const;
  [[nodiscard]] Point point_of(std::span<const double> sizes, HiddenRows hidden) const;
  [[nodiscard]] std::uint32_t find_curve(std::span<const double> sizes) const;
  [[nodiscard]] std::uint32_t find_curve_like_last(std::span<const double> sizes) const;
  [[nodiscard]] std::uint32_t find_curve_of(std::uint32_t row) const;
  [[nodiscard]] std::uint32_t curve_of_same_work(const Point& point, std::uint32_t own) const;
  [[nodiscard]] bool is_left(const Curve& curve, HiddenRows hidden) const;
  std::uint32_t first_not_below(const Curve& curve, double x, std::uint32_t& hint) const;
  [[nodiscard]] Bracket bracket(const Curve& curve, const Point& point) const;
  Bracket bracket(const Curve& curve, const Point& point, std::uint32_t& hint) const;
  [[nodiscard]] std::uint32_t row_before_end(const Curve& curve,
                                             std::uint32_t end,
                                             const Point& point) const;
  [[nodiscard]] double trend_past(const Curve& curve, std::uint32_t end, const Point& point) const;
  [[nodiscard]] Stretch stretch_between(std::uint32_t low,
                                        std::uint32_t high,
                                        HiddenRows hidden) const;
  Reading read(const Curve& curve, const Point& point, Stretch& stretch) const;
  static Reading read_between(const Stretch& stretch, const Point& point);
  [[nodiscard]] Shortlist& shortlist(const Point& point) const;
  static double bound_of_listed(std::span<const double> squares);

  // `a` and `b` are places in the list.
  [[nodiscard]] double listed_covariance(std::uint32_t a, std::uint32_t b) const {
    const double known = listed_.covariances[a][b];
    return std::isnan(known) ? learn_covariance(a, b) : known;
  }

  double learn_covariance(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] double same_work_error() const;
  [[nodiscard]] const Limit* broken_limit(std::span<const double> sizes) const;
  [[nodiscard]] std::string limit_text(std::span<const double> sizes) const;
  [[nodiscard]] double least_of(const Point& point,
                                std::initializer_list<std::uint32_t> rows) const;
  [[nodiscard]] double least_beside(const Point& point, const NearCurves& near) const;
  [[nodiscard]] std::pair<double, double> range_along(HiddenRows hidden) const;
  void check_range(const Point& point, Beyond beyond, WorkEstimate& estimate) const;
  bool answer_on(std::uint32_t number, const Point& point, WorkEstimate& estimate) const;
  void answer_between(const Curve& curve,
                      const Bracket& found,
                      const Point& point,
                      WorkEstimate& estimate) const;
  bool trim(const Curve& curve, HiddenRows hidden, std::pair<double, double>& ends) const;
  void find_near(const Point& point, NearCurves& near) const;
  void choose_near(const Point& point, NearCurves& near) const;
  void remember_near(const Point& point, const NearCurves& near) const;
  [[nodiscard]] std::uint32_t row_at(const Curve& curve, double x, HiddenRows hidden) const;
  void follow_shape(const Point& point, const NearCurves& near, WorkEstimate& answer) const;
  bool answer_past(std::uint32_t number,
                   const Point& point,
                   const NearCurves& near,
                   WorkEstimate& estimate) const;
  [[nodiscard]] Kriging krige(const NearCurves& near) const;
  bool answer_across(const Point& point, const NearCurves& curves, WorkEstimate& estimate) const;

  const WorkRows* rows_;
  std::size_t family_;
  Roofline roofline_;
  const Calibration* calibration_;
  std::size_t num_sizes_;
  std::size_t along_ = 0;  // the size column of curves
  std::span<const double> values_;
  std::span<const double> latencies_;
  std::vector<Axis> axes_;
  std::vector<Curve> curves_;
  std::vector<std::vector<double>> places_;  // by axis but the first: of each curve, over its reach
  std::vector<double> logs_;                 // of x_, in doublings
  std::vector<double> x_;                    // by row: the first quantity, filled up to its tile
  std::vector<Limit> limits_;
  std::vector<std::uint32_t> even_rows_;  // by row: the one whose latency is its even_latency()
  std::vector<float> errors_;  // by row: of predicting it from its curve, in logarithms; or NaN
  double usual_error_ = 0.05;  // their root mean square
  double floor_ = 0;           // ms
  double rate_ = 0;            // without a roofline: the least ms for a unit of work
  mutable double same_work_error_ = -1;        // not asked yet
  mutable std::vector<double> multiples_;      // by row; NaN: not asked yet
  mutable std::vector<double> end_latencies_;  // by row, of those without; NaN: not asked yet
  mutable std::vector<std::optional<LongCurves>> long_curves_;  // by curve; empty: none was asked
  mutable Shortlist listed_;
  mutable std::vector<double> squares_;  // by curve: of its distance to the point of the list
  mutable std::uint32_t last_curve_ = std::numeric_limits<std::uint32_t>::max();
  mutable std::uint32_t last_hint_ = 0;  // on it, see first_not_below()
  mutable std::vector<double> roofs_;    // by row; NaN: not asked yet
  mutable std::vector<double> filled_;   // the sizes that were filled last
};

}  // namespace assay::store
