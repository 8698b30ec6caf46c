#include "store/answers/work_index.h"

#include "store/answers/calibration.h"

namespace assay::store {
namespace {

// The columns of other rows of the table are the same.
Family family_of(const WorkRows& rows,
                 std::size_t number,
                 const RooflineBinder& binder,
                 const Calibration* calibration) {
  Roofline roofline = binder ? binder(rows.exact_fields(number), rows.sizes) : nullptr;
  return Family(rows, number, std::move(roofline), calibration);
}

}  // namespace

struct WorkIndex::State {
  State(WorkRows of, RooflineBinder with, const Calibration::LearnsFrom& learns_from)
      : rows(std::move(of)),
        binder(std::move(with)),
        families(rows.num_families()),
        calibration(
            rows,
            [this](std::size_t number) -> const Family& { return family(number); },
            [this](const WorkRows& some, std::size_t number) {
              return family_of(some, number, binder, nullptr);
            },
            learns_from) {
    if (rows.spreads != nullptr && !learns_from) calibration.know(*rows.spreads);
  }

  const Family& family(std::size_t number) {
    std::unique_ptr<Family>& made = families[number];
    if (!made) made = std::make_unique<Family>(family_of(rows, number, binder, &calibration));
    return *made;
  }

  WorkRows rows;
  RooflineBinder binder;
  std::vector<std::unique_ptr<Family>> families;
  Calibration calibration;
};

core::Result<WorkIndex> WorkIndex::make(const std::string& table,
                                        const Frame& frame,
                                        RooflineBinder binder) {
  WorkRows rows = ASSAY_TRY(make_work_rows(table, frame));
  return WorkIndex(ASSAY_TRY(with_times(std::move(rows))), std::move(binder));
}

WorkIndex::WorkIndex(WorkRows rows,
                     RooflineBinder binder,
                     const std::function<bool(std::size_t row)>& learns_from)
    : state_(std::make_unique<State>(std::move(rows), std::move(binder), learns_from)) {}

WorkIndex::WorkIndex(WorkIndex&&) noexcept = default;
WorkIndex& WorkIndex::operator=(WorkIndex&&) noexcept = default;
WorkIndex::~WorkIndex() = default;

const WorkRows& WorkIndex::rows() const {
  return state_->rows;
}

const Spreads& WorkIndex::spreads() const {
  return state_->calibration.all();
}

Family WorkIndex::own_family(std::size_t number) const {
  (void)state_->calibration.all();
  return family_of(state_->rows, number, state_->binder, &state_->calibration);
}

const Family& WorkIndex::family(std::size_t number) const {
  return state_->family(number);
}

}  // namespace assay::store
