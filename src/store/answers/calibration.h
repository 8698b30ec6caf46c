// What a table's own rows tell of the errors of its answers: points of it are left out and asked
// of the others, in the ways in which questions differ from rows.
//
// - Single points, and whole curves, and the upper halves of curves: some of each, so that a table
//   of any size takes milliseconds.
// - All rows of a family past a value of a quantity, for answers that extrapolate.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "store/answers/family.h"
#include "store/answers/spread.h"
#include "store/answers/work_rows.h"

namespace assay::store {

using FamilyMaker = std::function<Family(const WorkRows& rows, std::size_t family)>;

// Rows past a value of a quantity.
struct Edge {
  std::size_t axis = 0;  // of the table's work
  bool is_upper = false;

  // Whether a row of a family lies there, for all rows. At least half of the values of the quantity
  // stay, if there are two; those there are at most kMostBeyond times past them, or the nearest.
  [[nodiscard]] std::vector<bool> rows_of(const WorkRows& rows) const;
};

// Nobody asks below a quantity that begins with 1.
std::vector<Edge> edges_of(const WorkRows& rows);

// It learns when it is asked first; what has learnt all may be asked by several threads.
class Calibration {
 public:
  using Families = std::function<const Family&(std::size_t)>;

  using LearnsFrom = std::function<bool(std::size_t row)>;

  // `rows` must outlive it. The families are those of the rows; `make` makes those of other rows.
  // It leaves out rows that `learns_from` has, by their number in the table; null: all.
  Calibration(const WorkRows& rows,
              Families families,
              FamilyMaker make,
              LearnsFrom learns_from = nullptr);

  // What was learnt before; it must outlive this.
  void know(const Spreads& spreads) { known_ = &spreads; }

  // Without Spreads::beyond.
  [[nodiscard]] const Spreads& near() const;
  [[nodiscard]] const Spreads& all() const;

 private:
  using Misses = std::array<std::vector<Miss>, 2 * kMostWorkAxes>;

  void learn_near() const;
  void learn_beyond() const;

  const WorkRows* rows_;
  Families families_;
  FamilyMaker make_;
  LearnsFrom learns_from_;
  const Spreads* known_ = nullptr;
  mutable Spreads spreads_;
  mutable Misses misses_beyond_;
  mutable bool knows_near_ = false;
  mutable bool knows_beyond_ = false;
};

}  // namespace assay::store
