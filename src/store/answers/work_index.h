// A performance table that is ready for queries.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/perf.h"
#include "store/answers/family.h"
#include "store/answers/work_rows.h"
#include "store/files/frame.h"

namespace assay::store {

// Gives the roofline of rows with these exact values over sizes in this order; null if it is
// unknown. Each call gives a function of its own, which one thread at a time may use.
using RooflineBinder = std::function<Roofline(const std::vector<model::PerfField>& exact,
                                              const std::vector<std::string>& sizes)>;

class WorkIndex {
 public:
  // `binder` may be null. Errors: the column of latencies, or every row, is missing.
  static core::Result<WorkIndex> make(const std::string& table,
                                      const Frame& frame,
                                      RooflineBinder binder);
  // `learns_from`: the rows that may tell the errors of answers; null: all.
  WorkIndex(WorkRows rows,
            RooflineBinder binder,
            const std::function<bool(std::size_t row)>& learns_from = nullptr);
  WorkIndex(WorkIndex&&) noexcept;
  WorkIndex& operator=(WorkIndex&&) noexcept;
  ~WorkIndex();

  [[nodiscard]] const WorkRows& rows() const;

  // Made when it is asked for first.
  [[nodiscard]] const Family& family(std::size_t number) const;
  // One that shares nothing with others but the rows and what is known of the errors of answers,
  // which is all learnt before.
  [[nodiscard]] Family own_family(std::size_t number) const;

  // What the rows tell of the errors of answers.
  [[nodiscard]] const Spreads& spreads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;  // families refer to it
};

}  // namespace assay::store
